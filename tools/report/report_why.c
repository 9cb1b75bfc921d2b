/* SPDX-License-Identifier: MIT */
/* report_why: what was not cached, what the history has, what was evicted. */
#include "tools/report/report_html.h"

#include <stdlib.h>
#include <string.h>

#include "tools/explain/reasons.h"
#include "tools/report/report_chart.h"
#include "tools/report/report_text.h"

static void append_reason(struct cmn_buffer *html, const char *what, const char *sentence,
			  const char *word, uint64_t count, uint64_t most)
{
	cmn_buffer_append_text(html, "<tr><th scope=row>");
	cmn_buffer_append_text(html, what);
	if (*what && word && *word)
		cmn_buffer_append_text(html, ": ");
	if (sentence)
		report_name(html, sentence, 200);
	if (word && *word) {
		cmn_buffer_append_text(html, sentence ? " <code>" : "<code>");
		report_name(html, word, 60);
		cmn_buffer_append_text(html, "</code>");
	}
	report_chart_bar(html, "three", count, most);
	cmn_buffer_append_text(html, "</th><td class=n>");
	report_number(html, count);
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

static void append_bypasses(struct cmn_buffer *html, const struct report_data *data)
{
	static const char *const columns[] = { "reason", "builds", NULL };
	struct bypass bypasses[MAX_BYPASSES];
	unsigned int count = 0;

	while (count < MAX_BYPASSES &&
	       (bypasses[count].word = cc_stats_bypass_at(data->stats, count, &bypasses[count].count)))
		count++;
	if (!count) {
		cmn_buffer_append_text(html, "<p>No build was counted that could not be cached.</p>\n");
		return;
	}
	qsort(bypasses, count, sizeof(*bypasses), by_count);
	report_html_table(html, "Not cached: why the build went to the driver alone", columns);
	for (unsigned int i = 0; i < count; i++) {
		append_reason(html, "", reason_of_bypass(bypasses[i].word), bypasses[i].word,
			      bypasses[i].count, bypasses[0].count);
		cmn_buffer_append_text(html, "</td></tr>\n");
	}
	report_html_table_end(html);
}

static void append_past(struct cmn_buffer *html, const struct report_data *data)
{
	static const char *const columns[] = { "what happened", "times", "last", NULL };

	if (!data->event_count)
		return;
	cmn_buffer_append_text(html, "<h3>Lately</h3>\n<p class=soft>What the history still has, since ");
	report_moment(html, data->history_ns);
	cmn_buffer_append_text(html, ". <code>ckcache explain</code> tells of each.</p>\n");
	report_html_table(html, NULL, columns);
	for (size_t i = 0; i < data->event_count && i < 2 * REPORT_TOP; i++) {
		const struct report_event *event = &data->events[i];
		const char *sentence = event->word ? reason_of_bypass(event->word) : NULL;

		if (event->word && !sentence)
			sentence = reason_of_loss(event->word);
		append_reason(html, event->what, sentence, event->word, event->count,
			      data->events[0].count);
		cmn_buffer_append_text(html, "</td><td class=n>");
		report_moment(html, event->last_ns);
		cmn_buffer_append_text(html, "</td></tr>\n");
	}
	report_html_table_end(html);
}

static void append_eviction(struct cmn_buffer *html, const struct report_data *data)
{
	report_html_section(html, "Eviction");
	if (data->config->eviction_disable) {
		cmn_buffer_append_text(html, "<p>It is switched off: the cache grows without a bound.</p>\n");
	} else {
		cmn_buffer_append_text(html, "<p>");
		if (data->config->max_size) {
			cmn_buffer_append_text(html, "At ");
			report_bytes(html, data->config->max_size);
			cmn_buffer_append_text(html, " entries go until half of it is left. ");
		}
		if (data->config->threshold_days) {
			cmn_buffer_append_text(html, "What was not used for ");
			report_number(html, data->config->threshold_days);
			cmn_buffer_append_text(html, " days goes.");
		}
		cmn_buffer_append_text(html, "</p>\n");
	}
	cmn_buffer_append_text(html, "<p>Last looked at: ");
	if (data->last_eviction_ns)
		report_moment(html, data->last_eviction_ns);
	else
		cmn_buffer_append_text(html, "never");
	cmn_buffer_append_text(html, ". Evicted, as far as the history goes: ");
	report_number(html, data->evicted_by_size);
	cmn_buffer_append_text(html, " by size, ");
	report_number(html, data->evicted_by_age);
	cmn_buffer_append_text(html, " by age.</p>\n");
}

void report_html_why(struct cmn_buffer *html, const struct report_data *data)
{
	report_html_section(html, "Misses, and what is not cached");
	append_bypasses(html, data);
	append_past(html, data);
	append_eviction(html, data);
}
