/* SPDX-License-Identifier: MIT */
/*
 * evict: which entries of a root go, and their removal. Least recently used
 * first, by the store's own access times, until half of max_size is left; and
 * what was not used for threshold_days. On the way it clears what dead
 * writers left and writes cache_size.txt from what it counted. One evictor
 * works on a root at a time, under the lock of <root>/evict.lock; each leaf's
 * lock is taken, never waited for, while names in it are removed.
 */
#ifndef CACHECORE_EVICT_H
#define CACHECORE_EVICT_H

#include <stdbool.h>

#include "cachecore/config.h"
#include "common/status.h"

#define CC_EVICT_LOCK_NAME "evict.lock"
/* When the last eviction ended, nanoseconds since the epoch. */
#define CC_EVICT_STAMP_NAME "last_cleanup.txt"

/*
 * Evicts by age and by size now; with eviction_disable only clears and
 * counts. CMN_BUSY: another process or thread is at it.
 */
CMN_CHECKED enum cmn_status cc_evict_run(int root_fd, const struct cc_config *config);
/* Whether the last eviction is a day ago, so that age is looked at even where size never is. */
bool cc_evict_due(int root_fd, const struct cc_config *config);

#endif
