/* SPDX-License-Identifier: MIT */
/*
 * report_html: the page: one file that loads nothing and runs nothing, which a
 * policy in it says too. What a number counts is written beside it.
 */
#ifndef TOOLS_REPORT_REPORT_HTML_H
#define TOOLS_REPORT_REPORT_HTML_H

#include "common/bytes.h"
#include "tools/report/report_data.h"

/* The page of what was gathered; html->failed: out of memory. */
void report_html_write(struct cmn_buffer *html, const struct report_data *data);
/* One that only says why there is nothing to tell of a directory. */
void report_html_write_problem(struct cmn_buffer *html, const char *dir, const char *problem);

/* Parts of it, each in a file of its own: report_disk.c, report_why.c, report_config.c. */
void report_html_disk(struct cmn_buffer *html, const struct report_data *data);
void report_html_why(struct cmn_buffer *html, const struct report_data *data);
void report_html_settings(struct cmn_buffer *html, const struct cc_config *config);

/* The beginning of a section, and of a table whose first column has names; the others are numbers. */
void report_html_section(struct cmn_buffer *html, const char *title);
void report_html_table(struct cmn_buffer *html, const char *title, const char *const *columns);
void report_html_table_end(struct cmn_buffer *html);

#endif
