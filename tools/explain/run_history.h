/* SPDX-License-Identifier: MIT */

/*
 * run_history: a root's events (cachecore/record/events.h) in memory: events in the order in which they were
 * written, parts of keys, evictions; and sentences for the words in them.
 */
#ifndef TOOLS_EXPLAIN_RUN_HISTORY_H
#define TOOLS_EXPLAIN_RUN_HISTORY_H

#include <stdbool.h>

#include "cachecore/disk/root.h"
#include "cachecore/disk/store.h"
#include "cachecore/record/events.h"

struct run_history_event {
	size_t place;		/* among all that was written, from 1: clocks may be wrong; 0: it is a trace's */
	enum cc_event_kind kind;
	bool unattended;	/* ckcache replay did it */
	uint32_t pid;
	uint64_t start_ns, time_ns, build_ns;
	struct cmn_hash parts[CC_PART_COUNT];
	char entry_dir[CC_ENTRY_DIR_PATH_SIZE];	/* where its entry lies; "": it has no key */
	char *program, *reason, *detail;
	char *name;		/* of the first kernel */
};

struct run_history_part {
	struct cmn_hash hash;
	struct cmn_view summary;
};

struct run_history_eviction {
	size_t place;		/* as an event's */
	enum cc_removal_cause cause;
	uint64_t time_ns, entry_dir;
};

/* A run of a program, as far as its look-ups are there one after the other. */
struct run_history_run {
	char program[64];
	uint32_t pid;
	uint64_t start_ns, time_ns;	/* time: of the first of them */
	uint64_t hits;
	bool compiled;
};

struct run_history {
	struct run_history_event *events;
	size_t event_count;
	struct run_history_part *parts;	/* sorted by hash once loaded */
	size_t part_count;
	struct run_history_eviction *evictions;
	size_t eviction_count;
	struct run_history_run last_run;	/* but for ckcache replay's; pid 0: not known */
	/* That brought an entry for a program; sorted by entry directory, then by time. */
	const struct run_history_event **arrivals;
	size_t arrival_count;
};

/*
 * Once a command, which keeps it. CMN_OK also where nothing is known; else as cc_events_read: then *ret may
 * lack something.
 */
CMN_CHECKED enum cmn_status run_history_load(const struct cc_store *store, const struct run_history **ret);

/* Appends the summary of an event's key; false: a part of it is not known. */
bool run_history_summary(const struct run_history *history, const struct run_history_event *event,
			 struct cmn_buffer *buf);
/* Whether two events are of one run of a program. */
bool run_history_same_run(const struct run_history_event *a, const struct run_history_event *b);
/* Something was compiled. */
bool run_history_is_compile(const struct run_history_event *event);
/*
 * For which program an entry came, as far as the history reaches: who compiled it, or had it from the
 * remote tier, or for whom ckcache replay compiled it. path: of the entry, or of its entry directory.
 */
const struct run_history_event *run_history_find_arrival(const struct run_history *history,
							 const char *path);	/* the last; or NULL */
bool run_history_came_for(const struct run_history *history, const char *path, const char *program);
/* Whether something with that place, or that time if the event is a trace's, was before the event. */
static inline bool run_history_is_before(size_t place, uint64_t time_ns,
					 const struct run_history_event *event)
{
	return event->place ? place < event->place : time_ns < event->time_ns;
}

/* The last eviction of its entry directory before the event; NULL: none. */
const struct run_history_eviction *run_history_find_eviction(const struct run_history *history,
							     const struct run_history_event *event);

/*
 * reasons: a sentence for each word with which the layers say why a build was not
 * cached, and the cache why a result was not stored. tests/rules/reasons.py checks
 * that none is missing.
 */

/* What follows "not cached: "; NULL: it is no word of today's. */
const char *reason_of_bypass(const char *word);
/* What follows "not stored: ", where the word alone says it; NULL: it does not. */
const char *reason_of_loss(const char *word);

#endif
