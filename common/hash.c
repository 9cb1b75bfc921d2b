/* SPDX-License-Identifier: MIT */
/* hash: XXH3-128 from libxxhash. */
#include "common/hash.h"

#include <string.h>

#include <xxhash.h>

_Static_assert(sizeof(XXH128_canonical_t) == sizeof(struct cmn_hash), "both are the digest's bytes alone");

/*
 * The same functions by the widest instructions that the processor has: of
 * libxxhash where it was built with them (xxh_x86dispatch.h), not of the header.
 */
extern XXH128_hash_t XXH3_128bits_dispatch(const void *data, size_t len) __attribute__((weak));
extern XXH_errorcode XXH3_128bits_update_dispatch(XXH3_state_t *state, const void *data, size_t len)
	__attribute__((weak));

/* Shorter inputs gain nothing. */
#define LONG_INPUT 1024

struct cmn_hash cmn_hash_of(const void *data, size_t len)
{
	const bool is_long = len >= LONG_INPUT && XXH3_128bits_dispatch;
	const XXH128_hash_t value = is_long ? XXH3_128bits_dispatch(data, len) : XXH3_128bits(data, len);
	struct cmn_hash hash;

	XXH128_canonicalFromHash((XXH128_canonical_t *)&hash, value);
	return hash;
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
	XXH3_state_t *state = (XXH3_state_t *)hasher;

	/* Both fail only on NULL. */
	if (len >= LONG_INPUT && XXH3_128bits_update_dispatch)
		(void)XXH3_128bits_update_dispatch(state, data, len);
	else
		(void)XXH3_128bits_update(state, data, len);
}

struct cmn_hash cmn_hasher_digest(const struct cmn_hasher *hasher)
{
	struct cmn_hash hash;

	XXH128_canonicalFromHash((XXH128_canonical_t *)&hash,
				 XXH3_128bits_digest((const XXH3_state_t *)hasher));
	return hash;
}
