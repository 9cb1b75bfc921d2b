/* SPDX-License-Identifier: MIT */
/* report_json: what the page tells, for scripts: docs/JSON.md has the members. */
#ifndef TOOLS_REPORT_REPORT_JSON_H
#define TOOLS_REPORT_REPORT_JSON_H

#include "tools/json_output.h"
#include "tools/report/report_data.h"

/* The whole tree, the caller's. */
struct json_object *report_json_new(const struct report_data *data);

#endif
