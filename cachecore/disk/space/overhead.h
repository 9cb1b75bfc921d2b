/* SPDX-License-Identifier: MIT */
/*
 * overhead: what the root takes on disk beside its entries, which counts for its
 * bound too: the account, statistics, the log, reuse.dat, locks, recipes, the
 * directory itself. Not files of others. Thread-safe.
 */
#ifndef CACHECORE_DISK_SPACE_OVERHEAD_H
#define CACHECORE_DISK_SPACE_OVERHEAD_H

#include <stdint.h>

/*
 * What it hardly ever exceeds: recipes are bounded, and so are those in
 * quarantine (recipes.h), both give or take a few; the rest is some MiB.
 */
#define CC_OVERHEAD_USUAL_MAX (UINT64_C(640) << 20)

/* Bytes of the blocks that it takes; lists the recipes. */
uint64_t cc_overhead_bytes(int root_fd);
/*
 * What of max_size is not the entries', if another file of some bytes is to be
 * there too: what all that takes, or what it may come to take before an entry is
 * stored again and it is measured again.
 */
uint64_t cc_overhead_share(int root_fd, uint64_t max_size, uint64_t more);
/*
 * Where it takes over a quarter of max_size: removes what can be missed until
 * it does not, as far as that goes: of the large files the old log first, then
 * reuse.dat and the log, then the oldest recipes.
 */
void cc_overhead_trim(int root_fd, uint64_t max_size);
/* The same of the log and reuse.dat alone, for who is about to let these grow. */
void cc_overhead_trim_records(int root_fd, uint64_t max_size);

#endif
