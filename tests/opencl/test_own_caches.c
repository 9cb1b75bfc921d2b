/* SPDX-License-Identifier: MIT */
/*
 * test_own_caches: with the driver's own cache as it is by default, an entry is
 * the same whether that cache was empty or full, and depends on none of its files.
 */
#include "tests/opencl/driver.h"
#include "tests/support/unit.h"

enum { PROGRAMS = 2 };

static const char *const options[PROGRAMS] = { "-DK=3", "-DK=4 -cl-kernel-arg-info" };

/* The driver's own cache is empty again. */
static void forget(void)
{
	CU_ASSERT_EQUAL(system("rm -rf home/.cache"), 0);
}

/* A process for each program with the layer, and then one without it. */
static void run(unsigned int hits, unsigned int stores)
{
	struct driver_stats before = driver_stats(), after;

	for (int i = 0; i < PROGRAMS; i++) {
		struct outcome layered = GOOD_CLIENT(LAYERED, "vector", options[i]);
		struct outcome bare = GOOD_CLIENT(BARE, "vector", options[i]);

		CU_ASSERT(outcome_same(&bare, &layered));
	}
	after = driver_stats();
	CU_ASSERT_EQUAL(after.hits_disk - before.hits_disk, hits);
	CU_ASSERT_EQUAL(after.stores - before.stores, stores);
	CU_ASSERT_EQUAL(after.errors, 0);
}

TEST(entries_know_nothing_of_the_drivers_own_cache)
{
	driver_own_caches();
	run(0, PROGRAMS);
	/* From here on it is full. */
	run(PROGRAMS, 0);
	forget();
	run(PROGRAMS, 0);
}

TEST(what_the_drivers_own_cache_answered_is_built_by_replay)
{
	driver_own_caches();
	for (int i = 0; i < PROGRAMS; i++)
		(void)GOOD_CLIENT(BARE, "vector", options[i]);	/* fills it */
	for (int i = 0; i < PROGRAMS; i++)
		(void)GOOD_CLIENT(LAYERED, "vector", options[i]);
	TOOL_SAYS(0, "", "replay");
	forget();
	run(PROGRAMS, 0);
}
