/* SPDX-License-Identifier: MIT */
/* fast_kernel: the fast kernel cache by a hash of the constants, as the public functions use it by their bytes. */
#ifndef TESTS_SUPPORT_FAST_KERNEL_H
#define TESTS_SUPPORT_FAST_KERNEL_H

#include "cachecore/memory/programs_internal.h"

static inline enum cmn_status fast_kernel_get(struct cc_programs *programs, uint64_t constants,
					      const void *device, struct cmn_view name, void **ret)
{
	const struct fast_key key = { .constants_hash = constants, .device = device, .name = name };

	return fast_kernels_get(&programs->fast, &key, ret);
}

static inline enum cmn_status fast_kernel_put(struct cc_programs *programs,
					      struct cmn_view program_key, uint64_t constants,
					      const void *device, struct cmn_view name, void *kernel)
{
	const struct fast_key key = { .constants_hash = constants, .device = device, .name = name };

	return cc_fast_kernel_put(programs, program_key, kernel, &key);
}

#endif
