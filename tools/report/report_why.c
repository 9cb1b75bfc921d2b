/* SPDX-License-Identifier: MIT */
/* report_why: what was not cached, what the history has, what was evicted. */
#include <stdlib.h>
#include <string.h>

#include "tools/explain/reasons.h"
#include "tools/report/report_page.h"
#include "tools/report/report_value.h"

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
