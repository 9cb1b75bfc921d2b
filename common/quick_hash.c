/* SPDX-License-Identifier: MIT */
/* quick_hash: the one function of xxhash.h that is compiled in, and the library's for long inputs. */
#include "common/quick_hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* As of XXH3_128bits_dispatch in hash.c. */
extern XXH64_hash_t XXH3_64bits_dispatch(const void *data, size_t len) __attribute__((weak));

#define LONG_INPUT 1024	/* the call costs a shorter one more than it gains */

uint64_t cmn_quick_hash(struct cmn_view bytes)
{
	if (bytes.len >= LONG_INPUT && XXH3_64bits_dispatch)
		return XXH3_64bits_dispatch(bytes.data, bytes.len);
	return XXH3_64bits(bytes.data, bytes.len);
}
