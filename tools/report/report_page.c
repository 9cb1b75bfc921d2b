/* SPDX-License-Identifier: MIT */
/*
 * report_page: what the template is filled with, but for the charts: tiles and programs; what fills the disk,
 * and which entries are the largest and the slowest; what was not cached, what the history has, what was
 * evicted; the settings in force, as a settings file has them. Numbers and times, each a text, and what it was
 * made of; escaped text.
 */
#include "tools/report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cachecore/disk/root.h"
#include "common/clock.h"
#include "common/file.h"
#include "common/printable.h"
#include "tools/arguments.h"
#include "tools/explain/run_history.h"
#include "tools/json_output.h"
#include "tools/memory.h"
#include "tools/remote/remote.h"
#include "tools/text.h"
#include "tools/tool.h"

#define SECOND_NS UINT64_C(1000000000)
#define DAY_SECONDS 86400

static struct json_object *add(struct json_object *object, const char *name, uint64_t value,
			       const char *text)
{
	struct json_object *added = json_add_object(object, name);

	json_add_number(added, "value", value);
	json_add_text(added, "text", text);
	return added;
}

struct json_object *report_value_number(struct json_object *object, const char *name,
					uint64_t value)
{
	static const char gap[] = "\xe2\x80\xaf";	/* narrow, and no line ends there */
	char digits[TEXT_SIZE], text[4 * TEXT_SIZE];
	size_t count = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, value), used = 0;

	for (size_t i = 0; i < count; i++) {
		if (i && (count - i) % 3 == 0) {
			memcpy(text + used, gap, sizeof(gap) - 1);
			used += sizeof(gap) - 1;
		}
		text[used++] = digits[i];
	}
	text[used] = '\0';
	return add(object, name, value, text);
}

struct json_object *report_value_bytes(struct json_object *object, const char *name, uint64_t value)
{
	char text[TEXT_SIZE];

	return add(object, name, value, text_bytes(value, text));
}

struct json_object *report_value_time(struct json_object *object, const char *name, uint64_t value)
{
	char text[TEXT_SIZE];

	return add(object, name, value, value ? text_time(value, text) : "0");
}

void report_value_bar(struct json_object *object, const char *colour, uint64_t part, uint64_t whole)
{
	struct json_object *bar = json_add_object(object, "bar");
	double width = part < whole ? 100 * (double)part / (double)whole : whole ? 100 : 0;
	char text[TEXT_SIZE];

	(void)snprintf(text, sizeof(text), "%.2f", width);	/* it fits */
	json_add_text(bar, "class", colour);
	json_add_text(bar, "width", text);
}

/* UTC; false: it is no time that a calendar has. */
static bool break_down(uint64_t seconds, struct tm *ret)
{
	const uint64_t last = UINT64_C(253402300799);	/* of the year 9999 */
	time_t time = (time_t)seconds;

	return seconds <= last && gmtime_r(&time, ret);
}

const char *report_value_date(uint64_t day, char ret[REPORT_DATE_SIZE])
{
	struct tm tm;

	if (day > UINT64_MAX / DAY_SECONDS || !break_down(day * DAY_SECONDS, &tm) ||
	    !strftime(ret, REPORT_DATE_SIZE, "%Y-%m-%d", &tm))
		(void)snprintf(ret, REPORT_DATE_SIZE, "?");
	return ret;
}

struct json_object *report_value_moment(struct json_object *object, const char *name,
					uint64_t value)
{
	struct json_object *added = json_add_object(object, name);
	char machine[REPORT_DATE_SIZE], text[REPORT_DATE_SIZE];
	struct tm tm;

	if (break_down(value / SECOND_NS, &tm) &&
	    strftime(machine, sizeof(machine), "%Y-%m-%dT%H:%MZ", &tm) &&
	    strftime(text, sizeof(text), "%Y-%m-%d %H:%M", &tm)) {
		json_add_text(added, "machine", machine);
		json_add_text(added, "text", text);
	}
	return added;
}

static void append_character(struct cmn_buffer *html, struct cmn_character next, const void *bytes)
{
	switch (next.number) {
	case '&':
	case '<':
	case '>':
	case '"':
	case '\'':
		cmn_buffer_printf(html, "&#%u;", (unsigned int)next.number);
		break;
	case '\t':
	case '\n':
	case '\r':
		cmn_buffer_append_u8(html, ' ');
		break;
	default:
		if (next.shown)
			cmn_buffer_append(html, bytes, next.len);
		else
			cmn_buffer_printf(html, "U+%04X", (unsigned int)next.number);
	}
}

/*
 * Text of anybody's making as it stands in the page, in an element or a quoted
 * attribute: whatever it is, it stays text in its element and on its line, and shows what it has.
 * Markup is escaped; controls, marks of direction, characters without a shape and what is no
 * character are written as U+0000. Of more than max characters the rest is "…".
 */
static void escape(struct cmn_buffer *html, struct cmn_view text, size_t max)
{
	struct cmn_character next;

	while ((next = cmn_printable_next(text)).len) {
		if (max-- == 0) {
			cmn_buffer_append_text(html, "…");
			return;
		}
		append_character(html, next, text.data);
		text = (struct cmn_view){ (const uint8_t *)text.data + next.len, text.len - next.len };
	}
}

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
	uint64_t most = sums->largest[0].bytes;

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

static void add_disk(struct json_object *page, const struct report_data *data)
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

static void add_why(struct json_object *page, const struct report_data *data)
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

static void add_config(struct json_object *page, const struct cc_config *config)
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
	template_render(html, report_html, root, escape);
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

/* Appends the page of what was gathered; html->failed: out of memory. */
static void fill_page(struct cmn_buffer *html, const struct report_data *data)
{
	struct json_object *root = begin(data->config->dir, data->now_ns);
	struct json_object *page = json_add_object(root, "cache");

	add_notes(page, data);
	add_week(page, data);
	add_tiles(page, data);
	report_chart_add_timeline(page, data);
	add_programs(page, data);
	if (data->count)
		add_disk(page, data);
	add_why(page, data);
	add_config(page, data->config);
	end(root, html);
}

/* One that only says why there is nothing to tell of a directory. */
static void write_problem(struct cmn_buffer *html, const char *dir, const char *problem)
{
	struct json_object *root = begin(dir, cmn_clock_realtime());

	json_add_text(root, "problem", problem);
	end(root, html);
}

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
		write_problem(html, config.dir, reason);
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
		fill_page(text, &data);
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
