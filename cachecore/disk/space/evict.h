/* SPDX-License-Identifier: MIT */
/*
 * evict: makes room for an entry that is to be stored. It does not look at all
 * entries, but at some that it chooses by chance, and removes the one of these that is
 * worth least: the least recently used one, or (eviction_order) the one that
 * saves least time per byte. It locks an entry directory while it removes names in it, but
 * does not wait for that lock. Readers take no lock and do not wait. What goes
 * over the whole tree is in clean.h. Thread-safe, also between processes.
 */
#ifndef CACHECORE_DISK_SPACE_EVICT_H
#define CACHECORE_DISK_SPACE_EVICT_H

#include <stdbool.h>
#include <stdint.h>

#include "cachecore/config.h"
#include "cachecore/disk/root.h"
#include "cachecore/disk/space/days.h"
#include "common/status.h"

/*
 * Removes entries until the account is at most limit, or the time is over (monotonic; one at least
 * goes, so that many who have little time get on together). Of those that it looks at, it also
 * removes what is too old; with eviction_order "none" nothing else. CMN_OK; CMN_STALE: it is still
 * more, or not known.
 */
CMN_CHECKED enum cmn_status cc_evict_until(int root_fd, const struct cc_config *config, uint64_t limit,
					   uint64_t until);
/* Looks at a few entries, and removes what is too old, where anything can be. */
void cc_evict_aged(int root_fd, const struct cc_config *config, uint64_t until);
/* Whether entries go to make room for others; else what does not fit is not stored. */
bool cc_evict_makes_room(const struct cc_config *config);

/* An entry that may go, and which of several goes first; for clean.c, too. */
struct cc_candidate {
	char path[CC_ENTRY_DIR_PATH_SIZE];
	unsigned int n;
	uint64_t bytes;		/* of its files */
	uint64_t used_ns;	/* since the epoch, by the clock of who used it */
	uint64_t rank;		/* the lowest goes first; 0: it is too old */
};

/* By what entries are ranked. */
struct cc_ranking {
	const struct cc_config *config;	/* borrowed */
	uint64_t now;			/* since the epoch */
	struct cc_days days;		/* of use */
};

void cc_ranking_load(struct cc_ranking *ret, int root_fd, const struct cc_config *config);
/* Entry n of that entry directory, which is there. */
void cc_candidate_look(const struct cc_ranking *ranking, const char *path, int entry_dir_fd, unsigned int n,
		       struct cc_candidate *ret);
/*
 * Removes it, unless somebody works in its entry directory or has used it meanwhile. Returns the bytes freed,
 * which the caller subtracts from the account before cc_candidate_leave; *ret_entry_dir_fd is for that,
 * the entry directory, locked, or -1.
 */
uint64_t cc_candidate_remove(const struct cc_candidate *one, int root_fd, int *ret_entry_dir_fd);
void cc_candidate_leave(const struct cc_candidate *one, int root_fd, int entry_dir_fd);

#endif
