/* SPDX-License-Identifier: MIT */
/* report_page: what the template is filled with, but for its parts in other files. */
#include "tools/report/report_page.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "tools/template.h"
#include "tools/text.h"

extern const char report_html[], report_css[];

/* What each page has. */
static struct json_object *begin(const char *dir, uint64_t now_ns)
{
	struct json_object *root = json_new_object();

	json_add_text(root, "style", report_css);
	json_add_text(root, "version", CKCACHE_VERSION);
	json_add_text(root, "dir", dir);
	(void)report_value_moment(root, "now", now_ns);
	return root;
}

static void end(struct json_object *root, struct cmn_buffer *html)
{
	template_render(html, report_html, root, report_escape);
	(void)json_object_put(root);
}

static uint64_t get(const struct report_data *data, enum cc_counter counter)
{
	return data->stats->counters[counter];
}

/* A count that is of interest only if there is any. */
static void add_unless_0(struct json_object *page, const char *name, uint64_t count)
{
	if (count)
		(void)report_value_number(page, name, count);
}

static void add_notes(struct json_object *page, const struct report_data *data)
{
	json_add_bool(page, "empty", data->count == 0);
	json_add_bool(page, "uncounted", !data->counted && !data->stats->usage.day_count);
	add_unless_0(page, "damaged", data->damaged);
	add_unless_0(page, "foreign", data->foreign);
	add_unless_0(page, "errors", get(data, CC_ERRORS));
}

static void add_tiles(struct json_object *page, const struct report_data *data)
{
	static const struct {
		const char *name;
		enum cc_counter counter;
	} counts[] = {
		{ "hits_disk", CC_HITS_DISK }, { "hits_memory", CC_HITS_MEMORY },
		{ "misses", CC_MISSES }, { "stores", CC_STORES }, { "deferred", CC_DEFERRED },
	};
	uint64_t hits = get(data, CC_HITS_MEMORY) + get(data, CC_HITS_DISK) +
			get(data, CC_HITS_REMOTE);
	uint64_t bound = data->config->max_size;
	struct json_object *max_size;
	char share[TEXT_SIZE];

	(void)report_value_time(page, "saved", get(data, CC_COMPILE_NS_SAVED));
	(void)report_value_time(page, "spent", get(data, CC_COMPILE_NS_SPENT));
	(void)report_value_number(page, "unattended", get(data, CC_UNATTENDED));
	(void)report_value_time(page, "unattended_time", get(data, CC_UNATTENDED_NS));
	json_add_text(page, "rate", text_share(hits, report_data_lookups(data), share));
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		(void)report_value_number(page, counts[i].name, get(data, counts[i].counter));
	add_unless_0(page, "hits_remote", get(data, CC_HITS_REMOTE));
	(void)report_value_number(page, "entries", data->sound);
	(void)report_value_number(page, "recipes", data->recipes.recipes);
	(void)report_value_bytes(page, "bytes", data->bytes);
	if (!bound)
		return;
	max_size = report_value_bytes(page, "max_size", bound);
	json_add_text(max_size, "share", text_share(data->bytes, bound, share));
	report_value_bar(max_size, "one", data->bytes, bound);
}

/* What is read first: a sentence. What may be missing has a name of its own: the page's would be taken. */
static void add_week(struct json_object *page, const struct report_data *data)
{
	const struct cc_usage_counts counts = report_data_recent(data, REPORT_WEEK);
	struct json_object *week;

	json_add_bool(page, "dated", data->stats->usage.day_count > 0);
	if (!cc_usage_is_any(&counts))
		return;
	week = json_add_object(page, "week");
	(void)report_value_time(week, "saved", counts.saved_ns);
	(void)report_value_number(week, "hits", counts.hits_memory + counts.hits_disk);
	(void)report_value_number(week, "misses", counts.misses);
	if (counts.misses)
		(void)report_value_time(week, "waited", counts.spent_ns);
	add_unless_0(week, "later", counts.unattended);
	add_unless_0(week, "left_out", counts.bypasses);
}

static int by_saved(const void *a, const void *b)
{
	const struct cc_usage_program *one = a, *two = b;

	if (one->counts.saved_ns != two->counts.saved_ns)
		return one->counts.saved_ns < two->counts.saved_ns ? 1 : -1;
	return strcmp(one->name, two->name);
}

static void add_program(struct json_object *rows, const struct cc_usage_program *program,
			uint64_t most)
{
	struct json_object *row = json_add_object(rows, NULL);
	char date[REPORT_DATE_SIZE];

	json_add_text(row, "name", *program->name ? program->name : "-");
	report_value_bar(row, "one", program->counts.saved_ns, most);
	(void)report_value_time(row, "saved", program->counts.saved_ns);
	(void)report_value_time(row, "spent", program->counts.spent_ns);
	(void)report_value_number(row, "hits",
				  program->counts.hits_disk + program->counts.hits_memory);
	(void)report_value_number(row, "misses", program->counts.misses);
	(void)report_value_number(row, "unattended", program->counts.unattended);
	(void)report_value_time(row, "unattended_time", program->counts.unattended_ns);
	json_add_text(row, "last",
		      program->last_day ? report_value_date(program->last_day, date) : "");
}

static void add_programs(struct json_object *page, const struct report_data *data)
{
	struct cc_usage_program others = { .name = "all others", .counts = data->stats->usage.others };
	size_t count = data->stats->usage.program_count;
	struct json_object *rows;
	uint64_t most;

	if (!count)
		return;
	qsort(data->stats->usage.programs, count, sizeof(*data->stats->usage.programs), by_saved);
	most = data->stats->usage.programs[0].counts.saved_ns;
	rows = json_add_array(json_add_object(page, "programs"), "rows");
	for (size_t i = 0; i < count; i++) {
		if (i < (size_t)2 * REPORT_TOP)
			add_program(rows, &data->stats->usage.programs[i], most);
		else
			cc_usage_add_counts(&others.counts, &data->stats->usage.programs[i].counts);
	}
	if (cc_usage_is_any(&others.counts))
		add_program(rows, &others, most);
}

void report_page_write(struct cmn_buffer *html, const struct report_data *data)
{
	struct json_object *root = begin(data->config->dir, data->now_ns);
	struct json_object *page = json_add_object(root, "cache");

	add_notes(page, data);
	add_week(page, data);
	add_tiles(page, data);
	report_chart_add_timeline(page, data);
	add_programs(page, data);
	if (data->count)
		report_disk_add(page, data);
	report_why_add(page, data);
	report_config_add(page, data->config);
	end(root, html);
}

void report_page_write_problem(struct cmn_buffer *html, const char *dir, const char *problem)
{
	struct json_object *root = begin(dir, cmn_clock_realtime());

	json_add_text(root, "problem", problem);
	end(root, html);
}
