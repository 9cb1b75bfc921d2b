/* SPDX-License-Identifier: MIT */
/*
 * key_diff: what differs between two keys, by their summaries
 * (cachecore/record/key_summary.h), and how far they are from each other. The field names
 * are those that the layers put into their keys; others count as well.
 */
#ifndef TOOLS_EXPLAIN_KEY_DIFF_H
#define TOOLS_EXPLAIN_KEY_DIFF_H

#include <stdbool.h>

#include "cachecore/record/key_summary.h"
#include "tools/json_output.h"

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
bool key_field_is(const struct cc_key_summary_field *field, const char *name);
/* What follows the prefix in the name, as for "library."; empty: it does not begin so. */
struct cmn_view key_field_after(const struct cc_key_summary_field *field, const char *prefix);

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
	const struct cc_key_summary_field *header;	/* of a header's text: the name of the one that is */
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

#endif
