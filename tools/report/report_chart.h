/* SPDX-License-Identifier: MIT */
/*
 * report_chart: charts as SVG within HTML, without a script and without text in
 * them: labels stand beside them, where they keep their size on any screen. Each
 * stands with, or within, a table of its numbers. Colours are classes of
 * report_style.h.
 */
#ifndef TOOLS_REPORT_REPORT_CHART_H
#define TOOLS_REPORT_REPORT_CHART_H

#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"

#define REPORT_CHART_SERIES 4

/* Columns over time, each a stack of the series. */
struct report_columns {
	const char *title;	/* what is seen, for who does not see it; our own text */
	size_t series_count;
	const char *series[REPORT_CHART_SERIES];	/* names, from the ground up */
	const char *classes[REPORT_CHART_SERIES];
	size_t count;
	const uint64_t (*values)[REPORT_CHART_SERIES];
	const char *(*label)(void *ctx, size_t i, char *ret, size_t size);	/* of a column */
	uint64_t least;		/* that the axis goes to: 4 or more */
	void (*number)(struct cmn_buffer *html, uint64_t value);	/* on the axis and in the table */
	void *ctx;
};
/* A <figure> with legend, axes, and a table that can be opened. */
void report_chart_columns(struct cmn_buffer *html, const struct report_columns *chart);

/* A bar for a cell of a table: part of whole, by its class. */
void report_chart_bar(struct cmn_buffer *html, const char *colour, uint64_t part, uint64_t whole);

#endif
