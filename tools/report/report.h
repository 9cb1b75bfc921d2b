/* SPDX-License-Identifier: MIT */

/*
 * report: what a report tells, gathered once, in memory that does not grow with the cache; and the page: one
 * file that loads nothing and runs nothing, which a policy in it says too. page.html has its text, report.css
 * its looks; the C files only fill in values.
 */
#ifndef TOOLS_REPORT_REPORT_H
#define TOOLS_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cachecore/disk/writer/recipes.h"
#include "cachecore/record/totals.h"
#include "common/bytes.h"
#include "common/file.h"
#include "tools/json_output.h"
#include "tools/tool.h"

/*
 * report_groups: sums of entries by a name, in bounded memory. Up to 32768 different names, each sum
 * is exact. Beyond that, names with the smallest sums are added to the others from time to time; what
 * is among the largest by far stays there.
 */
struct report_group {
	char *name;		/* NULL: not known */
	uint64_t entries, bytes, build_ns;
};

/* {0} is an empty one. */
struct report_groups {
	struct report_groups_node *nodes;
	size_t count;
	struct report_group others;
};

/* Adds the numbers of more, whose name may be empty: not known. */
void report_groups_add(struct report_groups *groups, struct cmn_view name,
		       const struct report_group *more);
/*
 * Moves the sums of all but the largest ones to the others, and those to ret, the largest first, with
 * names that are the caller's to free. Returns how many there are, at most so many. What is left of
 * groups is to be released.
 */
size_t report_groups_take(struct report_groups *groups, size_t most, struct report_group *ret);
void report_groups_release(struct report_groups *groups);
void report_group_add(struct report_group *group, const struct report_group *more);

/*
 * report_data: what a report tells, gathered once: counts, entries and sums of
 * them, what the history has, in memory that does not grow with the cache.
 * Knows nothing of HTML.
 */
#define REPORT_TOP 10	/* rows of a table of the largest, the slowest, … */
#define REPORT_AGES 6
#define REPORT_WEEK 7	/* days */

/* Texts are as they are in the key, cut; NULL: the key has none. */
struct report_entry {
	char *path;
	uint64_t bytes, build_ns;
	char *device;		/* its name and its driver's version */
	char *program;		/* what it is called (entry_label_append) */
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

/* Once a command, which keeps it; and ends where a root cannot be read. */
void report_data_gather(const struct tool_cache *cache, struct report_data *ret);
uint64_t report_data_lookups(const struct report_data *data);
/* The counts of so many last days, today's the last. */
struct cc_usage_counts report_data_recent(const struct report_data *data, unsigned int days);
const char *report_data_age(size_t age);	/* what ages[age] is called */

/*
 * report_page: the page: one file that loads nothing and runs nothing, which a policy in it says
 * too. page.html has its text, report.css its looks; the files of this folder only fill in values.
 */

/* Values of parts of it. */
void report_chart_add_timeline(struct json_object *page, const struct report_data *data);

/* Numbers and times as the page has them: as they are, and as people read them. */

/* Each adds an object with "value", the number as it is, and "text"; the object. */
typedef struct json_object *report_value_add(struct json_object *object, const char *name,
					     uint64_t value);
report_value_add report_value_number;	/* "12 345" */
report_value_add report_value_bytes;	/* "1.5 MiB" */
report_value_add report_value_time;	/* nanoseconds: "3.40 s" */

/*
 * An object with "machine" and "text": "2026-11-21 17:05", UTC; empty: it is no time of a
 * calendar.
 */
report_value_add report_value_moment;

/* "bar": an object with "class" and "width", which says how much of the whole the part is. */
void report_value_bar(struct json_object *object, const char *colour, uint64_t part,
		      uint64_t whole);

#define REPORT_DATE_SIZE 32
/* "2026-11-21", UTC; returns ret. */
const char *report_value_date(uint64_t day, char ret[REPORT_DATE_SIZE]);

/* The counts of the root's file, as members of an object. */
void report_json_add_totals(struct json_object *object, const struct cc_totals *stats);
/* What the page tells, for scripts: docs/JSON.md has the members. The whole tree, the caller's. */
struct json_object *report_json_new(const struct report_data *data);

#endif
