/* SPDX-License-Identifier: MIT */
/*
 * test_differential: what `differential` prints without the layer, with it on
 * an empty cache, and with it on a filled one, line by line. Each difference
 * is printed; one that diff_explained does not have is a failure, and so is a
 * warm run that stores anything.
 */
#include <fnmatch.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/opencl/diff_explained.h"
#include "tests/opencl/driver.h"
#include "tests/support/unit.h"

/* Lines that a driver's whole run has at least: there are about 1,900. */
enum { LEAST_LINES = 1500, LEAST_SUBJECTS = 50, NAME = 128 };

static struct {
	unsigned int lines, subjects, explained;
} total;	/* of all groups */

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

/* "" stands for a line that is not there. */
static bool is_explained(const char *name, const char *bare, const char *layered)
{
	for (const struct diff_explained *one = diff_explained; one->driver; one++) {
		if (!fnmatch(one->driver, driver_selected()->name, 0) &&
		    !fnmatch(one->line, name, 0) &&
		    !fnmatch(one->bare, bare, FNM_NOESCAPE) &&
		    !fnmatch(one->layered, layered, FNM_NOESCAPE)) {
			(void)printf("\n    %s (row %c)", name, one->row);
			return true;
		}
	}
	(void)printf("\n    %s: NOT EXPLAINED\n      bare:    %s\n      layered: %s", name, bare,
		     layered);
	return false;
}

/* false: the difference of two lines, or the absence of one, is not explained. */
static bool compare(const char *bare, const char *layered)
{
	char name[NAME];
	const char *expected = bare ? name_of(bare, name) : "";
	const char *answer = layered ? name_of(layered, name) : "";
	bool same = bare && layered && !strcmp(expected, answer);

	total.lines++;
	total.subjects += strlen(name) > 5 && !strcmp(name + strlen(name) - 5, ".exit");
	if (same)
		return true;
	total.explained++;
	return is_explained(name, expected, answer);
}

/* How many lines stand before the next line of that name; without end if there is none. */
static size_t distance(const struct lines *lines, size_t from, const char *name)
{
	size_t at = from;

	while (at < lines->count && !same_name(lines->at[at], name))
		at++;
	return at < lines->count ? at - from : SIZE_MAX;
}

static unsigned int count_unexplained(const struct lines *bare, const struct lines *layered)
{
	unsigned int unexplained = 0;
	size_t i = 0, j = 0;

	while (i < bare->count || j < layered->count) {
		bool only_bare = j == layered->count, only_layered = i == bare->count;

		if (!only_bare && !only_layered && !same_name(bare->at[i], layered->at[j])) {
			only_bare = distance(bare, i, layered->at[j]) <=
				    distance(layered, j, bare->at[i]);
			only_layered = !only_bare;
		}
		unexplained += !compare(only_layered ? NULL : bare->at[i],
					only_bare ? NULL : layered->at[j]);
		i += !only_layered;
		j += !only_bare;
	}
	return unexplained;
}

static void compare_outputs(const char *group, const char *when, const char *bare,
			    const char *layered)
{
	char *a = strdup(bare), *b = strdup(layered);
	unsigned int unexplained;
	struct lines x, y;

	CU_ASSERT_FATAL(a && b);
	x = split(a);
	y = split(b);
	CU_ASSERT(x.count > 0);
	(void)printf("\n  %s, %s: %zu lines", group, when, x.count);
	unexplained = count_unexplained(&x, &y);
	CU_ASSERT_EQUAL(unexplained, 0);
	free(x.at);
	free(y.at);
	free(a);
	free(b);
}

/* pocl's logs name its cache directory, of which each of two runs at once has one. */
static void name_alike(char *output)
{
	static const char name[] = "/pocl-b/";

	for (char *at = output; (at = strstr(at, name)); )
		memcpy(at, "/pocl-a/", sizeof(name) - 1);
}

static void set_pocl_directory(const char *name)
{
	char path[4096];

	(void)snprintf(path, sizeof(path), "%s/%s", unit_dir(), name);
	driver_setenv("POCL_CACHE_DIR", path);
}

/* Runs `differential` in the client's place. */
static void begin(void)
{
	driver_begin();
	driver_shell("shift; exec '" DIFFERENTIAL_PROGRAM "' \"$@\"");
	/* Else each of hundreds of kernels costs rusticl a tenth of a second. */
	driver_setenv("MESA_SHADER_CACHE_DISABLE", NULL);
}

/* All of what a cold run could store is a hit in the warm one, which therefore misses so much less. */
static void check_hits(const struct driver_stats *cold, const struct driver_stats *warm)
{
	CU_ASSERT_EQUAL(cold->errors, 0);
	CU_ASSERT_EQUAL(warm->errors, 0);
	CU_ASSERT_EQUAL(warm->stores, cold->stores);
	CU_ASSERT_EQUAL(warm->misses - cold->misses, cold->misses - cold->stores);
	if (cold->stores)
		CU_ASSERT(warm->hits_disk - cold->hits_disk >= cold->stores);
}

static void same_answers(const char *group)
{
	const char *const arguments[] = { "-g", group, NULL };
	struct driver_stats after_cold, after_warm;
	struct outcome bare, cold, warm;
	struct running first;

	begin();
	set_pocl_directory("pocl-a");
	first = driver_start(BARE, arguments);
	set_pocl_directory("pocl-b");
	cold = driver_client(LAYERED, arguments);
	after_cold = driver_stats();
	warm = driver_client(LAYERED, arguments);
	after_warm = driver_stats();
	bare = driver_wait(first);
	name_alike(cold.output);
	name_alike(warm.output);
	CU_ASSERT(outcome_good(&bare) && outcome_good(&cold) && outcome_good(&warm));
	compare_outputs(group, "cold", bare.output, cold.output);
	compare_outputs(group, "warm", bare.output, warm.output);
	(void)printf("\n  %s: cold %u stores %u misses, warm %u stores %u misses %u hits", group,
		     (unsigned int)after_cold.stores, (unsigned int)after_cold.misses,
		     (unsigned int)after_warm.stores, (unsigned int)after_warm.misses,
		     (unsigned int)after_warm.hits_disk);
	check_hits(&after_cold, &after_warm);
	outcome_release(&bare);
	outcome_release(&cold);
	outcome_release(&warm);
}

static void states_of_programs(void) { same_answers("states"); }
static void kernels(void) { same_answers("kernels"); }
static void misuses(void) { same_answers("misuses"); }
static void links(void) { same_answers("links"); }
static void lives(void) { same_answers("lives"); }
static void intermediate_languages(void) { same_answers("ils"); }

/* The comparison above was not one of empty outputs; each line counts twice, cold and warm. */
static void enough_was_compared(void)
{
	(void)printf("\n  %s: %u lines of %u subjects compared, %u differences", driver_selected()->name,
		     total.lines / 2, total.subjects / 2, total.explained);
	CU_ASSERT(total.lines / 2 >= LEAST_LINES);
	CU_ASSERT(total.subjects / 2 >= LEAST_SUBJECTS);
}

int main(int argc, char **argv)
{
	static const struct unit_test tests[] = {
		UNIT_TEST(states_of_programs),
		UNIT_TEST(kernels),
		UNIT_TEST(misuses),
		UNIT_TEST(links),
		UNIT_TEST(lives),
		UNIT_TEST(intermediate_languages),
		UNIT_TEST(enough_was_compared),
	};

	(void)driver_select(argc, argv);
	return UNIT_MAIN("opencl.differential", tests);
}
