/* SPDX-License-Identifier: MIT */
/* report_value: numbers and times as the page has them: as they are, and as people read them. */
#ifndef TOOLS_REPORT_REPORT_VALUE_H
#define TOOLS_REPORT_REPORT_VALUE_H

#include <stdint.h>

#include "tools/json_output.h"

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

#endif
