/* SPDX-License-Identifier: MIT */
/*
 * report_text: pieces of HTML. Text is of anybody's making: whatever it is, it
 * stays text in its element and on its line, and shows what it has.
 */
#ifndef TOOLS_REPORT_REPORT_TEXT_H
#define TOOLS_REPORT_REPORT_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"

/*
 * Appends text for an element or a quoted attribute: markup escaped; controls,
 * marks of direction, characters without a shape and what is no character
 * written as U+0000; bytes that are no UTF-8 as U+FFFD. Of more than max
 * characters the rest is "…".
 */
void report_escape(struct cmn_buffer *html, struct cmn_view text, size_t max);
/* The same in an element that its direction does not leave; "-" for nothing. */
void report_name(struct cmn_buffer *html, const char *text, size_t max);

/* Each is a <data> whose value is the number as it is: a count, bytes, nanoseconds. */
void report_number(struct cmn_buffer *html, uint64_t number);	/* "12 345" */
void report_bytes(struct cmn_buffer *html, uint64_t bytes);	/* "1.5 MiB" */
void report_time(struct cmn_buffer *html, uint64_t ns);		/* "3.40 s" */
void report_share(struct cmn_buffer *html, uint64_t part, uint64_t whole);	/* "12.5 %", no <data> */

#define REPORT_DATE_SIZE 32
/* "2026-11-21", UTC; returns ret. */
const char *report_date(uint64_t day, char ret[REPORT_DATE_SIZE]);
/* A <time>: "2026-11-21 17:05", UTC. */
void report_moment(struct cmn_buffer *html, uint64_t ns);

#endif
