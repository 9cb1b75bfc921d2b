/* SPDX-License-Identifier: MIT */
/*
 * tier_prune: keeps the directory of a file: tier below a size. It knows how
 * storage/storage_file.c lays out a directory and nothing of what the values are, except
 * that lists of entries (index.h) stay. Safe beside readers and writers on any
 * node: it only unlinks, never what it has not just looked at. A reader that has
 * a value open may lose it, which is a miss.
 */
#ifndef TOOLS_REMOTE_TIER_PRUNE_H
#define TOOLS_REMOTE_TIER_PRUNE_H

#include <stdbool.h>
#include <stdint.h>

#include "cachecore/remote/address.h"

struct tier_pruned {
	uint64_t removed, removed_bytes;	/* values */
	uint64_t left, left_bytes;
	uint64_t leftovers;	/* claims and temporary files that were removed */
};

/* The directory of a file: address, which the caller frees; NULL: it names none. */
char *tier_prune_directory(const struct cc_address *address);
/*
 * Removes the least recently used values until max_size bytes are left, and what
 * processes left behind that died. false: not all of that could be done, complained about.
 */
bool tier_prune(const char *directory, uint64_t max_size, struct tier_pruned *ret);

#endif
