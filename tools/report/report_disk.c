/* SPDX-License-Identifier: MIT */
/* report_disk: what fills the disk, and which entries are the largest and the slowest. */
#include <string.h>

#include "tools/report/report_page.h"
#include "tools/report/report_value.h"
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
