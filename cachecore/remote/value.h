/* SPDX-License-Identifier: MIT */
/*
 * value: an entry's two files with who vouches for them: what a remote tier stores for
 * one key, and what a bundle is made of (docs/FORMAT.md has the reasons):
 *
 *   value = header src[src_len] bin[bin_len]
 *
 * header: seal.h's, with a = src_len and b = bin_len. src and bin are the entry's files
 * <n>.src and <n>.bin. Pure functions; thread-safe.
 */
#ifndef CACHECORE_REMOTE_VALUE_H
#define CACHECORE_REMOTE_VALUE_H

#include <stdint.h>

#include "cachecore/entry.h"
#include "cachecore/key.h"
#include "cachecore/remote/seal.h"
#include "cachecore/remote/trust.h"
#include "common/bytes.h"
#include "common/hash.h"
#include "common/status.h"

#define CC_REMOTE_NAME_SIZE 43		/* with the terminator */

/*
 * The name under which a key's value is stored: 32 hexadecimal digits of the key's
 * hash, which servers spread values by, and "-ckcache-1", with the format's version. Two keys with one name do
 * no harm: cc_remote_value_take compares the whole key.
 */
void cc_remote_name(struct cmn_view key, char ret[CC_REMOTE_NAME_SIZE]);
/* The same by that hash. */
void cc_remote_name_of(const struct cmn_hash *hash, char ret[CC_REMOTE_NAME_SIZE]);

/*
 * To store an entry, send the header, src and bin, in that order. signer NULL: unsigned.
 * CMN_ERR_INVALID: files of no possible length. CMN_MISS: no libsodium to sign.
 */
CMN_CHECKED enum cmn_status cc_remote_value_make(struct cmn_view src, struct cmn_view bin,
						 const struct cc_signer *signer,
						 uint8_t ret[CC_SEAL_HEADER_SIZE]);

enum cc_remote_refusal {
	CC_REMOTE_NOT_REFUSED,
	CC_REMOTE_NOT_SIGNED,
	CC_REMOTE_UNKNOWN_KEY,		/* signed, as it says, with a key that is not trusted */
	CC_REMOTE_EXPIRED_KEY,
	CC_REMOTE_WRONG_SIGNATURE,	/* of a trusted key, as it says */
	CC_REMOTE_NO_LIBSODIUM,		/* nothing can be verified on this machine */
};
const char *cc_remote_refusal_string(enum cc_remote_refusal refusal);	/* a phrase, never NULL */

/* Everything is borrowed, from the value and from the trusted keys. */
struct cc_remote_value {
	size_t src_len, bin_len;	/* as the header has them */
	struct cmn_view src, bin;	/* empty until its signature was checked */
	const uint8_t *key_id;		/* NULL: unsigned */
	const struct cc_trust_key *signer;	/* the trusted key with that id; NULL: none */
	enum cc_remote_refusal refusal;
};
/*
 * Checks a value from elsewhere: its bounds, then who signed it. trust NULL: signed
 * and unsigned values are taken, and no signature is looked at; then nobody vouches
 * for them. now: seconds since the epoch.
 *   CMN_OK           the signer has signed these very bytes (without trust: it has the form)
 *   CMN_ERR_CORRUPT  it is no value: too short, too long, not the one encoding
 *   CMN_ERR_VERSION  another format version
 *   CMN_ERR_ACCESS   it may not be used; *ret is set too, and ret->refusal says why
 * src and bin are not decoded here.
 */
CMN_CHECKED enum cmn_status cc_remote_value_check(struct cmn_view value,
						  const struct cc_trust *trust, uint64_t now,
						  struct cc_remote_value *ret);
/*
 * The same of a value whose parts come one after another. First its header, of a value of at most
 * max bytes: *ret says how long the parts are, and who signed it; one that will be refused,
 * whatever it holds, is refused here. Then whether that key has signed these parts, and has not
 * expired meanwhile.
 */
CMN_CHECKED enum cmn_status cc_remote_value_begin(const uint8_t header[CC_SEAL_HEADER_SIZE],
						  uint64_t max, const struct cc_trust *trust,
						  uint64_t now, struct cc_remote_value *ret);
CMN_CHECKED enum cmn_status cc_remote_value_finish(struct cc_remote_value *value,
						   const uint8_t header[CC_SEAL_HEADER_SIZE],
						   struct cmn_view src, struct cmn_view bin,
						   uint64_t now);
/*
 * The entry of a checked value, which the caller owns, verified as a look-up does
 * it. CMN_ERR_CORRUPT: damaged, or the entry of another key, which somebody has
 * stored under the wrong name or has the same hash. CMN_ERR_VERSION, CMN_ERR_NOMEM. CMN_MISS: it tells
 * how a build failed.
 * Takes bin, which value->bin is a view of, in any case.
 */
CMN_CHECKED enum cmn_status cc_remote_value_take(const struct cc_remote_value *value,
						 struct cmn_buffer *bin,
						 struct cmn_view wanted_key,
						 struct cc_entry **ret);

/*
 * An entry from its two files, verified as a look-up does it, and its key,
 * walked to its end. Takes bin in any case. On success the caller owns both.
 * CMN_ERR_CORRUPT, CMN_ERR_VERSION, CMN_ERR_NOMEM. CMN_MISS: it tells how a build failed.
 */
CMN_CHECKED enum cmn_status cc_remote_files_decode(struct cmn_view src, struct cmn_buffer *bin,
						   struct cc_key *ret_key, struct cc_entry **ret);
/* Whether they are an entry, by a copy of bin. ret_key: the hash of its key; may be NULL. Statuses as above. */
CMN_CHECKED enum cmn_status cc_remote_files_check(struct cmn_view src, struct cmn_view bin,
						  struct cmn_hash *ret_key);

#endif
