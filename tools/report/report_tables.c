/* SPDX-License-Identifier: MIT */
/*
 * report_tables: what fills the disk, and which entries are the largest and the slowest; what was not
 * cached, what the history has, what was evicted; the settings in force, as a settings file has them.
 */
#include "tools/report/report_page.h"

#include <stdlib.h>
#include <string.h>

#include "tools/explain/reasons.h"
#include "tools/remote/tier.h"
#include "tools/text.h"

static void add_group(struct json_object *rows, const char *name, const struct report_group *group,
		      const char *colour, uint64_t most)
{
	struct json_object *row = json_add_object(rows, NULL);

	json_add_text(row, "name", name ? name : "(not known)");
	report_value_bar(row, colour, group->bytes, most);
	(void)report_value_bytes(row, "bytes", group->bytes);
	(void)report_value_number(row, "entries", group->entries);
	(void)report_value_time(row, "compile", group->build_ns);
}

/* The array of a table's rows. */
static struct json_object *add_table(struct json_object *page, const char *name, const char *title,
				     const char *first)
{
	struct json_object *table = json_add_object(page, name);

	json_add_text(table, "title", title);
	json_add_text(table, "first", first);
	return json_add_array(table, "rows");
}

/* The largest ones, and the sum of the others. */
static void add_groups(struct json_object *rows, const struct report_sums *sums)
{
	const struct report_group *others = &sums->groups.others;
	uint64_t most = sums->count ? sums->largest[0].bytes : 0;

	for (size_t i = 0; i < sums->count; i++)
		add_group(rows, sums->largest[i].name, &sums->largest[i], "one", most);
	if (others->entries)
		add_group(rows, "all others", others, "four", others->bytes > most ? others->bytes : most);
}

static void add_ages(struct json_object *rows, const struct report_data *data)
{
	uint64_t most = 0;

	for (size_t i = 0; i < REPORT_AGES; i++)
		most = data->ages[i].bytes > most ? data->ages[i].bytes : most;
	for (size_t i = 0; i < REPORT_AGES; i++)
		add_group(rows, report_data_age(i), &data->ages[i], "two", most);
}

static void add_entries(struct json_object *page, const char *name,
			const struct report_top *top, bool by_size)
{
	struct json_object *rows = json_add_array(page, name);

	for (size_t i = 0; i < top->count; i++) {
		const struct report_entry *entry = &top->entries[i];
		struct json_object *row = json_add_object(rows, NULL);
		struct cmn_buffer path = { 0 };

		json_add_text(row, "program", entry->program ? entry->program : "(not known)");
		json_add_text(row, "device", entry->device ? entry->device : "-");
		json_add_text(row, "options", entry->options);
		text_append_short_path(&path, entry->path ? entry->path : "");
		json_add_view(row, "path", cmn_buffer_view(&path));
		cmn_buffer_release(&path);
		if (by_size)
			report_value_bar(row, "one", entry->bytes, top->entries[0].bytes);
		else
			report_value_bar(row, "three", entry->build_ns, top->entries[0].build_ns);
		(void)report_value_bytes(row, "bytes", entry->bytes);
		(void)report_value_time(row, "compile", entry->build_ns);
	}
}

void report_disk_add(struct json_object *page, const struct report_data *data)
{
	json_add_bool(page, "disk", true);
	add_groups(add_table(page, "devices", "By device and driver", "device"), &data->devices);
	add_groups(add_table(page, "kernels", "By kernels",
			     "first kernels, or first line, of the source"),
		   &data->programs);
	add_ages(add_table(page, "ages", "By the time since the last use", "last used"), data);
	add_entries(page, "largest", &data->largest, true);
	add_entries(page, "slowest", &data->slowest, false);
}

/* One row of a table; the object. */
static struct json_object *add_reason(struct json_object *rows, const char *what,
				      const char *sentence,
				      const char *word, uint64_t count, uint64_t most)
{
	struct json_object *row = json_add_object(rows, NULL);

	json_add_text(row, "what", what);
	json_add_bool(row, "both", *what && word && *word);
	json_add_text(row, "sentence", sentence);
	json_add_text(row, "word", word);
	report_value_bar(row, "three", count, most);
	(void)report_value_number(row, "count", count);
	return row;
}

/* One reason of a bypass; the statistics keep 64 of them and "other". */
#define MAX_BYPASSES 65
struct bypass {
	const char *word;
	uint64_t count;
};

static int by_count(const void *a, const void *b)
{
	const struct bypass *one = a, *two = b;

	if (one->count != two->count)
		return one->count < two->count ? 1 : -1;
	return strcmp(one->word, two->word);
}

static void add_bypasses(struct json_object *page, const struct report_data *data)
{
	struct bypass bypasses[MAX_BYPASSES];
	struct json_object *rows;
	unsigned int count = 0;

	for (; count < MAX_BYPASSES && count < data->stats->bypass_count; count++)
		bypasses[count] = (struct bypass){ data->stats->bypasses[count].reason,
						   data->stats->bypasses[count].count };
	if (!count)
		return;
	qsort(bypasses, count, sizeof(*bypasses), by_count);
	rows = json_add_array(json_add_object(page, "bypasses"), "rows");
	for (unsigned int i = 0; i < count; i++)
		(void)add_reason(rows, "", reason_of_bypass(bypasses[i].word), bypasses[i].word,
				 bypasses[i].count, bypasses[0].count);
}

static void add_history(struct json_object *page, const struct report_data *data)
{
	struct json_object *history, *rows, *row;

	if (!data->event_count)
		return;
	history = json_add_object(page, "history");
	(void)report_value_moment(history, "since", data->history_ns);
	rows = json_add_array(history, "rows");
	for (size_t i = 0; i < data->event_count && i < (size_t)2 * REPORT_TOP; i++) {
		const struct report_event *event = &data->events[i];
		const char *sentence = event->word ? reason_of_bypass(event->word) : NULL;

		if (event->word && !sentence)
			sentence = reason_of_loss(event->word);
		row = add_reason(rows, event->what ? event->what : "", sentence, event->word,
				 event->count, data->events[0].count);
		(void)report_value_moment(row, "last", event->last_ns);
	}
}

void report_why_add(struct json_object *page, const struct report_data *data)
{
	struct json_object *eviction = json_add_object(page, "eviction");

	add_bypasses(page, data);
	add_history(page, data);
	json_add_bool(eviction, "disabled", data->config->eviction_disable);
	if (data->config->threshold_days)
		(void)report_value_number(eviction, "threshold", data->config->threshold_days);
	if (data->last_eviction_ns)
		(void)report_value_moment(eviction, "last", data->last_eviction_ns);
	(void)report_value_number(eviction, "by_size", data->evicted_by_size);
	(void)report_value_number(eviction, "by_age", data->evicted_by_age);
}

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
	struct json_object *rows = json_add_array(page, "settings");
	struct cc_config_value *values = NULL;

	/* Out of memory it has no settings to show. */
	(void)!cc_config_list(&tool_silent, CC_CONFIG_SYSTEM_FILE, NULL, &values);
	for (const struct cc_config_value *value = values; value && value->name; value++) {
		if (strcmp(value->name, "remote") == 0)
			add_remote(rows, config);
		else
			(void)add_row(rows, value->name, value->text);
	}
	cc_config_list_free(values);
}
