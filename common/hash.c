/* SPDX-License-Identifier: MIT */
/* hash: XXH3-128, compiled in: to load a library takes longer than what it would do in most processes. */
#include "common/hash.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

_Static_assert(sizeof(XXH128_canonical_t) == sizeof(struct cmn_hash), "both are the digest's bytes alone");

struct cmn_hash cmn_hash_of(const void *data, size_t len)
{
	const XXH128_hash_t value = XXH3_128bits(data, len);
	struct cmn_hash hash;

	XXH128_canonicalFromHash((XXH128_canonical_t *)&hash, value);
	return hash;
}

uint64_t cmn_quick_hash(struct cmn_view bytes)
{
	return XXH3_64bits(bytes.data, bytes.len);
}

bool cmn_hash_is_hex(const char *text)
{
	return strspn(text, "0123456789abcdef") == CMN_HASH_HEX_SIZE - 1 && !text[CMN_HASH_HEX_SIZE - 1];
}

struct cmn_hasher *cmn_hasher_new(void)
{
	XXH3_state_t *state = XXH3_createState();

	if (state)
		(void)XXH3_128bits_reset(state);	/* fails only on NULL */
	return (struct cmn_hasher *)state;
}

void cmn_hasher_free(struct cmn_hasher *hasher)
{
	(void)XXH3_freeState((XXH3_state_t *)hasher);	/* always XXH_OK */
}

void cmn_hasher_update(struct cmn_hasher *hasher, const void *data, size_t len)
{
	(void)XXH3_128bits_update((XXH3_state_t *)hasher, data, len);	/* fails only on NULL */
}

struct cmn_hash cmn_hasher_digest(const struct cmn_hasher *hasher)
{
	struct cmn_hash hash;

	XXH128_canonicalFromHash((XXH128_canonical_t *)&hash,
				 XXH3_128bits_digest((const XXH3_state_t *)hasher));
	return hash;
}
