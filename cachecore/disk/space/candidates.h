/* SPDX-License-Identifier: MIT */
/*
 * candidates: finds the entries to evict first, in one walk with bounded memory.
 * It counts all entries, but remembers at most CC_CANDIDATES_MAX, those with the
 * lowest rank. On the way it removes what dead writers left. Not thread-safe; the
 * evictor's lock guards the root.
 */
#ifndef CACHECORE_DISK_SPACE_CANDIDATES_H
#define CACHECORE_DISK_SPACE_CANDIDATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cachecore/config.h"
#include "cachecore/disk/root.h"
#include "cachecore/disk/space/days.h"
#include "common/status.h"

/* Some 10 MB of candidates. Half of twice as many entries goes in one walk. */
#define CC_CANDIDATES_MAX 65536

struct cc_candidate {
	char path[CC_LEAF_PATH_SIZE];
	unsigned int n;
	uint64_t bytes;		/* of its files */
	uint64_t access_ns;	/* since the epoch, by the clock of who used it */
	uint64_t rank;		/* the lowest goes first */
};

struct cc_candidates {
	const struct cc_config *config;
	uint64_t now;			/* since the epoch */
	bool (*go_on)(void *ctx);	/* between leaves; may be NULL */
	void *ctx;
	size_t max;			/* candidates, at most CC_CANDIDATES_MAX */
	struct cc_days days;		/* of use */
	struct cc_candidate *all;	/* a heap while counting, sorted when done */
	size_t count, cap;
	uint64_t entries, bytes;	/* of all that were seen */
	bool partial;			/* go_on ended it */
	bool busy;			/* somebody writes: what is in the account need not be there yet */
};

/*
 * Counts, beginning anywhere in the tree; the fields before days are the
 * caller's, the rest zero. Afterwards all is sorted by rank. CMN_ERR_NOMEM,
 * CMN_ERR_IO.
 */
CMN_CHECKED enum cmn_status cc_candidates_find(struct cc_candidates *ret, int root_fd);
void cc_candidates_release(struct cc_candidates *ret);

#endif
