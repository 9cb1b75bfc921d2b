/* SPDX-License-Identifier: MIT */
/*
 * value: what a remote tier stores for one key (format version 1, little-endian;
 * docs/FORMAT.md has the reasons):
 *
 *   value = magic[8] version:u32 seal:u32 src_len:u64 bin_len:u64
 *           key_id[32] signature[64] src[src_len] bin[bin_len]
 *
 * src and bin are an entry's files <n>.src and <n>.bin. key_id is BLAKE2b-256 of
 * the public key's 32 bytes; an unsigned value has zeros in its place and the
 * signature's. The signature is Ed25519 of 64 bytes: "ckcache remote entry, 1"
 * padded with zeros to 32, and the BLAKE2b-256 of the whole value with zeros for
 * the signature. Pure functions; thread-safe.
 */
#ifndef CACHECORE_REMOTE_VALUE_H
#define CACHECORE_REMOTE_VALUE_H

#include <stdint.h>

#include "cachecore/entry.h"
#include "cachecore/remote/sodium.h"
#include "cachecore/remote/trust.h"
#include "common/bytes.h"
#include "common/hash.h"
#include "common/status.h"

#define CC_REMOTE_VERSION 1
#define CC_REMOTE_HEADER_SIZE 128
#define CC_REMOTE_MESSAGE_SIZE 64
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
 * To store an entry, send the header, src and bin, in that order. key_id: of the
 * key that will sign; NULL: unsigned. A signed value's header is complete after
 * _set_signature, with the Ed25519 signature of _message's bytes.
 * CMN_ERR_INVALID: files of no possible length.
 */
CMN_CHECKED enum cmn_status cc_remote_value_header(struct cmn_view src, struct cmn_view bin,
						   const uint8_t *key_id,
						   uint8_t ret[CC_REMOTE_HEADER_SIZE]);
/* What is to be signed. CMN_MISS: libsodium is missing. */
CMN_CHECKED enum cmn_status cc_remote_value_message(const uint8_t header[CC_REMOTE_HEADER_SIZE],
						    struct cmn_view src, struct cmn_view bin,
						    uint8_t ret[CC_REMOTE_MESSAGE_SIZE]);
void cc_remote_value_set_signature(uint8_t header[CC_REMOTE_HEADER_SIZE],
				   const uint8_t signature[CC_SODIUM_SIGNATURE_SIZE]);

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
	struct cmn_view src, bin;	/* empty if it was refused */
	const uint8_t *key_id;		/* NULL: unsigned */
	const char *signer;		/* the name of the trusted key with that id; NULL: none */
	enum cc_remote_refusal refusal;
};
/*
 * Checks a value as it came from a remote tier: its bounds, then who signed it.
 * trust NULL: signed and unsigned values are taken, and no signature is looked
 * at; then nobody vouches for them. now: seconds since the epoch.
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
 * The same of a value whose parts come one after another: first the lengths that a header
 * announces, of a value of len bytes; then who signed it. hash: of the header's part and of src and
 * bin, if they were hashed as they came, else NULL. *ret has the views that are given.
 */
CMN_CHECKED enum cmn_status cc_remote_value_lengths(const uint8_t header[CC_REMOTE_HEADER_SIZE],
						    uint64_t len, size_t *ret_src,
						    size_t *ret_bin);
CMN_CHECKED enum cmn_status cc_remote_value_check_parts(
	const uint8_t header[CC_REMOTE_HEADER_SIZE], struct cmn_view src, struct cmn_view bin,
	const uint8_t *hash, const struct cc_trust *trust, uint64_t now,
	struct cc_remote_value *ret);
/* Whether a value with that header will be refused, whatever it holds; trust as above. */
enum cc_remote_refusal cc_remote_value_refusal(const uint8_t header[CC_REMOTE_HEADER_SIZE],
					       const struct cc_trust *trust, uint64_t now);
/* What is hashed of a header. */
void cc_remote_value_hash_header(struct cc_sodium_hash *hash,
				 const uint8_t header[CC_REMOTE_HEADER_SIZE]);
/*
 * The entry of a checked value, which the caller owns, verified as a look-up does
 * it. CMN_ERR_CORRUPT: damaged, or the entry of another key, which somebody has
 * stored under the wrong name or has the same hash. CMN_ERR_VERSION, CMN_ERR_NOMEM.
 * Takes bin, which value->bin is a view of, in any case.
 */
CMN_CHECKED enum cmn_status cc_remote_value_take(const struct cc_remote_value *value,
						 struct cmn_buffer *bin,
						 struct cmn_view wanted_key,
						 struct cc_entry **ret);

#endif
