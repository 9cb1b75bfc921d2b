/* SPDX-License-Identifier: MIT */
/*
 * evict: removes entries of a root. If the root takes more than max_size on
 * disk, or would with the next entry, it removes the least recently used
 * entries (or, by eviction_order, those that save least time per byte) until
 * the rest takes half of what the root's other files leave (overhead.h). It
 * also removes entries that were not used for threshold_days (days.h). On the way it
 * removes what dead writers left, and corrects cache_size.txt by its own count.
 * One evictor works on a root at a time, under the lock of <root>/evict.lock. It
 * locks each leaf while it removes names in it, but does not wait for that lock.
 * Its memory is bounded (candidates.h). Readers take no lock and do not wait.
 *
 * An evictor may end early: from the part of the tree that it saw, it then
 * removes that part's share of the excess, and the next one begins elsewhere.
 */
#ifndef CACHECORE_DISK_SPACE_EVICT_H
#define CACHECORE_DISK_SPACE_EVICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cachecore/config.h"
#include "cachecore/disk/space/space_files.h"
#include "common/status.h"

/*
 * Is called between entries, with no lock held but evict.lock: it may do other
 * work, as storing. false: end soon, which is within some 0.1 s.
 */
struct cc_evict_pace {
	bool (*go_on)(void *ctx);	/* NULL: to the end */
	/* Until when the root's lock may be waited for (as cmn_file_lock has it). NULL: half a second. */
	uint64_t (*lock_until)(void *ctx);
	void *ctx;
	size_t max_candidates;	/* remembered at a time; 0: CC_CANDIDATES_MAX */
	uint64_t room;		/* bytes that are to fit afterwards; 0: the root need not be full */
};

/*
 * Evicts by age and by size now; with eviction_disable only clears and
 * counts. pace may be NULL. CMN_BUSY: another process or thread is at it, or
 * holds the root.
 * CMN_STALE: it ended early, or what is left is still too much.
 */
CMN_CHECKED enum cmn_status cc_evict_run(int root_fd, const struct cc_config *config,
					 const struct cc_evict_pace *pace);
/*
 * The lock that whoever counts the tree has, waited for as cmn_file_lock has it.
 * *ret_fd goes to cc_root_unlock unless it is -1, whatever is returned.
 */
CMN_CHECKED enum cmn_status cc_evict_lock(int root_fd, uint64_t until, int *ret_fd);
/*
 * Whether none has ended yet, or since the account was lost, or the last one a
 * day ago, so that age is looked at even where size never is.
 */
bool cc_evict_due(int root_fd, const struct cc_config *config);
/* Whether entries go to make room for others; else what does not fit is not stored. */
bool cc_evict_makes_room(const struct cc_config *config);

#endif
