/* SPDX-License-Identifier: MIT */
/* report_config: the settings in force, as a settings file has them. */
#include "tools/report/report_html.h"

#include <inttypes.h>
#include <string.h>

#include "tools/report/report_text.h"

#define MAX_VALUE 300

static void append_setting(struct cmn_buffer *html, const char *name, const char *value)
{
	cmn_buffer_printf(html, "<tr><th scope=row><code>%s</code></th><td><code>", name);
	report_name(html, value, MAX_VALUE);
	cmn_buffer_append_text(html, "</code></td></tr>\n");
}

static void append_switch(struct cmn_buffer *html, const char *name, bool on)
{
	append_setting(html, name, on ? "1" : "0");
}

/* none: what 0 means; NULL: nothing in particular. */
static void append_amount(struct cmn_buffer *html, const char *name, uint64_t value, const char *none,
			  void (*append)(struct cmn_buffer *html, uint64_t value))
{
	cmn_buffer_printf(html, "<tr><th scope=row><code>%s</code></th><td>", name);
	if (value || !none)
		append(html, value);
	else
		cmn_buffer_append_text(html, none);
	cmn_buffer_append_text(html, "</td></tr>\n");
}

static void append_compression(struct cmn_buffer *html, int compression)
{
	const char level[] = { (char)('0' + compression), '\0' };

	append_setting(html, "compression", compression == CC_COMPRESSION_AUTO ? "auto" :
		       compression == CC_COMPRESSION_NONE ? "none" : level);
}

static void append_tiers(struct cmn_buffer *html, char **dirs)
{
	cmn_buffer_append_text(html, "<tr><th scope=row><code>read_only_dirs</code></th><td><code>");
	for (size_t i = 0; dirs && dirs[i]; i++) {
		cmn_buffer_append_text(html, i ? "<br>" : "");
		report_name(html, dirs[i], MAX_VALUE);
	}
	cmn_buffer_append_text(html, dirs && dirs[0] ? "</code></td></tr>\n" :
						       "none</code></td></tr>\n");
}

/* The page may be sent around: without the user and password of the address. */
static void append_remote(struct cmn_buffer *html, const char *remote)
{
	const char *at = remote ? strrchr(remote, '@') : NULL;
	const char *start = remote ? strstr(remote, "://") : NULL;

	cmn_buffer_append_text(html, "<tr><th scope=row><code>remote</code></th><td><code>");
	if (at) {
		report_escape(html, (struct cmn_view){ remote, start && start < at ?
						       (size_t)(start + 3 - remote) : 0 }, MAX_VALUE);
		cmn_buffer_append_text(html, "…");
	}
	report_name(html, at ? at : remote, MAX_VALUE);
	cmn_buffer_append_text(html, "</code></td></tr>\n");
}

void report_html_settings(struct cmn_buffer *html, const struct cc_config *config)
{
	static const char *const sharing[] = { "none", "group", "readers" };
	static const char *const captures[] = { "auto", "eager", "late", "deferred" };
	static const char *const levels[] = { "none", "error", "warning", "info", "debug" };

	cmn_buffer_append_text(html, "<table><thead><tr><th scope=col>setting</th>"
			       "<th scope=col>value</th></tr></thead><tbody>\n");
	append_setting(html, "dir", config->dir);
	append_switch(html, "disable", config->disable);
	append_switch(html, "persistent", config->persistent);
	append_switch(html, "in_mem", config->in_mem);
	append_amount(html, "in_mem_eviction_threshold", config->in_mem_eviction_threshold, "no bound",
		      report_bytes);
	append_switch(html, "eviction_disable", config->eviction_disable);
	append_amount(html, "max_size", config->max_size, "no bound", report_bytes);
	append_amount(html, "threshold (days)", config->threshold_days, "never", report_number);
	append_setting(html, "eviction_order",
		       config->eviction_order == CC_EVICTION_COST ? "cost" : "lru");
	append_amount(html, "min_device_image_size", config->min_device_image_size, NULL, report_bytes);
	append_amount(html, "max_device_image_size", config->max_device_image_size, NULL, report_bytes);
	append_compression(html, config->compression);
	append_switch(html, "read_only", config->read_only);
	append_tiers(html, config->read_only_dirs);
	append_switch(html, "promote", config->promote);
	append_setting(html, "shared", sharing[config->sharing]);
	append_setting(html, "capture", captures[config->capture]);
	append_switch(html, "recache", config->recache);
	append_switch(html, "admit_all", config->admit_all);
	append_switch(html, "observe", config->observe);
	append_amount(html, "build_wait (seconds)", config->build_wait, "never", report_number);
	append_amount(html, "exit_wait (milliseconds)", config->exit_wait, "0", report_number);
	append_setting(html, "log", levels[config->log_level]);
	append_setting(html, "trace", config->trace);
	append_remote(html, config->remote);
	cmn_buffer_append_text(html, "</tbody></table>\n");
}
