/* SPDX-License-Identifier: MIT */
/*
 * report_page: the page: one file that loads nothing and runs nothing, which a policy in it says
 * too. page.html has its text, report.css its looks; the files of this folder only fill in values.
 */
#ifndef TOOLS_REPORT_REPORT_PAGE_H
#define TOOLS_REPORT_REPORT_PAGE_H

#include "common/bytes.h"
#include "tools/json_output.h"
#include "tools/report/report_data.h"

/* Appends the page of what was gathered; html->failed: out of memory. */
void report_page_write(struct cmn_buffer *html, const struct report_data *data);
/* One that only says why there is nothing to tell of a directory. */
void report_page_write_problem(struct cmn_buffer *html, const char *dir, const char *problem);

/* Values of parts of it, each in a file of its own. */
void report_chart_add_timeline(struct json_object *page, const struct report_data *data);
void report_disk_add(struct json_object *page, const struct report_data *data);
void report_why_add(struct json_object *page, const struct report_data *data);
void report_config_add(struct json_object *page, const struct cc_config *config);

/* A template_escape: as report_value.c has it. */
void report_escape(struct cmn_buffer *html, struct cmn_view text, size_t max);

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
