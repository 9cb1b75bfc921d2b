/* SPDX-License-Identifier: MIT */
/* report_html: the page from its top to its end, but for its parts in other files. */
#include "tools/report/report_html.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "tools/report/report_chart.h"
#include "tools/report/report_style.h"
#include "tools/report/report_text.h"
#include "tools/bundle/signature.h"

#define DAY_NS (UINT64_C(86400) * 1000000000)
#define MS_NS UINT64_C(1000000)
#define YEAR 365
/* Days of one column each; more are drawn by weeks. */
#define MAX_DAILY 92
#define MIN_DAYS 14
#define MAX_COLUMNS MAX_DAILY

/* ---- frame ---- */

/* What a policy names the style by: its SHA-256 in base64 (RFC 4648, 4). */
static void append_style_hash(struct cmn_buffer *html)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	struct signature_digest *digest = signature_digest_new();
	uint8_t bytes[SIGNATURE_DIGEST_SIZE + 1] = { 0 };	/* 33: eleven times three */

	if (!digest || signature_digest_update(digest, REPORT_STYLE, strlen(REPORT_STYLE)) != CMN_OK ||
	    signature_digest_get(digest, bytes) != CMN_OK)
		html->failed = true;
	for (size_t i = 0; i < sizeof(bytes); i += 3) {
		uint32_t group = (uint32_t)bytes[i] << 16 | (uint32_t)bytes[i + 1] << 8 | bytes[i + 2];

		for (int shift = 18; shift >= 0; shift -= 6)
			cmn_buffer_append_u8(html, (uint8_t)letters[group >> shift & 63]);
	}
	/* The last of the 33 is none. */
	if (!html->failed)
		html->data[html->len - 1] = '=';
	signature_digest_free(digest);
}

static void append_head(struct cmn_buffer *html, const char *dir, uint64_t now_ns)
{
	cmn_buffer_append_text(html, "<!DOCTYPE html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n"
			       "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
			       "'none'; style-src 'sha256-");
	append_style_hash(html);
	cmn_buffer_append_text(html, "'; base-uri 'none'; form-action 'none'\">\n"
			       "<meta name=referrer content=no-referrer>\n"
			       "<meta name=viewport content=\"width=device-width,initial-scale=1\">\n"
			       "<meta name=generator content=\"ckcache " CKCACHE_VERSION "\">\n"
			       "<title>ckcache report</title>\n<style>" REPORT_STYLE "</style>\n"
			       "</head>\n<body>\n<header>\n<h1>ckcache report</h1>\n"
			       "<p class=soft>The cache in <code>");
	report_name(html, dir, 300);
	cmn_buffer_append_text(html, "</code>, as it was at ");
	report_moment(html, now_ns);
	cmn_buffer_append_text(html, " UTC. Days are those of UTC.</p>\n</header>\n<main>\n");
}

static void append_foot(struct cmn_buffer *html)
{
	cmn_buffer_append_text(html, "</main>\n<footer><p class=soft>Made by ckcache "
			       CKCACHE_VERSION ". This page loads nothing and runs no script. It has "
			       "names of programs, kernels, devices and paths: look at it before you "
			       "hand it on.</p></footer>\n</body>\n</html>\n");
}

void report_html_section(struct cmn_buffer *html, const char *title)
{
	cmn_buffer_printf(html, "<h2>%s</h2>\n", title);
}

void report_html_table(struct cmn_buffer *html, const char *title, const char *const *columns)
{
	if (title)
		cmn_buffer_printf(html, "<h3>%s</h3>\n", title);
	cmn_buffer_printf(html, "<div class=scroll role=region aria-label=\"%s\" tabindex=0>"
			  "<table><thead><tr>", title ? title : columns[0]);
	for (size_t i = 0; columns[i]; i++)
		cmn_buffer_printf(html, "<th scope=col%s>%s</th>", i ? " class=n" : "", columns[i]);
	cmn_buffer_append_text(html, "</tr></thead><tbody>\n");
}

void report_html_table_end(struct cmn_buffer *html)
{
	cmn_buffer_append_text(html, "</tbody></table></div>\n");
}

static void append_note(struct cmn_buffer *html, const char *text)
{
	cmn_buffer_printf(html, "<p class=note>%s</p>\n", text);
}

/* ---- what stands first ---- */

static uint64_t get(const struct report_data *data, enum cc_counter counter)
{
	return cc_stats_get(data->stats, counter);
}

static uint64_t all_lookups(const struct report_data *data)
{
	return get(data, CC_HITS_MEMORY) + get(data, CC_HITS_DISK) + get(data, CC_MISSES);
}

static void append_notes(struct cmn_buffer *html, const struct report_data *data)
{
	if (!data->count)
		append_note(html, "Nothing is stored in this cache. <code>ckcache run -- "
			    "your-program</code> fills it; <code>ckcache doctor</code> says why "
			    "it does not.");
	if (!data->counted && !data->usage->day_count)
		append_note(html, "No program has counted anything in this cache yet.");
	if (data->damaged) {
		cmn_buffer_append_text(html, "<p class=note>Damaged entries: ");
		report_number(html, data->damaged);
		cmn_buffer_append_text(html, ". They are never used; <code>ckcache verify --repair"
				       "</code> removes them.</p>\n");
	}
	if (data->foreign) {
		cmn_buffer_append_text(html, "<p class=note>Entries of another version of the format: ");
		report_number(html, data->foreign);
		cmn_buffer_append_text(html, ". This version does not use them.</p>\n");
	}
	if (get(data, CC_ERRORS)) {
		cmn_buffer_append_text(html, "<p class=note>Errors counted: ");
		report_number(html, get(data, CC_ERRORS));
		cmn_buffer_append_text(html, " (damaged entries, binaries that the driver refused, "
				       "writes that failed). None of them reached a program.</p>\n");
	}
}

static void begin_tile(struct cmn_buffer *html, const char *id, const char *title)
{
	cmn_buffer_printf(html, "<div><dt>%s</dt><dd id=%s>", title, id);
}

static void append_lookup_tiles(struct cmn_buffer *html, const struct report_data *data)
{
	uint64_t hits = get(data, CC_HITS_MEMORY) + get(data, CC_HITS_DISK);

	begin_tile(html, "saved", "compile time saved");
	report_time(html, get(data, CC_COMPILE_NS_SAVED));
	cmn_buffer_append_text(html, "</dd><dd class=soft>spent: <span id=spent>");
	report_time(html, get(data, CC_COMPILE_NS_SPENT));
	cmn_buffer_append_text(html, "</span></dd></div>\n");
	begin_tile(html, "rate", "hits");
	report_share(html, hits, all_lookups(data));
	cmn_buffer_append_text(html, "</dd><dd class=soft><span id=hits-disk>");
	report_number(html, get(data, CC_HITS_DISK));
	cmn_buffer_append_text(html, "</span> on disk, <span id=hits-memory>");
	report_number(html, get(data, CC_HITS_MEMORY));
	cmn_buffer_append_text(html, "</span> in memory</dd></div>\n");
	begin_tile(html, "misses", "misses");
	report_number(html, get(data, CC_MISSES));
	cmn_buffer_append_text(html, "</dd><dd class=soft>stored: <span id=stores>");
	report_number(html, get(data, CC_STORES));
	cmn_buffer_append_text(html, "</span>, left for replay: <span id=deferred>");
	report_number(html, get(data, CC_DEFERRED));
	cmn_buffer_append_text(html, "</span></dd></div>\n");
}

static void append_disk_tiles(struct cmn_buffer *html, const struct report_data *data)
{
	begin_tile(html, "entries", "entries");
	report_number(html, data->sound);
	cmn_buffer_append_text(html, "</dd><dd class=soft>to be replayed: <span id=recipes>");
	report_number(html, data->recipes.recipes);
	cmn_buffer_append_text(html, "</span></dd></div>\n");
	begin_tile(html, "bytes", "on disk");
	report_bytes(html, data->bytes);
	cmn_buffer_append_text(html, "</dd><dd class=soft>");
	if (data->config->max_size) {
		report_share(html, data->bytes, data->config->max_size);
		cmn_buffer_append_text(html, " of ");
		report_bytes(html, data->config->max_size);
		report_chart_bar(html, "one", data->bytes, data->config->max_size);
	} else {
		cmn_buffer_append_text(html, "no bound");
	}
	cmn_buffer_append_text(html, "</dd></div>\n");
}

/* ---- over time ---- */

/* Days of the usage in columns. */
struct timeline {
	uint64_t first_day, days_each;
	size_t count;
	uint64_t lookups[MAX_COLUMNS][REPORT_CHART_SERIES];
	uint64_t times[MAX_COLUMNS][REPORT_CHART_SERIES];
	uint64_t counted;	/* look-ups on these days */
};

static const char *label_column(void *ctx, size_t i, char *ret, size_t size)
{
	const struct timeline *line = ctx;
	char date[REPORT_DATE_SIZE];

	(void)snprintf(ret, size, line->days_each > 1 ? "week of %s" : "%s",
		       report_date(line->first_day + i * line->days_each, date));
	return ret;
}

/* Up to today; days of a clock that was wrong are left out. */
static void make_timeline(const struct report_data *data, struct timeline *ret)
{
	const struct cc_usage *usage = data->usage;
	uint64_t today = data->now_ns / DAY_NS, first = today, days;

	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < usage->day_count; i++) {
		uint64_t day = usage->days[i].day;

		if (day + YEAR >= today && day < first)
			first = day;
	}
	days = today - first + 1;
	days = days < MIN_DAYS ? MIN_DAYS : days;
	ret->days_each = days > MAX_DAILY ? 7 : 1;
	ret->count = (days + ret->days_each - 1) / ret->days_each;
	/* The last column ends today. */
	ret->first_day = today + 1 - ret->count * ret->days_each;
	for (size_t i = 0; i < usage->day_count; i++) {
		const struct cc_usage_counts *counts = &usage->days[i].counts;
		uint64_t day = usage->days[i].day;
		size_t column;

		if (day < ret->first_day || day > today)
			continue;
		column = (day - ret->first_day) / ret->days_each;
		ret->lookups[column][0] += counts->hits_disk;
		ret->lookups[column][1] += counts->hits_memory;
		ret->lookups[column][2] += counts->misses;
		ret->lookups[column][3] += counts->bypasses;
		ret->times[column][0] += counts->saved_ns;
		ret->counted += counts->hits_disk + counts->hits_memory + counts->misses;
	}
}

static void append_timeline(struct cmn_buffer *html, const struct report_data *data)
{
	struct timeline line;
	struct report_columns lookups = {
		.title = "Look-ups over time: hits on disk, hits in memory, misses, not cached",
		.series_count = 4,
		.series = { "hits on disk", "hits in memory", "misses", "not cached" },
		.classes = { "one", "two", "three", "four" },
		.values = line.lookups, .least = 4, .label = label_column, .number = report_number, .ctx = &line,
	};
	struct report_columns times = {
		.title = "Compile time saved over time",
		.series_count = 1, .series = { "saved" }, .classes = { "one" },
		.values = line.times, .least = MS_NS, .label = label_column, .number = report_time, .ctx = &line,
	};

	make_timeline(data, &line);
	lookups.count = times.count = line.count;
	report_html_section(html, "Hits and misses over time");
	if (!line.counted) {
		cmn_buffer_append_text(html, "<p>Nothing was counted by days yet.</p>\n");
		return;
	}
	report_chart_columns(html, &lookups);
	if (line.counted < all_lookups(data)) {
		cmn_buffer_append_text(html, "<p class=soft>Of all look-ups ");
		report_number(html, line.counted);
		cmn_buffer_append_text(html, " are drawn: days are kept for a year, and by this version "
				       "or later ones.</p>\n");
	}
	cmn_buffer_append_text(html, "<h3>Compile time saved</h3>\n");
	report_chart_columns(html, &times);
}

/* ---- by program ---- */

static int by_saved(const void *a, const void *b)
{
	const struct cc_usage_program *one = a, *two = b;

	if (one->counts.saved_ns != two->counts.saved_ns)
		return one->counts.saved_ns < two->counts.saved_ns ? 1 : -1;
	return strcmp(one->name, two->name);
}

static void append_program(struct cmn_buffer *html, const struct cc_usage_program *program,
			   uint64_t most)
{
	char date[REPORT_DATE_SIZE];

	cmn_buffer_append_text(html, "<tr><th scope=row>");
	report_name(html, program->name, CC_USAGE_PROGRAM_SIZE);
	report_chart_bar(html, "one", program->counts.saved_ns, most);
	cmn_buffer_append_text(html, "</th><td class=n>");
	report_time(html, program->counts.saved_ns);
	cmn_buffer_append_text(html, "</td><td class=n>");
	report_time(html, program->counts.spent_ns);
	cmn_buffer_append_text(html, "</td><td class=n>");
	report_number(html, program->counts.hits_disk + program->counts.hits_memory);
	cmn_buffer_append_text(html, "</td><td class=n>");
	report_number(html, program->counts.misses);
	cmn_buffer_printf(html, "</td><td class=n>%s</td></tr>\n",
			  program->last_day ? report_date(program->last_day, date) : "");
}

static void append_programs(struct cmn_buffer *html, const struct report_data *data)
{
	static const char *const columns[] = { "program", "saved", "spent", "hits", "misses",
					       "last used", NULL };
	struct cc_usage_program others = { .name = "all others", .counts = data->usage->others };
	size_t count = data->usage->program_count;
	uint64_t most;

	report_html_section(html, "Time saved per program");
	if (!count) {
		cmn_buffer_append_text(html, "<p>Nothing was counted by programs yet.</p>\n");
		return;
	}
	qsort(data->usage->programs, count, sizeof(*data->usage->programs), by_saved);
	most = data->usage->programs[0].counts.saved_ns;
	cmn_buffer_append_text(html, "<p class=soft>By the name of the program's file: of a script "
			       "that is its interpreter's.</p>\n");
	report_html_table(html, NULL, columns);
	for (size_t i = 0; i < count; i++) {
		if (i < 2 * REPORT_TOP)
			append_program(html, &data->usage->programs[i], most);
		else
			cc_usage_add_counts(&others.counts, &data->usage->programs[i].counts);
	}
	if (others.counts.hits_disk || others.counts.hits_memory || others.counts.misses ||
	    others.counts.bypasses)
		append_program(html, &others, most);
	report_html_table_end(html);
}

void report_html_write(struct cmn_buffer *html, const struct report_data *data)
{
	append_head(html, data->config->dir, data->now_ns);
	append_notes(html, data);
	cmn_buffer_append_text(html, "<dl class=tiles>\n");
	append_lookup_tiles(html, data);
	append_disk_tiles(html, data);
	cmn_buffer_append_text(html, "</dl>\n");
	append_timeline(html, data);
	append_programs(html, data);
	if (data->count)
		report_html_disk(html, data);
	report_html_why(html, data);
	report_html_section(html, "Settings in force");
	report_html_settings(html, data->config);
	append_foot(html);
}

void report_html_write_problem(struct cmn_buffer *html, const char *dir, const char *problem)
{
	append_head(html, dir, cmn_clock_realtime());
	cmn_buffer_append_text(html, "<p class=note>This directory is not used as a cache: ");
	report_name(html, problem, 300);
	cmn_buffer_append_text(html, ".</p>\n");
	append_foot(html);
}
