/* SPDX-License-Identifier: MIT */
/* report_config: the settings in force, as a settings file has them. */
#include <stdio.h>
#include <string.h>

#include "tools/remote/tier.h"
#include "tools/report/report_page.h"
#include "tools/report/report_value.h"

/* A row whose value has a line for each text that is added to the array. */
static struct json_object *add_row(struct json_object *rows, const char *name)
{
	struct json_object *row = json_add_object(rows, NULL);

	json_add_text(row, "name", name);
	return json_add_array(row, "values");
}

static void add_setting(struct json_object *rows, const char *name, const char *value)
{
	json_add_text(add_row(rows, name), NULL, value && *value ? value : "-");
}

static void add_switch(struct json_object *rows, const char *name, bool on)
{
	add_setting(rows, name, on ? "1" : "0");
}

/* none: what 0 means; NULL: nothing in particular. */
static void add_amount(struct json_object *rows, const char *name, uint64_t value, const char *none,
		       report_value_add *add)
{
	struct json_object *row = json_add_object(rows, NULL);

	json_add_text(row, "name", name);
	if (value || !none)
		(void)add(row, "amount", value);
	else
		json_add_text(row, "none", none);
}

static void add_compression(struct json_object *rows, int compression)
{
	const char level[] = { (char)('0' + compression), '\0' };

	add_setting(rows, "compression", compression == CC_COMPRESSION_AUTO ? "auto" :
		    compression == CC_COMPRESSION_NONE ? "none" : level);
}

static void add_tiers(struct json_object *rows, char **dirs)
{
	struct json_object *values = add_row(rows, "read_only_dirs");

	for (size_t i = 0; dirs && dirs[i]; i++)
		json_add_text(values, NULL, dirs[i]);
	if (!dirs || !dirs[0])
		json_add_text(values, NULL, "none");
}

static void add_paths(struct json_object *rows, const char *name, char **paths)
{
	struct json_object *values = add_row(rows, name);

	for (size_t i = 0; paths && paths[i]; i++)
		json_add_text(values, NULL, paths[i]);
	if (!paths || !paths[0])
		json_add_text(values, NULL, "-");
}

/* The page may be sent around: without the user and password of the address. */
static void add_remote(struct json_object *rows, const struct cc_config *config)
{
	struct json_object *values = add_row(rows, "remote");
	struct cmn_buffer problem = { 0 };
	struct tier tier;

	/* Out of memory it has no address to show. */
	(void)!tier_look(config, &tier);
	json_add_text(values, NULL, tier.address ? tier.address : "-");
	tier_append_problem(&tier, &problem);
	if (problem.len)
		json_add_view(values, NULL, cmn_buffer_view(&problem));
	cmn_buffer_release(&problem);
	if (tier.state != TIER_NONE)
		add_amount(rows, "entries to be uploaded", tier.waiting, "0", report_value_number);
	add_setting(rows, "remote_key", config->remote_key);
	add_paths(rows, "remote_trust", config->remote_trust);
	add_setting(rows, "remote_secrets", config->remote_secrets);
	add_paths(rows, "remote_helpers", config->remote_helpers);
	tier_release(&tier);
}

void report_config_add(struct json_object *page, const struct cc_config *config)
{
	static const char *const sharing[] = { "none", "group", "readers" };
	static const char *const orders[] = { "lru", "cost", "none" };
	static const char *const captures[] = { "auto", "eager", "late", "deferred" };
	static const char *const levels[] = { "none", "error", "warning", "info", "debug" };
	struct json_object *rows = json_add_array(page, "settings");

	add_setting(rows, "dir", config->dir);
	add_switch(rows, "disable", config->disable);
	add_switch(rows, "persistent", config->persistent);
	add_switch(rows, "in_mem", config->in_mem);
	add_amount(rows, "in_mem_eviction_threshold", config->in_mem_eviction_threshold, "no bound",
		   report_value_bytes);
	add_switch(rows, "eviction_disable", config->eviction_disable);
	add_amount(rows, "max_size", config->max_size, "no bound", report_value_bytes);
	add_amount(rows, "threshold (days)", config->threshold_days, "never", report_value_number);
	add_setting(rows, "eviction_order", orders[config->eviction_order]);
	add_amount(rows, "min_device_image_size", config->min_device_image_size, NULL,
		   report_value_bytes);
	add_amount(rows, "max_device_image_size", config->max_device_image_size, NULL,
		   report_value_bytes);
	add_compression(rows, config->compression);
	add_switch(rows, "read_only", config->read_only);
	add_tiers(rows, config->read_only_dirs);
	add_switch(rows, "promote", config->promote);
	add_setting(rows, "shared", sharing[config->sharing]);
	add_setting(rows, "capture", captures[config->capture]);
	add_switch(rows, "recache", config->recache);
	add_switch(rows, "admit_all", config->admit_all);
	add_switch(rows, "observe", config->observe);
	add_amount(rows, "build_wait (seconds)", config->build_wait, "never", report_value_number);
	add_switch(rows, "hand_over", config->hand_over);
	add_amount(rows, "exit_wait (milliseconds)", config->exit_wait, "0", report_value_number);
	add_setting(rows, "log", levels[config->log_level]);
	add_setting(rows, "log_file", config->log_file);
	add_setting(rows, "trace", config->trace);
	add_remote(rows, config);
}
