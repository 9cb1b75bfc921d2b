/* SPDX-License-Identifier: MIT */
/*
 * quick_hash: a number for hash tables in memory, which are looked into at
 * every launch: XXH3-64, compiled in, so that a short key costs no call into
 * a library. Never stored: what is stored is identified by common/hash.h.
 */
#ifndef COMMON_QUICK_HASH_H
#define COMMON_QUICK_HASH_H

#include <stdint.h>

#include "common/bytes.h"

uint64_t cmn_quick_hash(struct cmn_view bytes);

#endif
