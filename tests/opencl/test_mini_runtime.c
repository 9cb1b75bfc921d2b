/* SPDX-License-Identifier: MIT */
/*
 * test_mini_runtime: the example docs/examples/mini_runtime.c on one driver:
 * what each level saves, by counts, in a first and in a second run. The example
 * itself checks what its kernels compute, where the driver executes.
 */
#include "tests/opencl/driver.h"
#include "tests/support/unit.h"

/* The client's place is taken by the example, which understands -n too. */
static const char instead[] = "shift; exec '" MINI_RUNTIME "' \"$@\"";

static struct outcome run(void)
{
	struct outcome outcome = GOOD_CLIENT(BARE, "-d", driver_cache());

	return outcome;
}

BEFORE_EACH
{
	driver_setenv("POCL_KERNEL_CACHE", "0");
	driver_shell(instead);
}

/* Two numbers of a row of one use-case's table, whose title it begins with. */
static void expect(const struct outcome *outcome, const char *title, const char *row,
		   unsigned int without, unsigned int with)
{
	const char *at = strstr(outcome->output, title);
	unsigned int found[2] = { 9999, 9999 };

	at = at ? strstr(at, row) : NULL;
	CU_ASSERT_PTR_NOT_NULL_FATAL(at);
	CU_ASSERT_EQUAL(sscanf(at + strlen(row), "%u %u", &found[0], &found[1]), 2);
	if (found[0] != without || found[1] != with)
		printf("%s, %s: %u %u instead of %u %u\n", title, row, found[0], found[1],
		       without, with);
	CU_ASSERT_EQUAL(found[0], without);
	CU_ASSERT_EQUAL(found[1], with);
}

static void expect_memory(const struct outcome *outcome)
{
	static const char loop[] = "one kernel in a loop", many[] = "many kernels of one program";

	expect(outcome, loop, "programs built", 6, 1);
	expect(outcome, loop, "kernels created", 6, 1);
	expect(outcome, loop, "found in the fast kernel cache", 0, 5);
	expect(outcome, many, "programs built", 8, 1);
	expect(outcome, many, "kernels created", 8, 4);
	expect(outcome, many, "found in the fast kernel cache", 0, 4);
}

static void expect_start(const struct outcome *outcome, unsigned int built, unsigned int loaded,
			 unsigned int refused)
{
	static const char start[] = "the start of an application";

	expect(outcome, start, "programs built", 3, built);
	expect(outcome, start, "programs loaded", 0, loaded);
	expect(outcome, start, "binaries refused", 0, refused);
	expect(outcome, start, "kernels created", 3, 3);
}

TEST(second_run_builds_nothing)
{
	struct outcome outcome;

	outcome = run();
	expect_memory(&outcome);
	expect_start(&outcome, 3, 0, 0);
	outcome = run();
	expect_memory(&outcome);
	expect_start(&outcome, 0, 3, 0);
	/* The store is one like any other. */
	EXPECT_STATS("entries 3, misses 3, hits_disk 3");
}

TEST_ON("stub", refused_binaries_are_built_again)
{
	static const char *const settings[][2] = {
		{ "STUB_REFUSE_BINARY", "1" }, { "STUB_REFUSE_BINARY_BUILD", "1" },
		{ "STUB_STATUS_ONLY", "error" }, { "STUB_STATUS_ONLY", "status" },
	};
	struct outcome outcome;

	outcome = run();
	expect_start(&outcome, 3, 0, 0);
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		driver_stub_setting(settings[i][0], settings[i][1]);
		outcome = run();
		expect_start(&outcome, 3, 0, 3);
		CU_ASSERT_EQUAL(driver_stats().errors, 3 * (i + 1));
		driver_stub_setting(NULL, NULL);
		outcome = run();
		expect_start(&outcome, 0, 3, 0);
	}
}

TEST_ON("stub", binaries_that_cannot_be_read_are_not_stored)
{
	static const char *const values[] = { "1", "error" };
	struct outcome outcome;

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		driver_stub_setting("STUB_NO_BINARY", values[i]);
		outcome = run();
		expect_start(&outcome, 3, 0, 0);
	}
}

TEST_ON("stub", without_a_store_it_runs_all_the_same)
{
	struct outcome outcome;

	driver_setenv("CKCACHE_PERSISTENT", "0");
	for (int i = 0; i < 2; i++) {
		outcome = run();
		expect_memory(&outcome);
		expect_start(&outcome, 3, 0, 0);
	}
}
