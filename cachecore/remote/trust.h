/* SPDX-License-Identifier: MIT */
/*
 * trust: the public keys whose signatures this machine believes, from text files
 * with one key a line; "#" begins a comment at a line's start or after a blank:
 *
 *   line = "ed25519" base64-of-32-bytes name ["until" YYYY-MM-DD]
 *
 * name: 1 to 64 printable ASCII characters without a blank. A key counts up to
 * the end of its last day, in UTC; one that is listed several times, up to the
 * earliest of these, so that one line revokes it. Who can write to a file can make programs run
 * what he wants: it must belong to the effective user or root, and its directory
 * too, and nobody else may write to either (disk/root.h). Immutable once read, so
 * that threads may share it; a revoked key counts in a process until it reads the
 * files again.
 */
#ifndef CACHECORE_REMOTE_TRUST_H
#define CACHECORE_REMOTE_TRUST_H

#include <stddef.h>
#include <stdint.h>

#include "cachecore/remote/sodium.h"
#include "common/base64.h"
#include "common/bytes.h"
#include "common/log.h"
#include "common/status.h"

#define CC_TRUST_SYSTEM_FILE "/etc/ckcache/trusted_keys"
#define CC_TRUST_MAX_FILE 65536		/* bytes */
#define CC_TRUST_MAX_KEYS 64		/* in all files together */
#define CC_TRUST_MAX_NAME 64		/* bytes */
#define CC_TRUST_BASE64_SIZE CMN_BASE64_SIZE(CC_SODIUM_KEY_SIZE)
#define CC_TRUST_DATE_SIZE 11		/* "2027-01-31" and its terminator */

struct cc_trust_key {
	uint8_t key[CC_SODIUM_KEY_SIZE];
	char name[CC_TRUST_MAX_NAME + 1];
	char until[CC_TRUST_DATE_SIZE];	/* the last day; "": no end */
	uint64_t end;			/* counts before it: seconds since the epoch; UINT64_MAX: no end */
};

/*
 * A line of a file, without its newline. CMN_OK; CMN_MISS: nothing but blanks and
 * a comment; CMN_ERR_INVALID: *ret_problem (static) says what is wrong.
 */
CMN_CHECKED enum cmn_status cc_trust_key_parse(struct cmn_view line, const char **ret_problem,
					       struct cc_trust_key *ret);
void cc_trust_key_base64(const struct cc_trust_key *key, char ret[CC_TRUST_BASE64_SIZE]);
/* Appends the line that parse reads, without a newline. */
void cc_trust_key_append(struct cmn_buffer *buf, const struct cc_trust_key *key);
/* Each sets that part of a key. CMN_ERR_INVALID: it cannot be one. until "" or NULL: no end. */
CMN_CHECKED enum cmn_status cc_trust_key_set_name(struct cc_trust_key *key, struct cmn_view name);
CMN_CHECKED enum cmn_status cc_trust_key_set_until(struct cc_trust_key *key, struct cmn_view until);
/* How a remote entry names its key: BLAKE2b-256 of its 32 bytes. CMN_MISS: no libsodium. */
CMN_CHECKED enum cmn_status cc_trust_key_id(const uint8_t key[CC_SODIUM_KEY_SIZE],
					    uint8_t ret[CC_SODIUM_HASH_SIZE]);

struct cc_trust;
/*
 * Reads the files (paths ends with NULL); one that is not there is empty. A file
 * that may not be trusted, a line that is none, and keys over the bound are left
 * out, each with one message to log. CMN_ERR_NOMEM.
 */
CMN_CHECKED enum cmn_status cc_trust_new(const struct cmn_log *log, char *const *paths,
					 struct cc_trust **ret);
/* Of these keys alone, at most CC_TRUST_MAX_KEYS; their file is NULL. CMN_ERR_NOMEM. */
CMN_CHECKED enum cmn_status cc_trust_of(const struct cc_trust_key *keys, size_t count,
					struct cc_trust **ret);
void cc_trust_free(struct cc_trust *trust);	/* NULL is fine */

/* The i-th key in the order of the files, and its place; borrowed. NULL: no more. */
struct cc_trust_place {
	const char *file;
	unsigned int line;
};
const struct cc_trust_key *cc_trust_at(const struct cc_trust *trust, size_t i,
				       struct cc_trust_place *ret_place);
/* The line that decides about the i-th key, which must be there: of all that list it, the first that ends first. */
const struct cc_trust_key *cc_trust_decides(const struct cc_trust *trust, size_t i,
					    struct cc_trust_place *ret_place);
/*
 * The key with this id, borrowed: of several lines, the one that ends first. CMN_OK:
 * it counts at that time (seconds since the epoch). CMN_STALE: it has expired.
 * CMN_MISS: no such key, or libsodium is missing.
 */
CMN_CHECKED enum cmn_status cc_trust_find(const struct cc_trust *trust,
					  const uint8_t id[CC_SODIUM_HASH_SIZE], uint64_t now,
					  const struct cc_trust_key **ret);

/*
 * The files that count without a setting: the system's, and the user's
 * $XDG_CONFIG_HOME/ckcache/trusted_keys (else ~/.config/...), if there is such a
 * place. *ret is for cmn_strings_free. CMN_ERR_NOMEM.
 */
CMN_CHECKED enum cmn_status cc_trust_default_paths(char ***ret);
/* The user's file, which the caller frees. *ret is NULL: nowhere. CMN_ERR_NOMEM. */
CMN_CHECKED enum cmn_status cc_trust_user_file(char **ret);

#endif
