/* SPDX-License-Identifier: MIT */
/*
 * quick_hash: a number for hash tables in memory, which are looked into at
 * every launch: XXH3-64, compiled in, so that a short key costs no call into
 * a library. Never stored: what is stored is identified by common/hash.h.
 */
#ifndef COMMON_QUICK_HASH_H
#define COMMON_QUICK_HASH_H

#include <stdint.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "common/bytes.h"

/* As of XXH3_128bits_dispatch in hash.c. */
extern XXH64_hash_t XXH3_64bits_dispatch(const void *data, size_t len) __attribute__((weak));

#define CMN_QUICK_HASH_LONG 1024	/* the call costs a shorter one more than it gains */

static inline uint64_t cmn_quick_hash(struct cmn_view bytes)
{
	if (bytes.len >= CMN_QUICK_HASH_LONG && XXH3_64bits_dispatch)
		return XXH3_64bits_dispatch(bytes.data, bytes.len);
	return XXH3_64bits(bytes.data, bytes.len);
}

#endif
