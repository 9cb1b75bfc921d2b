/* SPDX-License-Identifier: MIT */
/*
 * clean: goes over the whole tree, for "ckcache prune" and "verify" (no application waits for it).
 * Removes what dead writers left, counts the tree and corrects cache_size.txt, removes entries that
 * were not used for threshold_days (days.h), and, if the root takes more than max_size on disk, the
 * least valuable entries (evict.h) until the rest takes half of what the root's other files
 * leave (overhead.h). It locks each entry directory while it removes names in it, but does not wait for that lock.
 */
#ifndef CACHECORE_DISK_SPACE_CLEAN_H
#define CACHECORE_DISK_SPACE_CLEAN_H

#include "cachecore/config.h"
#include "common/status.h"

/* Shows that something happens; called for each entry directory and each removal. */
struct cc_clean_watch {
	void (*show)(void *ctx);
	void *ctx;
};

/*
 * With eviction_disable it removes no entry. watch may be NULL. CMN_BUSY: another process holds the
 * root. CMN_STALE: what is left is still too much. CMN_ERR_NOMEM, CMN_ERR_IO.
 */
CMN_CHECKED enum cmn_status cc_clean(int root_fd, const struct cc_config *config,
				     const struct cc_clean_watch *watch);

#endif
