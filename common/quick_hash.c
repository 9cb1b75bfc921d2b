/* SPDX-License-Identifier: MIT */
/* quick_hash: the one function of xxhash.h that is compiled in. */
#include "common/quick_hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t cmn_quick_hash(struct cmn_view bytes)
{
	return XXH3_64bits(bytes.data, bytes.len);
}
