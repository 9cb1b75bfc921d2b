/* SPDX-License-Identifier: MIT */
/*
 * census: how many entries a root has, and what they took. A large root is estimated, so that nobody
 * waits: of its images, about a thousand are looked at, always the same ones, by their hashes; nothing
 * is written that could grow old. Where images have about the same number of entries, and few are
 * damaged, the estimate is off by a few percent at most.
 */
#ifndef TOOLS_ENTRIES_CENSUS_H
#define TOOLS_ENTRIES_CENSUS_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/tool.h"

/* Of entries: how many, and their bytes on disk. */
struct amount {
	uint64_t entries, bytes;
};

struct census {
	uint64_t entries, damaged;
	uint64_t failures;	/* that are remembered, and no entries to those who count them */
	uint64_t bytes;		/* of all on disk: of an estimate, what the cache's own account says, if it does */
	uint64_t build_ns;	/* of the sound ones */
	uint64_t oldest_ns;	/* of those that were looked at, since the epoch; UINT64_MAX: there is none */
	bool estimated;
};

/* exact: count all, however many there are, with a progress line. Statuses as cc_store_walk. */
CMN_CHECKED enum cmn_status census_take(const struct tool_cache *cache, bool exact, struct census *ret);

#endif
