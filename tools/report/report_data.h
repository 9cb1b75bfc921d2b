/* SPDX-License-Identifier: MIT */
/*
 * report_data: what a report tells, gathered once: counts, entries and sums of
 * them, what the history has, in memory that does not grow with the cache.
 * Knows nothing of HTML.
 */
#ifndef TOOLS_REPORT_REPORT_DATA_H
#define TOOLS_REPORT_REPORT_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cachecore/disk/writer/recipes.h"
#include "cachecore/record/totals.h"
#include "common/file.h"
#include "tools/report/report_groups.h"
#include "tools/tool.h"

#define REPORT_TOP 10	/* rows of a table of the largest, the slowest, … */
#define REPORT_AGES 6
#define REPORT_WEEK 7	/* days */

/* Texts are as they are in the key, cut; NULL: the key has none. */
struct report_entry {
	char *path;
	uint64_t bytes, build_ns;
	char *device;		/* its name and its driver's version */
	char *program;		/* what it is called (entry_name.h) */
	char *options;
};

/* Those that come first by a number. */
struct report_top {
	struct report_entry entries[REPORT_TOP];
	size_t count;
};

/* Sums by a name. */
struct report_sums {
	struct report_groups groups;	/* while entries are read; then its others are what is not in: */
	struct report_group largest[REPORT_TOP];	/* the largest first */
	size_t count;
};

/* What the history tells of often: a sentence, or the reason's word, and how often. */
struct report_event {
	const char *what;	/* a fixed text */
	char *word;		/* NULL: what says it all */
	uint64_t count, last_ns;
};

struct report_data {
	const struct cc_config *config;
	uint64_t now_ns;
	struct cc_totals *stats;
	bool counted;		/* there are counts */
	struct cc_recipes_count recipes;
	uint64_t last_eviction_ns;	/* 0: not known */

	uint64_t count;			/* of all entries */
	uint64_t sound, damaged, foreign;	/* foreign: of another version */
	uint64_t bytes, build_ns;	/* of all, of the sound ones */
	struct report_sums devices, programs;
	struct report_top largest, slowest;
	struct report_group ages[REPORT_AGES];	/* by the time since the last use */

	struct report_event *events;	/* the most frequent first */
	size_t event_count;
	uint64_t history_ns;	/* the first event; 0: there is none */
	uint64_t evicted_by_size, evicted_by_age;
};

/* Once a command, which keeps it. As cc_store_walk. */
CMN_CHECKED enum cmn_status report_data_gather(const struct tool_cache *cache,
					       struct report_data *ret);
uint64_t report_data_lookups(const struct report_data *data);
/* The counts of so many last days, today's the last. */
struct cc_usage_counts report_data_recent(const struct report_data *data, unsigned int days);
const char *report_data_age(size_t age);	/* what ages[age] is called */

/* The history's part (report_history.c); what cannot be read is left out. */
void report_history_add(struct report_data *data, enum cmn_file_trust trust);

#endif
