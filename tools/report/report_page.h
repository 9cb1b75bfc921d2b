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

/* A template_escape: as report_escape.c has it. */
void report_escape(struct cmn_buffer *html, struct cmn_view text, size_t max);

#endif
