/* SPDX-License-Identifier: MIT */
/* report: the cache as one page, or for scripts (report_data.h gathers, report_page.h and report_json.h write). */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cachecore/disk/root.h"
#include "common/file.h"
#include "tools/arguments.h"
#include "tools/memory.h"
#include "tools/report/report.h"
#include "tools/tool.h"

/* A directory that is not ours has a page too, which says so. false: it has none, all was said. */
static bool describe_foreign(struct cmn_buffer *html)
{
	struct cc_config config;
	const char *reason = NULL;
	struct stat info;
	bool foreign;

	tool_load_config(&config);
	foreign = config.dir && stat(config.dir, &info) == 0 &&
		  cc_root_check(config.dir, CC_ROOT_OWN, &reason) == CMN_ERR_ACCESS;
	if (foreign)
		report_page_write_problem(html, config.dir, reason);
	cc_config_release(&config);
	return foreign;
}

static void describe(const struct tool_cache *cache, bool json, struct cmn_buffer *text)
{
	static struct report_data data;	/* until the command ends */

	report_data_gather(cache, &data);
	if (json) {
		json_append(text, report_json_new(&data));
		cmn_buffer_append_u8(text, '\n');
	} else {
		report_page_write(text, &data);
	}
}

/* Takes the page. */
static int write_page(const char *file, struct cmn_buffer *html)
{
	struct output output;
	bool good;

	if (html->failed)
		memory_end();
	if (!output_open(file, "a report", &output)) {
		cmn_buffer_release(html);
		return TOOL_FAILED;
	}
	if (!output.temporary)
		return tool_print(html);
	good = cmn_file_write_all(output.fd, html->data, html->len) == CMN_OK;
	if (!good)
		tool_complain("%s: %s", file, strerror(errno));
	cmn_buffer_release(html);
	return output_close(&output, good) ? TOOL_OK : TOOL_FAILED;
}

verb_function verb_report;

int verb_report(const struct arguments *arguments)
{
	bool json = arguments_flag(arguments, "json");
	const char *file = arguments->operand;
	struct cmn_buffer text = { 0 };
	struct tool_cache *cache;
	int code;

	if (!file && !json)
		tool_refuse("report: FILE is missing (try ckcache report --help)");
	cache = tool_try_open();
	if (cache)
		describe(cache, json, &text);
	else if (json || !describe_foreign(&text))
		return TOOL_FAILED;
	code = write_page(file ? file : "-", &text);
	return cache ? code : TOOL_FAILED;
}
