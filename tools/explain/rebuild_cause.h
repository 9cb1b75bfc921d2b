/* SPDX-License-Identifier: MIT */
/* rebuild_cause: what a difference between two keys is called, for people. */
#ifndef TOOLS_EXPLAIN_REBUILD_CAUSE_H
#define TOOLS_EXPLAIN_REBUILD_CAUSE_H

#include <stdbool.h>
#include <stddef.h>

#include "tools/explain/key_diff.h"
#include "tools/json.h"

/* Of each compile the first one counts in the summary. In the order of their weight. */
enum cause_kind {
	CAUSE_BYPASS,
	CAUSE_NOT_STORED,
	CAUSE_RECACHE,
	CAUSE_READ_ONLY,
	CAUSE_REFUSED,
	CAUSE_DAMAGED,
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
	CAUSE_KIND_COUNT,
};
const char *cause_word(enum cause_kind kind);	/* in JSON, as "not-stored" */
const char *cause_phrase(enum cause_kind kind);	/* in a summary, as "evicted" */

struct cause {
	enum cause_kind kind;
	char *text;
};
struct causes {
	struct cause *all;
	size_t count;
	bool failed;		/* out of memory */
};
void causes_add(struct causes *causes, enum cause_kind kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void causes_release(struct causes *causes);

/* The two whole keys' encodings, where they are at hand; empty: not. */
struct causes_keys {
	struct cmn_view was, is;
};
/* What the differences come to, the weightiest first. */
void causes_of_diff(struct causes *causes, const struct key_diff *diff,
		    const struct key_fields *is, const struct causes_keys *keys);

/* A field's value as a line for people, cut to `max` bytes: text, number or size and hash; "-": NULL. */
void cause_append_value(struct cmn_buffer *text, const struct cc_key_summary_field *field, size_t max);
/* The same line as a member of an object of JSON. */
void cause_add_value(struct json_object *object, const char *name,
		     const struct cc_key_summary_field *field, size_t max);

#endif
