/* SPDX-License-Identifier: MIT */
/*
 * diff_compare: lines are paired by their names, in their order, so that one that
 * only one output has (a subject that ended early) does not shift the rest.
 */
#include "tests/support/diff_compare.h"

#include <fnmatch.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"

/* So many unexplained differences are shown, and so much of each: more say no more. */
enum { NAME = 128, SHOWN = 200, MOST_SHOWN = 60 };

/* The lines of a text, cut apart in place. */
struct lines {
	char **at;
	size_t count;
};

static struct lines split(char *text)
{
	struct lines lines = { 0 };
	size_t size = 1;

	for (const char *at = text; *at; at++)
		size += *at == '\n';
	lines.at = calloc(size, sizeof(*lines.at));
	CU_ASSERT_FATAL(lines.at != NULL);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		lines.at[lines.count++] = line;
	return lines;
}

/* The line's "subject.case", and where its answer begins. */
static const char *name_of(const char *line, char *ret_name)
{
	size_t len = strcspn(line, ":");

	(void)snprintf(ret_name, NAME, "%.*s", (int)len, line);
	return line[len] ? line + len + 1 + strspn(line + len + 1, " ") : line + len;
}

static bool same_name(const char *a, const char *b)
{
	size_t len = strcspn(a, ":");

	return len == strcspn(b, ":") && !memcmp(a, b, len);
}

/* From where the answers part, with something of what is before it. */
static void show(const char *what, const char *answer, size_t from)
{
	(void)printf("\n      %s %s%.*s", what, from ? "..." : "", SHOWN, answer + from);
}

/* "" stands for a line that is not there. */
static bool is_explained(const char *where, const char *name, const char *bare,
			 const char *layered)
{
	size_t same = 0;

	for (const struct diff_explained *one = diff_explained; one->where; one++) {
		if (!fnmatch(one->where, where, 0) && !fnmatch(one->line, name, 0) &&
		    !fnmatch(one->bare, bare, FNM_NOESCAPE) &&
		    !fnmatch(one->layered, layered, FNM_NOESCAPE)) {
			(void)printf("\n    %s (row %c)", name, one->row);
			return true;
		}
	}
	while (bare[same] && bare[same] == layered[same])
		same++;
	same = same > 40 ? same - 40 : 0;
	(void)printf("\n    %s: NOT EXPLAINED", name);
	show("bare:   ", bare, same);
	show("layered:", layered, same);
	return false;
}

static void compare(const char *where, const char *bare, const char *layered,
		    struct diff_counts *counts)
{
	char name[NAME];
	const char *expected = bare ? name_of(bare, name) : "";
	const char *answer = layered ? name_of(layered, name) : "";

	counts->lines++;
	counts->subjects += strlen(name) > 5 && !strcmp(name + strlen(name) - 5, ".exit");
	if (bare && layered && !strcmp(expected, answer))
		return;
	counts->differences++;
	if (counts->unexplained < MOST_SHOWN)
		counts->unexplained += !is_explained(where, name, expected, answer);
}

/* How many lines stand before the next line of that name; without end if there is none. */
static size_t distance(const struct lines *lines, size_t from, const char *name)
{
	size_t at = from;

	while (at < lines->count && !same_name(lines->at[at], name))
		at++;
	return at < lines->count ? at - from : SIZE_MAX;
}

struct diff_counts diff_compare(const char *where, char *bare, char *layered)
{
	struct diff_counts counts = { 0 };
	struct lines a = split(bare), b = split(layered);
	size_t i = 0, j = 0;

	while (i < a.count || j < b.count) {
		bool only_a = j == b.count, only_b = i == a.count;

		if (!only_a && !only_b && !same_name(a.at[i], b.at[j])) {
			only_a = distance(&a, i, b.at[j]) <= distance(&b, j, a.at[i]);
			only_b = !only_a;
		}
		compare(where, only_b ? NULL : a.at[i], only_a ? NULL : b.at[j], &counts);
		i += !only_b;
		j += !only_a;
	}
	free(a.at);
	free(b.at);
	return counts;
}
