/* SPDX-License-Identifier: MIT */
/* report_disk: what fills the disk, and which entries are the largest and the slowest. */
#include "tools/report/report_html.h"

#include <string.h>

#include "tools/report/report_chart.h"
#include "tools/report/report_text.h"

#define MAX_NAME 80

static void append_group(struct cmn_buffer *html, const struct report_group *group,
			 const char *colour, uint64_t most)
{
	cmn_buffer_append_text(html, "<tr><th scope=row>");
	report_name(html, group->name ? group->name : "(not known)", MAX_NAME);
	report_chart_bar(html, colour, group->bytes, most);
	cmn_buffer_append_text(html, "</th><td class=n>");
	report_bytes(html, group->bytes);
	cmn_buffer_append_text(html, "</td><td class=n>");
	report_number(html, group->entries);
	cmn_buffer_append_text(html, "</td><td class=n>");
	report_time(html, group->build_ns);
	cmn_buffer_append_text(html, "</td></tr>\n");
}

/* The largest ones, and the sum of the others. */
static void append_groups(struct cmn_buffer *html, const char *title, const char *first,
			  const struct report_group *groups, size_t count, const char *colour)
{
	const char *const columns[] = { first, "size", "entries", "compile time", NULL };
	struct report_group others = { .name = "all others" };

	report_html_table(html, title, columns);
	for (size_t i = 0; i < count; i++) {
		if (i < REPORT_TOP) {
			append_group(html, &groups[i], colour, groups[0].bytes);
			continue;
		}
		others.bytes += groups[i].bytes;
		others.entries += groups[i].entries;
		others.build_ns += groups[i].build_ns;
	}
	if (others.entries)
		append_group(html, &others, "four", others.bytes > groups[0].bytes ? others.bytes :
								      groups[0].bytes);
	report_html_table_end(html);
}

static void append_ages(struct cmn_buffer *html, const struct report_data *data)
{
	static const char *const columns[] = { "last used", "size", "entries", "compile time", NULL };
	uint64_t most = 0;

	report_html_table(html, "By the time since the last use", columns);
	for (size_t i = 0; i < REPORT_AGES; i++)
		most = data->ages[i].bytes > most ? data->ages[i].bytes : most;
	for (size_t i = 0; i < REPORT_AGES; i++)
		append_group(html, &data->ages[i], "two", most);
	report_html_table_end(html);
}

/* As ckcache list shows it, and ckcache show takes it. */
static void append_short_path(struct cmn_buffer *html, const char *path)
{
	const char *part = path;

	while (part && *part) {
		size_t len = strcspn(part, "/.");

		report_escape(html, (struct cmn_view){ part, len < 8 ? len : 8 }, 8);
		if (part[len] != '/')
			return;
		cmn_buffer_append_u8(html, '/');
		part += len + 1;
	}
}

static void append_entry(struct cmn_buffer *html, const struct report_entry *entry, bool by_size,
			 uint64_t most)
{
	cmn_buffer_append_text(html, "<tr><th scope=row>");
	report_name(html, entry->program ? entry->program : "(not known)", MAX_NAME);
	report_chart_bar(html, by_size ? "one" : "three", by_size ? entry->bytes : entry->build_ns,
			 most);
	cmn_buffer_append_text(html, "<span class=soft>");
	report_name(html, entry->device, MAX_NAME);
	if (entry->options && *entry->options) {
		cmn_buffer_append_text(html, " · <code>");
		report_name(html, entry->options, MAX_NAME);
		cmn_buffer_append_text(html, "</code>");
	}
	cmn_buffer_append_text(html, " · <code>");
	append_short_path(html, entry->path);
	cmn_buffer_append_text(html, "</code></span></th><td class=n>");
	(by_size ? report_bytes : report_time)(html, by_size ? entry->bytes : entry->build_ns);
	cmn_buffer_append_text(html, "</td><td class=n>");
	(by_size ? report_time : report_bytes)(html, by_size ? entry->build_ns : entry->bytes);
	cmn_buffer_append_text(html, "</td></tr>\n");
}

static void append_entries(struct cmn_buffer *html, struct report_entry *const *entries,
			   bool by_size)
{
	static const char *const sizes[] = { "entry", "size", "compile time", NULL };
	static const char *const times[] = { "entry", "compile time", "size", NULL };
	uint64_t most = entries[0] ? by_size ? entries[0]->bytes : entries[0]->build_ns : 0;

	report_html_table(html, by_size ? "The largest entries" : NULL, by_size ? sizes : times);
	for (size_t i = 0; i < REPORT_TOP && entries[i]; i++)
		append_entry(html, entries[i], by_size, most);
	report_html_table_end(html);
}

void report_html_disk(struct cmn_buffer *html, const struct report_data *data)
{
	report_html_section(html, "What fills the disk");
	cmn_buffer_append_text(html, "<p class=soft>Entries are not read to their end for this page; "
			       "<code>ckcache verify</code> does that. Compile time is what an entry "
			       "took when it was made.</p>\n");
	append_groups(html, "By device and driver", "device", data->devices, data->device_count,
		      "one");
	append_groups(html, "By kernels", "first kernels, or first line, of the source",
		      data->programs, data->program_count, "one");
	append_entries(html, data->largest, true);
	append_ages(html, data);
	report_html_section(html, "The slowest compiles");
	append_entries(html, data->slowest, false);
}
