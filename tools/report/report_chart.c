/* SPDX-License-Identifier: MIT */
/*
 * report_chart: what was looked up over time, as columns of rectangles without text in them:
 * labels stand beside them, where they keep their size on any screen, and all numbers in a table.
 */
#include <stdio.h>
#include <string.h>

#include "tools/report/report.h"

#define DAY_NS (UINT64_C(86400) * 1000000000)
#define MS_NS UINT64_C(1000000)
#define YEAR 365
/* Days of one column each; more are drawn by weeks. */
#define MAX_DAILY 92
#define MIN_DAYS 14
#define MAX_COLUMNS MAX_DAILY
#define SERIES 4
/* Units of a drawing, as page.html has them; the page stretches them. */
#define COLUMN 10
#define GAP 1.5
#define HEIGHT 100

/* Days of the usage in columns. */
struct timeline {
	uint64_t first_day, days_each;
	size_t count;
	uint64_t lookups[MAX_COLUMNS][SERIES];
	uint64_t times[MAX_COLUMNS][SERIES];
	uint64_t compiles[MAX_COLUMNS][SERIES];
	bool any;		/* something is drawn */
	uint64_t counted;	/* look-ups on these days */
};

/* Up to today; days of a clock that was wrong are left out. */
static void make_timeline(const struct report_data *data, struct timeline *ret)
{
	const struct cc_usage *usage = &data->stats->usage;
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
		ret->compiles[column][0] += counts->spent_ns;
		ret->compiles[column][1] += counts->unattended_ns;
		ret->any |= cc_usage_is_any(counts);
		ret->counted += counts->hits_disk + counts->hits_memory + counts->misses;
	}
}

/* Columns over time, each a stack of the series. */
struct chart {
	const char *title;	/* what is seen, for who does not see it */
	size_t series_count;
	const char *series[SERIES];	/* names, from the ground up */
	const uint64_t (*values)[SERIES];
	uint64_t least;		/* that the axis goes to: 4 or more */
	report_value_add *number;	/* on the axis and in the table */
};

/* Classes of report.css. */
static const char *const colours[SERIES] = { "one", "two", "three", "four" };

static const char *label_column(const struct timeline *line, size_t i, char *ret, size_t size)
{
	char date[REPORT_DATE_SIZE];

	(void)snprintf(ret, size, line->days_each > 1 ? "week of %s" : "%s",
		       report_value_date(line->first_day + i * line->days_each, date));
	return ret;
}

static uint64_t add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t height_of(const struct chart *chart, size_t column)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < chart->series_count; i++)
		sum = add(sum, chart->values[column][i]);
	return sum;
}

/* The end of the axis, at least 4: a number whose half is a round one too. */
static uint64_t round_up(uint64_t value)
{
	static const uint64_t factors[] = { 2, 3, 4, 6, 8, 10 };

	for (uint64_t power = 1; power <= UINT64_MAX / 100; power *= 10) {
		for (size_t i = 0; i < sizeof(factors) / sizeof(factors[0]); i++) {
			if (power * factors[i] >= value)
				return power * factors[i];
		}
	}
	return UINT64_MAX;
}

static void add_decimal(struct json_object *object, const char *name, double number)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%.2f", number);	/* it fits */
	json_add_text(object, name, text);
}

static void add_column(struct json_object *columns, const struct chart *chart, const char *label,
		       size_t column, uint64_t top)
{
	struct json_object *object = json_add_object(columns, NULL);
	struct json_object *values = json_add_array(object, "values");
	double base = HEIGHT;

	json_add_text(object, "label", label);
	for (size_t i = 0; i < chart->series_count; i++) {
		uint64_t number = chart->values[column][i];
		double height = HEIGHT * (double)number / (double)top;
		struct json_object *value = chart->number(values, NULL, number);

		json_add_text(value, "name", chart->series[i]);
		if (!number)
			continue;
		base -= height;
		json_add_text(value, "class", colours[i]);
		add_decimal(value, "x", (double)column * COLUMN + GAP);
		add_decimal(value, "y", base < 0 ? 0 : base);
		add_decimal(value, "height", height);
	}
}

static void add_chart(struct json_object *page, const char *name, const struct timeline *line,
		      const struct chart *chart)
{
	const size_t below[] = { 0, line->count / 2, line->count - 1 };
	struct json_object *object = json_add_object(page, name), *array;
	uint64_t most = chart->least, top;
	char label[REPORT_DATE_SIZE];

	for (size_t i = 0; i < line->count; i++)
		most = height_of(chart, i) > most ? height_of(chart, i) : most;
	top = round_up(most);
	json_add_text(object, "title", chart->title);
	json_add_number(object, "width", line->count * COLUMN);
	(void)chart->number(object, "top", top);
	(void)chart->number(object, "half", top / 2);
	json_add_bool(object, "legend", chart->series_count > 1);
	array = json_add_array(object, "series");
	for (size_t i = 0; i < chart->series_count; i++) {
		struct json_object *series = json_add_object(array, NULL);

		json_add_text(series, "name", chart->series[i]);
		json_add_text(series, "class", colours[i]);
	}
	array = json_add_array(object, "below");
	for (size_t i = 0; i < 3; i++) {
		if (i == 0 || below[i] > below[i - 1])
			json_add_text(array, NULL,
				      label_column(line, below[i], label, sizeof(label)));
	}
	/* Those in which something was; there may be hundreds of others. */
	array = json_add_array(object, "columns");
	for (size_t i = 0; i < line->count; i++) {
		if (height_of(chart, i))
			add_column(array, chart, label_column(line, i, label, sizeof(label)), i,
				   top);
	}
}

void report_chart_add_timeline(struct json_object *page, const struct report_data *data)
{
	struct timeline line;
	const struct chart lookups = {
		"Look-ups over time: hits on disk, hits in memory, misses, not cached", 4,
		{ "hits on disk", "hits in memory", "misses", "not cached" }, line.lookups, 4,
		report_value_number,
	};
	const struct chart times = {
		"Compile time saved over time", 1, { "saved" }, line.times, MS_NS,
		report_value_time,
	};
	const struct chart compiles = {
		"Compile time spent over time: while somebody waited, while nobody waited", 2,
		{ "while somebody waited", "while nobody waited" }, line.compiles, MS_NS,
		report_value_time,
	};
	struct json_object *object;

	make_timeline(data, &line);
	if (!line.any)
		return;
	object = json_add_object(page, "timeline");
	add_chart(object, "lookups", &line, &lookups);
	add_chart(object, "times", &line, &times);
	add_chart(object, "compiles", &line, &compiles);
	if (line.counted < report_data_lookups(data))
		(void)report_value_number(object, "drawn", line.counted);
}
