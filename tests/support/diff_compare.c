/* SPDX-License-Identifier: MIT */
/*
 * diff_compare: lines are paired by their names, in their order, so that one that
 * only one output has (a subject that ended early) does not shift the rest.
 */
#include "tests/support/diff_compare.h"

#include <fnmatch.h>

#include "tests/support/posix.h"

/* So many unexplained differences are shown, and so much of each: more say no more. */
enum { NAME = 128, SHOWN = 200, MOST_SHOWN = 60, MOST_ROWS = 1024 };

/* The answer that stands for several: no output has it, since lines are escaped. */
static const char wavers[] = "\a";

static bool used[MOST_ROWS];	/* rows of diff_explained */

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
	if (!lines.at)
		abort();
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

/* Reads a version's numbers; the end of them. */
static const char *read_version(const char *text, unsigned long ret_parts[4], unsigned int *ret_count)
{
	for (*ret_count = 0; *ret_count < 4 && *text >= '0' && *text <= '9'; ) {
		char *end;

		ret_parts[(*ret_count)++] = strtoul(text, &end, 10);
		text = *end == '.' ? end + 1 : end;
	}
	return text;
}

/* As far as the bound says it: 22.43 is neither before nor after 22. */
static int compare_version(const unsigned long *version, unsigned int count,
			   const unsigned long *bound, unsigned int bound_count)
{
	for (unsigned int i = 0; i < bound_count; i++) {
		unsigned long part = i < count ? version[i] : 0;

		if (part != bound[i])
			return part < bound[i] ? -1 : 1;
	}
	return 0;
}

static bool is_of_range(const char *range, const char *version)
{
	unsigned long from[4], to[4], is[4];
	unsigned int from_count, to_count, count;

	(void)read_version(version, is, &count);
	if (count == 0)
		return false;
	range = read_version(range, from, &from_count);
	if (compare_version(is, count, from, from_count) < 0)
		return false;
	if (*range != '-')	/* one version */
		return compare_version(is, count, from, from_count) == 0;
	(void)read_version(range + 1, to, &to_count);
	return compare_version(is, count, to, to_count) <= 0;
}

/* where: a name, and perhaps a version. */
static bool is_row_of(const struct diff_explained *row, const char *where)
{
	char pattern[NAME], name[NAME];
	size_t pattern_len = strcspn(row->where, " "), len = strcspn(where, " ");

	(void)snprintf(pattern, sizeof(pattern), "%.*s", (int)pattern_len, row->where);
	(void)snprintf(name, sizeof(name), "%.*s", (int)len, where);
	return !fnmatch(pattern, name, 0) &&
		(!row->where[pattern_len] ||
		 is_of_range(row->where + pattern_len + 1, where + len + (where[len] == ' ')));
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
		if (is_row_of(one, where) && !fnmatch(one->line, name, 0) &&
		    !fnmatch(one->bare, bare, FNM_NOESCAPE) &&
		    !fnmatch(one->layered, layered, FNM_NOESCAPE)) {
			(void)printf("\n    %s (row %c)", name, one->row);
			used[(one - diff_explained) % MOST_ROWS] = true;
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
	if (!strcmp(expected, wavers)) {
		counts->wavering++;
		(void)printf("\n    %s: not compared, the driver's own answers differ", name);
		return;
	}
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

/* Of two outputs, the next lines that belong together; false at the end. One is NULL where it has none. */
static bool next_pair(const struct lines *a, const struct lines *b, size_t *i, size_t *j,
		      const char **ret_a, const char **ret_b)
{
	bool only_a = *j == b->count, only_b = *i == a->count;

	if (only_a && only_b)
		return false;
	if (!only_a && !only_b && !same_name(a->at[*i], b->at[*j])) {
		only_a = distance(a, *i, b->at[*j]) <= distance(b, *j, a->at[*i]);
		only_b = !only_a;
	}
	*ret_a = only_b ? NULL : a->at[(*i)++];
	*ret_b = only_a ? NULL : b->at[(*j)++];
	return true;
}

void diff_each_pair(char *text, char *other_text, void (*act)(const char *one, const char *other))
{
	struct lines a = split(text), b = split(other_text);
	const char *one, *other;
	size_t i = 0, j = 0;

	while (next_pair(&a, &b, &i, &j, &one, &other))
		act(one, other);
	free(a.at);
	free(b.at);
}

struct diff_counts diff_compare(const char *where, char *bare, char *layered)
{
	struct diff_counts counts = { 0 };
	struct lines a = split(bare), b = split(layered);
	const char *one, *other;
	size_t i = 0, j = 0;

	while (next_pair(&a, &b, &i, &j, &one, &other))
		compare(where, one, other, &counts);
	free(a.at);
	free(b.at);
	return counts;
}

char *diff_steady(char *bare, char *again)
{
	/* The mark may be longer than the answer that it stands for, by one. */
	char *steady = malloc(2 * (strlen(bare) + strlen(again)) + 1), *end = steady;
	struct lines a = split(bare), b = split(again);
	const char *one, *other;
	size_t i = 0, j = 0;

	if (!steady)
		abort();
	*end = '\0';
	while (next_pair(&a, &b, &i, &j, &one, &other)) {
		const char *line = one ? one : other;

		if (one && other && !strcmp(one, other))
			end += sprintf(end, "%s\n", line);
		else
			end += sprintf(end, "%.*s:%s\n", (int)strcspn(line, ":"), line, wavers);
	}
	free(a.at);
	free(b.at);
	return steady;
}

void diff_print_unused(const char *where)
{
	for (const struct diff_explained *one = diff_explained; one->where; one++) {
		if (!used[(one - diff_explained) % MOST_ROWS] && is_row_of(one, where))
			(void)printf("\n  no longer seen on %s: row %c, %s", where, one->row, one->line);
	}
}
