/* SPDX-License-Identifier: MIT */
/*
 * test_differential: what `differential` prints without the layer, with it on
 * an empty cache, and with it on a filled one, line by line. Each difference
 * is printed; one that diff_explained does not have is a failure, and so is a
 * warm run that stores anything.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/opencl/driver.h"
#include "tests/support/diff_compare.h"
#include "tests/support/unit.h"

/* Lines that a driver's whole run has at least: there are about 1,900. */
enum { LEAST_LINES = 1500, LEAST_SUBJECTS = 50 };

static struct {
	unsigned int lines, subjects, explained;
} total;	/* of all groups */

static void compare_outputs(const char *group, const char *when, const char *bare,
			    const char *layered)
{
	char *a = strdup(bare), *b = strdup(layered);
	struct diff_counts counts;

	CU_ASSERT_FATAL(a && b);
	(void)printf("\n  %s, %s", group, when);
	counts = diff_compare(driver_selected()->name, a, b);
	CU_ASSERT(counts.lines > 0);
	CU_ASSERT_EQUAL(counts.unexplained, 0);
	total.lines += counts.lines;
	total.subjects += counts.subjects;
	total.explained += counts.differences;
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
