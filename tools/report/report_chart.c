/* SPDX-License-Identifier: MIT */
/* report_chart: rectangles, stretched to the room there is. */
#include "tools/report/report_chart.h"

#include <stdbool.h>

#include "tools/report/report_text.h"

/* Units of a drawing; the page stretches them. */
#define COLUMN 10
#define GAP 1.5
#define HEIGHT 100

static uint64_t add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t height_of(const struct report_columns *chart, size_t column)
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

static void append_legend(struct cmn_buffer *html, const struct report_columns *chart)
{
	if (chart->series_count < 2)
		return;
	cmn_buffer_append_text(html, "<ul class=legend>");
	for (size_t i = 0; i < chart->series_count; i++)
		cmn_buffer_printf(html, "<li><svg class=key viewBox=\"0 0 1 1\" aria-hidden=true>"
				  "<rect class=%s width=1 height=1 /></svg>%s</li>",
				  chart->classes[i], chart->series[i]);
	cmn_buffer_append_text(html, "</ul>\n");
}

static void append_column(struct cmn_buffer *html, const struct report_columns *chart,
			  size_t column, uint64_t top)
{
	double base = HEIGHT;
	char label[REPORT_DATE_SIZE];

	if (!height_of(chart, column))
		return;
	cmn_buffer_printf(html, "<g><title>%s", chart->label(chart->ctx, column, label, sizeof(label)));
	for (size_t i = 0; i < chart->series_count; i++) {
		cmn_buffer_printf(html, ", %s ", chart->series[i]);
		chart->number(html, chart->values[column][i]);
	}
	cmn_buffer_append_text(html, "</title>");
	for (size_t i = 0; i < chart->series_count; i++) {
		double height = HEIGHT * (double)chart->values[column][i] / (double)top;

		if (!chart->values[column][i])
			continue;
		base -= height;
		cmn_buffer_printf(html, "<rect class=%s x=%g y=%.2f width=%g height=%.2f />",
				  chart->classes[i], (double)column * COLUMN + GAP, base < 0 ? 0 : base,
				  COLUMN - 2 * GAP, height);
	}
	cmn_buffer_append_text(html, "</g>\n");
}

static void append_plot(struct cmn_buffer *html, const struct report_columns *chart, uint64_t top)
{
	size_t width = chart->count * COLUMN;

	cmn_buffer_printf(html, "<svg class=plot role=img viewBox=\"0 0 %zu %d\" "
			  "preserveAspectRatio=none><title>%s</title>\n", width, HEIGHT, chart->title);
	for (int y = 0; y <= HEIGHT; y += HEIGHT / 4)
		cmn_buffer_printf(html, "<line class=%s x1=0 x2=%zu y1=%d y2=%d />",
				  y == HEIGHT ? "axis" : "grid", width, y, y);
	cmn_buffer_append_u8(html, '\n');
	for (size_t i = 0; i < chart->count; i++)
		append_column(html, chart, i, top);
	cmn_buffer_append_text(html, "</svg>\n");
}

/* The first, the middle one, the last. */
static void append_labels(struct cmn_buffer *html, const struct report_columns *chart)
{
	const size_t at[] = { 0, chart->count / 2, chart->count - 1 };
	char label[REPORT_DATE_SIZE];

	cmn_buffer_append_text(html, "<div class=below aria-hidden=true>");
	for (size_t i = 0; i < 3; i++) {
		if (i == 0 || at[i] > at[i - 1])
			cmn_buffer_printf(html, "<span>%s</span>",
					  chart->label(chart->ctx, at[i], label, sizeof(label)));
	}
	cmn_buffer_append_text(html, "</div>\n");
}

/* Columns in which something was; there may be hundreds of others. */
static void append_table(struct cmn_buffer *html, const struct report_columns *chart)
{
	char label[REPORT_DATE_SIZE];

	cmn_buffer_append_text(html, "<details><summary>The numbers</summary>"
			       "<div class=scroll role=region aria-label=numbers tabindex=0><table><thead><tr><th scope=col>time</th>");
	for (size_t i = 0; i < chart->series_count; i++)
		cmn_buffer_printf(html, "<th scope=col class=n>%s</th>", chart->series[i]);
	cmn_buffer_append_text(html, "</tr></thead><tbody>\n");
	for (size_t column = 0; column < chart->count; column++) {
		if (!height_of(chart, column))
			continue;
		cmn_buffer_printf(html, "<tr><th scope=row>%s</th>",
				  chart->label(chart->ctx, column, label, sizeof(label)));
		for (size_t i = 0; i < chart->series_count; i++) {
			cmn_buffer_append_text(html, "<td class=n>");
			chart->number(html, chart->values[column][i]);
			cmn_buffer_append_text(html, "</td>");
		}
		cmn_buffer_append_text(html, "</tr>\n");
	}
	cmn_buffer_append_text(html, "</tbody></table></div></details>\n");
}

void report_chart_columns(struct cmn_buffer *html, const struct report_columns *chart)
{
	uint64_t most = chart->least, top;

	for (size_t i = 0; i < chart->count; i++)
		most = height_of(chart, i) > most ? height_of(chart, i) : most;
	top = round_up(most);
	cmn_buffer_append_text(html, "<figure>");
	append_legend(html, chart);
	cmn_buffer_append_text(html, "<div class=chart><div class=beside aria-hidden=true><span>");
	chart->number(html, top);
	cmn_buffer_append_text(html, "</span><span>");
	chart->number(html, top / 2);
	cmn_buffer_append_text(html, "</span><span>0</span></div>");
	append_plot(html, chart, top);
	append_labels(html, chart);
	cmn_buffer_append_text(html, "</div>\n");
	append_table(html, chart);
	cmn_buffer_append_text(html, "</figure>\n");
}

void report_chart_bar(struct cmn_buffer *html, const char *colour, uint64_t part, uint64_t whole)
{
	double width = whole ? 100 * (double)part / (double)whole : 0;

	cmn_buffer_printf(html, "<svg class=bar viewBox=\"0 0 100 1\" preserveAspectRatio=none "
			  "aria-hidden=true><rect class=rest width=100 height=1 />"
			  "<rect class=%s width=%.2f height=1 /></svg>", colour, width > 100 ? 100 : width);
}
