/* SPDX-License-Identifier: MIT */
/*
 * special: what befalls a store that is no failing call: the root removed
 * between any two calls, a clock that jumps, files from the future, limits of
 * the process.
 */
#include <sys/resource.h>

#include "tests/fault/store_run.h"
#include "tests/support/unit.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true	/* needs more address space than there is */
#else
#define SANITIZED false
#endif

static void prepare(const char *name, unsigned int classes)
{
	const struct scenario *scenario = scenarios;
	const char *wrong;

	while (scenario->name && strcmp(scenario->name, name) != 0)
		scenario++;
	CU_ASSERT_FATAL(scenario->name != NULL);
	wrong = store_run_prepare(scenario, classes);
	if (wrong)
		(void)fprintf(stderr, "\n    %s: %s\n", name, wrong);
	CU_ASSERT_FATAL(wrong == NULL);
}

/* Each point of the classes once, in that way. */
static void sweep(const char *name, unsigned int classes, int kind)
{
	struct fault_task *tasks;
	size_t points;

	prepare(name, classes);
	points = atomic_load(&store_run_counted()->count);
	tasks = calloc(points, sizeof(*tasks));
	CU_ASSERT_FATAL(points > 0 && tasks != NULL);
	for (size_t i = 0; i < points; i++) {
		tasks[i] = sweep_task(store_run_counted(), i);
		tasks[i].kind = kind;
	}
	CU_ASSERT_EQUAL(sweep_run(name, tasks, points, store_run_try, NULL), 0);
	sweep_count(points, points);
	free(tasks);
}

TEST(root_removed_before_any_call)
{
	static const char *const names[] = { "cold", "warm", "stale", "evicting", "damaged",
					     "rejected", "recipes" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		sweep(names[i], FAULT_FILES, FAULT_REMOVE);
}

TEST(clock_that_jumps_between_any_two_looks)
{
	static const char *const names[] = { "cold", "warm", "stale", "evicting", "damaged" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		sweep(names[i], FAULT_CLOCK, FAULT_BACK);
		sweep(names[i], FAULT_CLOCK, FAULT_FORWARD);
	}
}

static void expect_right(const char *what, int resource, unsigned long limit)
{
	const char *wrong = store_run_limited(resource, limit);

	if (wrong)
		(void)fprintf(stderr, "\n    %s, limit %lu: %s\n", what, limit, wrong);
	CU_ASSERT(wrong == NULL);
	sweep_count(0, 1);
}

TEST(files_of_another_time_than_now)
{
	prepare("future", FAULT_FILES);
	expect_right("files from the future", RLIMIT_CORE, 0);
	prepare("past", FAULT_FILES);
	expect_right("files of 1970", RLIMIT_CORE, 0);
}

/* SIGXFSZ would end an application that never wrote a file. */
TEST(files_that_may_not_grow)
{
	static const char *const names[] = { "cold", "warm", "stale", "evicting", "damaged",
					     "rejected", "tier" };
	static const unsigned long limits[] = { 0, 1, 20, 100, 600, 1200, 4000 };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		prepare(names[i], FAULT_FILES);
		for (size_t j = 0; j < sizeof(limits) / sizeof(limits[0]); j++)
			expect_right(names[i], RLIMIT_FSIZE, limits[j]);
	}
}

TEST(descriptors_used_up)
{
	static const char *const names[] = { "cold", "warm", "evicting", "damaged", "tier",
					     "recipes" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		prepare(names[i], FAULT_FILES);
		/* From none to more than are needed at a time. */
		for (unsigned long j = 3; j < 20; j++)
			expect_right(names[i], RLIMIT_NOFILE, j);
	}
}

/* Pages of the process's address space, by the first number of its statm. */
static unsigned long address_space(void)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	CU_ASSERT_FATAL(file != NULL);
	CU_ASSERT_EQUAL(fscanf(file, "%lu", &pages), 1);
	(void)fclose(file);	/* only read */
	return pages;
}

TEST(little_address_space)
{
	static const char *const names[] = { "cold", "warm", "evicting" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !SANITIZED; i++) {
		prepare(names[i], FAULT_FILES);
		/* From nothing beyond what is there to enough for a thread and its stack. */
		for (unsigned long more = 0; more < 1024; more = more * 2 + 8)
			expect_right(names[i], RLIMIT_AS, (address_space() + more) * 4096);
	}
}

int main(int argc, char **argv)
{
	int result;

	(void)argc;
	store_run_begin(argv);
	result = unit_run(NULL);
	sweep_print("fault.special");
	return result;
}
