/* SPDX-License-Identifier: MIT */
/* kernels: the SPIR-V of the sources beside it, by the sources' names. */
#ifndef TESTS_LEVEL_ZERO_KERNELS_KERNELS_H
#define TESTS_LEVEL_ZERO_KERNELS_KERNELS_H

#include <stddef.h>

struct kernel_il {
	const char *name;
	const void *words;
	size_t size;		/* in bytes */
};

/* The name is its first len characters. NULL: there is none. */
const struct kernel_il *kernel_il(const char *name, size_t len);

#endif
