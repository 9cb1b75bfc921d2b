/* SPDX-License-Identifier: MIT */
/* stats_more: the entries by device and by program, for ckcache stats --verbose and --per-program. */
#ifndef TOOLS_ENTRIES_STATS_MORE_H
#define TOOLS_ENTRIES_STATS_MORE_H

#include <stdbool.h>

#include "cachecore/record/usage.h"
#include "tools/entries/census.h"
#include "tools/json_output.h"
#include "tools/report/report_groups.h"

/* Entries that have something in common; the largest first. */
struct stats_groups {
	struct report_group *all;
	size_t count;
};

struct stats_more {
	bool verbose, per_program;	/* what was asked for */
	struct stats_groups devices, programs;
	struct amount seen;
	uint64_t payload_bytes;		/* of results, uncompressed */
	uint64_t oldest_ns, unused_ns;	/* when the first one was stored, and when the longest unused one was used; 0: none */
};

/* The caller sets what is asked for; where that is nothing, it looks at nothing. */
CMN_CHECKED enum cmn_status stats_more_collect(struct tool_cache *cache, struct stats_more *more);
/* usage: the counts of programs. */
void stats_more_append(const struct stats_more *more, const struct cc_usage *usage,
		       struct cmn_buffer *text);
void stats_more_add(const struct stats_more *more, const struct cc_usage *usage,
		    struct json_object *object);

#endif
