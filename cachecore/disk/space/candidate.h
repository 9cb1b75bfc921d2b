/* SPDX-License-Identifier: MIT */
/*
 * candidate: an entry that may go, and which of several goes first. Not
 * thread-safe.
 */
#ifndef CACHECORE_DISK_SPACE_CANDIDATE_H
#define CACHECORE_DISK_SPACE_CANDIDATE_H

#include <stdint.h>

#include "cachecore/config.h"
#include "cachecore/disk/root.h"
#include "cachecore/disk/space/days.h"

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
