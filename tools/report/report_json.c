/* SPDX-License-Identifier: MIT */
/* report_json: the same data as the page's, without its texts and drawings. */
#include "tools/report/report.h"

static void add_counts(struct json_object *object, const struct cc_usage_counts *counts)
{
	json_add_number(object, "hits_memory", counts->hits_memory);
	json_add_number(object, "hits_disk", counts->hits_disk);
	json_add_number(object, "misses", counts->misses);
	json_add_number(object, "not_cached", counts->bypasses);
	json_add_ms(object, "saved_ms", counts->saved_ns);
	json_add_ms(object, "spent_ms", counts->spent_ns);
	json_add_number(object, "unattended", counts->unattended);
	json_add_ms(object, "unattended_ms", counts->unattended_ns);
}

static void add_usage(struct json_object *root, const struct report_data *data)
{
	const struct cc_usage_counts week = report_data_recent(data, REPORT_WEEK);
	struct json_object *days, *programs, *one;
	char date[REPORT_DATE_SIZE];

	add_counts(json_add_object(root, "week"), &week);
	days = json_add_array(root, "days");
	for (size_t i = 0; i < data->stats->usage.day_count; i++) {
		one = json_add_object(days, NULL);
		json_add_text(one, "day", report_value_date(data->stats->usage.days[i].day, date));
		add_counts(one, &data->stats->usage.days[i].counts);
	}
	programs = json_add_array(root, "programs");
	for (size_t i = 0; i < data->stats->usage.program_count; i++) {
		const struct cc_usage_program *program = &data->stats->usage.programs[i];

		one = json_add_object(programs, NULL);
		json_add_text(one, "program", program->name);
		json_add_text(one, "last_day", program->last_day ? report_value_date(program->last_day, date)
								 : NULL);
		add_counts(one, &program->counts);
	}
}

static void add_group(struct json_object *array, const char *name, const struct report_group *group)
{
	struct json_object *object = json_add_object(array, NULL);

	json_add_text(object, "name", name);
	json_add_number(object, "entries", group->entries);
	json_add_number(object, "bytes", group->bytes);
	json_add_ms(object, "compile_ms", group->build_ns);
}

static void add_sums(struct json_object *root, const char *name, const struct report_sums *sums)
{
	struct json_object *array = json_add_array(root, name);

	for (size_t i = 0; i < sums->count; i++)
		add_group(array, sums->largest[i].name, &sums->largest[i]);
}

static void add_top(struct json_object *root, const char *name, const struct report_top *top)
{
	struct json_object *array = json_add_array(root, name);

	for (size_t i = 0; i < top->count; i++) {
		const struct report_entry *entry = &top->entries[i];
		struct json_object *object = json_add_object(array, NULL);

		json_add_text(object, "entry", entry->path);
		json_add_text(object, "kernels", entry->program);
		json_add_text(object, "device", entry->device);
		json_add_text(object, "options", entry->options);
		json_add_number(object, "bytes", entry->bytes);
		json_add_ms(object, "compile_ms", entry->build_ns);
	}
}

static void add_disk(struct json_object *root, const struct report_data *data)
{
	struct json_object *ages;

	json_add_number(root, "entries", data->sound);
	json_add_number(root, "damaged_entries", data->damaged);
	json_add_number(root, "foreign_entries", data->foreign);
	json_add_number(root, "bytes", data->bytes);
	json_add_number(root, "max_bytes", data->config->max_size);
	json_add_ms(root, "compile_ms", data->build_ns);
	add_sums(root, "devices", &data->devices);
	add_sums(root, "kernels", &data->programs);
	ages = json_add_array(root, "ages");
	for (size_t i = 0; i < REPORT_AGES; i++)
		add_group(ages, report_data_age(i), &data->ages[i]);
	add_top(root, "largest", &data->largest);
	add_top(root, "slowest", &data->slowest);
}

void report_json_add_totals(struct json_object *object, const struct cc_totals *stats)
{
	static const enum cc_counter counts[] = { CC_HITS_MEMORY, CC_HITS_DISK, CC_HITS_REMOTE, CC_MISSES,
						  CC_DEFERRED, CC_FAILED, CC_STORES, CC_ERRORS };
	struct json_object *bypasses;

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		json_add_number(object, cc_counter_name(counts[i]), stats->counters[counts[i]]);
	bypasses = json_add_object(object, "bypasses");
	for (size_t i = 0; i < stats->bypass_count; i++)
		json_add_number(bypasses, stats->bypasses[i].reason, stats->bypasses[i].count);
	json_add_ms(object, "compile_ms_spent", stats->counters[CC_COMPILE_NS_SPENT]);
	json_add_ms(object, "compile_ms_saved", stats->counters[CC_COMPILE_NS_SAVED]);
	json_add_number(object, "compiled_unattended", stats->counters[CC_UNATTENDED]);
	json_add_ms(object, "compile_ms_unattended", stats->counters[CC_UNATTENDED_NS]);
}

static void add_events(struct json_object *root, const struct report_data *data)
{
	struct json_object *events = json_add_array(root, "events");

	for (size_t i = 0; i < data->event_count; i++) {
		const struct report_event *event = &data->events[i];
		struct json_object *object = json_add_object(events, NULL);

		json_add_text(object, "what", event->what);
		json_add_text(object, "reason", event->word);
		json_add_number(object, "count", event->count);
		json_add_number(object, "last_ns", event->last_ns);
	}
	json_add_number(root, "history_ns", data->history_ns);
	json_add_number(root, "last_eviction_ns", data->last_eviction_ns);
	json_add_number(root, "evicted_by_size", data->evicted_by_size);
	json_add_number(root, "evicted_by_age", data->evicted_by_age);
}

struct json_object *report_json_new(const struct report_data *data)
{
	struct json_object *root = json_new_object();

	json_add_text(root, "directory", data->config->dir);
	json_add_number(root, "time_ns", data->now_ns);
	report_json_add_totals(root, data->stats);
	json_add_number(root, "recipes", data->recipes.recipes);
	add_usage(root, data);
	add_disk(root, data);
	add_events(root, data);
	return root;
}
