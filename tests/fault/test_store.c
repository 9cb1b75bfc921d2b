/* SPDX-License-Identifier: MIT */
/*
 * store: every call of the store and what is around it that can fail, failing
 * in every way. The results are right each time, nothing is left open, the next
 * run is right, and the one after that builds nothing.
 */
#include "tests/fault/store_run.h"
#include "tests/support/unit.h"

static void sweep(const char *name)
{
	const struct scenario *scenario = scenarios;
	struct fault_task *tasks;
	const char *wrong;
	size_t count;

	while (scenario->name && strcmp(scenario->name, name) != 0)
		scenario++;
	CU_ASSERT_FATAL(scenario->name != NULL);
	wrong = store_run_prepare(scenario, FAULT_FILES | FAULT_MEMORY | FAULT_THREADS);
	if (wrong)
		(void)fprintf(stderr, "\n    %s: %s\n", name, wrong);
	CU_ASSERT_FATAL(wrong == NULL);
	count = sweep_make_plan(store_run_counted(), SWEEP_ALL, &tasks);
	(void)printf("%zu runs ... ", count);
	CU_ASSERT(count > 100);
	CU_ASSERT_EQUAL(sweep_run(name, tasks, count, store_run_try, NULL), 0);
	sweep_count(atomic_load(&store_run_counted()->count), count);
	free(tasks);
}

TEST(a_first_run) { sweep("cold"); }
TEST(a_second_run) { sweep("warm"); }
TEST(a_changed_header) { sweep("stale"); }

TEST(a_store_that_passes_its_bound)
{
	sweep("evicting");
	/* Seven there would be. */
	CU_ASSERT(store_run_reference()->good > 0 && store_run_reference()->good < 7);
}

TEST(damaged_entries) { sweep("damaged"); }
TEST(a_lower_tier) { sweep("tier"); }
TEST(a_root_that_is_only_read) { sweep("read-only"); }
TEST(an_entry_that_the_driver_refuses) { sweep("rejected"); }
TEST(a_root_of_a_group) { sweep("shared"); }
TEST(a_level_that_changes) { sweep("changing"); }
TEST(recipes) { sweep("recipes"); }

int main(int argc, char **argv)
{
	int result;

	(void)argc;
	store_run_begin(argv);
	result = unit_run(NULL);
	sweep_print("fault.store");
	return result;
}
