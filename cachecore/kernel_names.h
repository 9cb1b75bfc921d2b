/* SPDX-License-Identifier: MIT */
/*
 * kernel_names: finds the names of the kernels in a source, to name entries in
 * listings. OpenCL C has "kernel void NAME", with attributes between, or with a
 * macro in the place of "kernel" that has KERNEL in its name; SPIR-V has names of
 * entry points, which are found on little-endian machines. A comment with such
 * words counts too, which does no harm. Pure.
 */
#ifndef CACHECORE_KERNEL_NAMES_H
#define CACHECORE_KERNEL_NAMES_H

#include <stddef.h>

#include "common/bytes.h"

struct cc_kernel_names {
	struct cmn_view source;
	size_t at;
	size_t next[2];		/* where the next words may be */
};

struct cc_kernel_names cc_kernel_names_of(struct cmn_view source);
/* The next name, borrowed from the source; empty: no more. */
struct cmn_view cc_kernel_names_next(struct cc_kernel_names *names);
/* The first name of the key's image part; empty: none. Borrowed from the encoding. */
struct cmn_view cc_kernel_names_of_key(struct cmn_view key);

#endif
