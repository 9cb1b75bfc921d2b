/* SPDX-License-Identifier: MIT */
/* report_config: the settings in force, as a settings file has them. */
#include <string.h>

#include "tools/remote/tier.h"
#include "tools/report/report_page.h"
#include "tools/report/report_value.h"

/* A row; what is added to the array are lines of its value. */
static struct json_object *add_row(struct json_object *rows, const char *name, const char *value)
{
	struct json_object *row = json_add_object(rows, NULL), *values;

	json_add_text(row, "name", name);
	values = json_add_array(row, "values");
	json_add_text(values, NULL, value && *value ? value : "-");
	return values;
}

/* The page may be sent around: without the user and password of the address. */
static void add_remote(struct json_object *rows, const struct cc_config *config)
{
	struct cmn_buffer problem = { 0 };
	struct json_object *values, *row;
	struct tier tier;

	tier_look(config, &tier);
	values = add_row(rows, "remote", tier.address);
	tier_append_problem(&tier, &problem);
	if (problem.len)
		json_add_view(values, NULL, cmn_buffer_view(&problem));
	cmn_buffer_release(&problem);
	if (tier.state != TIER_NONE) {
		row = json_add_object(rows, NULL);
		json_add_text(row, "name", "entries to be uploaded");
		(void)report_value_number(row, "amount", tier.waiting);
	}
	tier_release(&tier);
}

void report_config_add(struct json_object *page, const struct cc_config *config)
{
	const struct cmn_log silent = { .level = CMN_LOG_NONE };	/* opening the cache has complained */
	struct json_object *rows = json_add_array(page, "settings");
	struct cc_config_value *values = NULL;

	/* Out of memory it has no settings to show. */
	(void)!cc_config_list(&silent, CC_CONFIG_SYSTEM_FILE, NULL, &values);
	for (const struct cc_config_value *value = values; value && value->name; value++) {
		if (strcmp(value->name, "remote") == 0)
			add_remote(rows, config);
		else
			(void)add_row(rows, value->name, value->text);
	}
	cc_config_list_free(values);
}
