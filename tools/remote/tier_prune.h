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

/*
 * Removes the least recently used values of the configured tier until so much is left, and what processes
 * left behind that died. given: --max-size, or NULL: as the address says. Needs no cache. The exit code.
 */
int tier_prune(const char *given, bool json);

#endif
