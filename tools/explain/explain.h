/* SPDX-License-Identifier: MIT */
/*
 * explain: what the files of `ckcache explain` share. explain.c chooses which
 * compiles are asked about; explain_trace.c reads them from a trace;
 * explain_nearest.c finds the stored key that is nearest to each;
 * explain_why.c says why; explain_print.c shows it.
 */
#ifndef TOOLS_EXPLAIN_EXPLAIN_H
#define TOOLS_EXPLAIN_EXPLAIN_H

#include <stdbool.h>

#include "tools/explain/rebuild_cause.h"
#include "tools/explain/run_history.h"
#include "tools/tool.h"

/* One compile that is asked about. */
struct question {
	struct run_history_event event;	/* of the history, or made of a trace's line; texts are borrowed */
	bool of_trace;		/* the history does not know it */
	size_t run_place;	/* in the history, of the run's first event; 0: not known */
	bool remembered;	/* what it failed with is stored */
	bool has_summary;
	struct cmn_buffer summary;	/* of its key */
	struct cmn_buffer key;		/* whole, if it is stored; else empty */
	/* The nearest of those that were there before. */
	bool has_nearest;
	double distance;
	struct cmn_buffer nearest_summary;
	struct cmn_buffer nearest_key;	/* whole, if it is stored and no giant */
	char nearest[CC_ENTRY_DIR_PATH_SIZE + CC_ENTRY_DIR_NAME_SIZE];	/* path below the root; "": of the history */
	uint64_t nearest_ns;
	/* The answer. */
	struct rebuild_causes causes;
	struct key_fields fields, nearest_fields;
	struct key_diff diff;
	char *device;		/* NULL: not known */
};

struct explanation {
	struct tool_cache *cache;
	const struct run_history *history;
	/* The last run, if it compiled nothing; program "": it did, or is not known. */
	struct run_history_run idle_run;
	struct question *questions;
	size_t count;
};

/* Another question about that event, which it copies but for its texts. */
struct question *explain_add(struct explanation *explanation, const struct run_history_event *event);
/* A question for each miss and bypass of a trace; counts hits in idle_run, whose program it does not know. false: complained about. */
bool explain_read_trace(struct explanation *explanation, const char *path);
/* Fills what is known of each key, and the nearest ones. */
CMN_CHECKED enum cmn_status explain_find_nearest(struct explanation *explanation);
/* Fills causes. */
void explain_why(struct explanation *explanation);
/* What was asked about, where there is nothing to show. */
enum explain_subject { EXPLAIN_LAST_RUN, EXPLAIN_COMMAND, EXPLAIN_ENTRY, EXPLAIN_ALL };
/* As text, or as docs/JSON.md has it; the exit code. */
int explain_print(const struct explanation *explanation, enum explain_subject subject, bool verbose);
int explain_print_json(const struct explanation *explanation);

#endif
