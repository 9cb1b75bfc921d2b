/* SPDX-License-Identifier: MIT */
/*
 * kernel_names: the kernels that a text seems to have, for people: what a
 * listing calls an entry by. Texts in C say "kernel void NAME"; SPIR-V names its
 * entry points. A comment that says so counts too, and does no harm. Pure.
 */
#ifndef CACHECORE_KERNEL_NAMES_H
#define CACHECORE_KERNEL_NAMES_H

#include <stddef.h>

#include "common/bytes.h"

struct cc_kernel_names {
	struct cmn_view source;
	size_t at;
};

struct cc_kernel_names cc_kernel_names_of(struct cmn_view source);
/* The next name, borrowed from the source; empty: no more. */
struct cmn_view cc_kernel_names_next(struct cc_kernel_names *names);
/* The first name of the key's image part; empty: none. Borrowed from the encoding. */
struct cmn_view cc_kernel_names_of_key(struct cmn_view key);

#endif
