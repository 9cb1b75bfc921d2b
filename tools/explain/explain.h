/* SPDX-License-Identifier: MIT */

/*
 * explain: what the files of `ckcache explain` share. explain.c chooses which compiles are asked about, of the
 * history or of a trace; explain_nearest.c finds the stored key that is nearest to each; explain_why.c says
 * why, and shows it.
 */
#ifndef TOOLS_EXPLAIN_EXPLAIN_H
#define TOOLS_EXPLAIN_EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>

#include "cachecore/record/key_summary.h"
#include "tools/explain/run_history.h"
#include "tools/json_output.h"
#include "tools/tool.h"

/*
 * key_diff: what differs between two keys, by their summaries
 * (cachecore/record/key_summary.h), and how far they are from each other. The field names
 * are those that the layers put into their keys; others count as well.
 */

/* A key's fields; views into the summary that it was made of. */
struct key_fields {
	struct cc_key_summary_field *all;
	size_t count;
};
/* What cannot be read of a damaged summary is left out. */
void key_fields_read(struct cmn_view summary, struct key_fields *ret);
void key_fields_release(struct key_fields *fields);
/* The first field of that name; NULL: none. */
const struct cc_key_summary_field *key_fields_find(const struct key_fields *fields, const char *name);

/*
 * A field's value as a line for people, cut to `max` bytes: text, number or size and hash; "-":
 * NULL.
 */
void key_field_append_value(struct cmn_buffer *text, const struct cc_key_summary_field *field,
			    size_t max);
/* The same line as a member of an object of JSON. */
void key_field_add_value(struct json_object *object, const char *name,
			 const struct cc_key_summary_field *field, size_t max);

/* One field that differs; NULL: one of the two keys does not have it. */
struct key_difference {
	const struct cc_key_summary_field *was, *is;
	const struct cc_key_summary_field *before;	/* in the key, or NULL: of a header's text, its name */
};
struct key_diff {
	struct key_difference *all;
	size_t count;
};
/* Borrows both. */
void key_diff_make(const struct key_fields *was, const struct key_fields *is, struct key_diff *ret);
void key_diff_release(struct key_diff *diff);
/*
 * How far apart: 0 the same key. A changed driver is nearer than another
 * device, another option nearer than another line of the source.
 */
double key_diff_distance(const struct key_diff *diff);

/* rebuild_cause: what a difference between two keys is called, for people. */

/* Of each compile the first one counts in the summary. In the order of their weight. */
enum rebuild_cause_kind {
	CAUSE_REMOTE,		/* it was not compiled at all */
	CAUSE_UNATTENDED,	/* nobody waited for it */
	CAUSE_FAILED,		/* it did not compile: there was nothing to be kept */
	CAUSE_BYPASS,
	CAUSE_NOT_STORED,
	CAUSE_READ_ONLY,
	CAUSE_REFUSED,
	CAUSE_DAMAGED,
	CAUSE_REMOTE_REFUSED,
	CAUSE_HEADER,
	CAUSE_EVICTED,
	CAUSE_CLEARED,
	CAUSE_DEFERRED,
	CAUSE_GONE,
	CAUSE_DEVICE,
	CAUSE_DRIVER,
	CAUSE_SOURCE,
	CAUSE_OPTION,
	CAUSE_ENVIRONMENT,
	CAUSE_CONSTANT,
	CAUSE_OTHER,
	CAUSE_FIRST_TIME,
	CAUSE_REMOTE_AWAY,
	CAUSE_KIND_COUNT,
};
const char *rebuild_cause_word(enum rebuild_cause_kind kind);	/* in JSON, as "not-stored" */
const char *rebuild_cause_phrase(enum rebuild_cause_kind kind);	/* in a summary, as "evicted" */

struct rebuild_cause {
	enum rebuild_cause_kind kind;
	char *text;
};
struct rebuild_causes {
	struct rebuild_cause *all;
	size_t count;
};
void rebuild_causes_add(struct rebuild_causes *causes, enum rebuild_cause_kind kind,
			const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The two whole keys' encodings, where they are at hand; empty: not. */
struct rebuild_causes_keys {
	struct cmn_view was, is;
};
/* What the differences come to, the weightiest first. */
void rebuild_causes_of_diff(struct rebuild_causes *causes, const struct key_diff *diff,
			    const struct key_fields *is, const struct rebuild_causes_keys *keys);

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
