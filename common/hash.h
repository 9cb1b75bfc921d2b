/* SPDX-License-Identifier: MIT */
/*
 * hash: XXH3-128 (xxHash, https://xxhash.com) behind two small types.
 * Not cryptographic: it detects accidents, not attackers. Ownership and
 * permissions of the cache directory keep attackers out.
 */
#ifndef COMMON_HASH_H
#define COMMON_HASH_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/bytes.h"

#define CMN_HASH_SIZE 16	/* bytes, canonical big-endian form */
#define CMN_HASH_HEX_SIZE 33	/* with the terminator */

struct cmn_hash {
	uint8_t bytes[CMN_HASH_SIZE];
};

struct cmn_hash cmn_hash_of(const void *data, size_t len);
/* Of two hashes, one after the other. */
static inline struct cmn_hash cmn_hash_fold(struct cmn_hash first, struct cmn_hash second)
{
	const struct cmn_hash both[2] = { first, second };

	return cmn_hash_of(both, sizeof(both));
}

static inline void cmn_hash_hex(const struct cmn_hash *hash, char ret_text[CMN_HASH_HEX_SIZE])
{
	cmn_hex(hash->bytes, CMN_HASH_SIZE, ret_text);
}

/* Whether a text is one of these. */
bool cmn_hash_is_hex(const char *text);

static inline bool cmn_hash_equal(const struct cmn_hash *a, const struct cmn_hash *b)
{
	return memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

/* XXH3-64, for hash tables in memory; what is stored is identified by the hash above. */
uint64_t cmn_quick_hash(struct cmn_view bytes);

/* The first eight bytes as a number, for hash tables. */
static inline uint64_t cmn_hash_u64(const struct cmn_hash *hash)
{
	uint64_t value;

	memcpy(&value, hash->bytes, sizeof(value));
	return le64toh(value);	/* files have it: the same on every machine */
}

/* The next bytes of encoded data; past its end, zero. */
static inline struct cmn_hash cmn_reader_hash(struct cmn_reader *reader)
{
	struct cmn_view view = cmn_reader_bytes(reader, CMN_HASH_SIZE);
	struct cmn_hash hash = { { 0 } };

	if (view.data)
		memcpy(hash.bytes, view.data, CMN_HASH_SIZE);
	return hash;
}

/* Streaming form, for data in pieces. NULL from _new when out of memory. */
struct cmn_hasher;
struct cmn_hasher *cmn_hasher_new(void);
void cmn_hasher_free(struct cmn_hasher *hasher);	/* NULL is fine */
void cmn_hasher_update(struct cmn_hasher *hasher, const void *data, size_t len);
struct cmn_hash cmn_hasher_digest(const struct cmn_hasher *hasher);

#endif
