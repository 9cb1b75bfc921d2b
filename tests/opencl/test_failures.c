/* SPDX-License-Identifier: MIT */
/*
 * test_failures: a build that failed is remembered once two processes saw it fail in the same way, and
 * the application gets the same answers from memory; one that may have failed for a reason that passes,
 * or whose reason is gone, is built again.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "tests/opencl/driver.h"
#include "tests/support/unit.h"

#define BROKEN "kernel void value(global int *out) { out[0] = unknown; }\n"
#define LOG "input.cl:1:47: error: use of undeclared identifier 'unknown'"

static struct outcome run(const char *options)
{
	return CLIENT(LAYERED, "header", "main.cl", options);
}

/* So many runs alike, which the driver answers. */
static void fail_often(unsigned int times)
{
	const struct outcome bare = CLIENT(BARE, "header", "main.cl", "");

	for (unsigned int i = 0; i < times; i++) {
		struct outcome outcome = run("");

		CU_ASSERT(outcome_same(&bare, &outcome));
	}
}

/* How many builds of one run the driver sees. */
static unsigned int built(const char *options)
{
	unsigned int before = driver_counted("build-source");

	(void)run(options);	/* it is about the driver */
	return driver_counted("build-source") - before;
}

static void begin(const char *settings)
{
	unit_write("work/main.cl", BROKEN);
	driver_stub_setting("STUB_FAIL_LOG", settings);
}

/* What each driver's compiler says of it, but for pocl's, whose file has another name each time. */
TEST(a_third_process_gets_the_answers_of_the_first)
{
	struct driver_stats before, after;

	begin(LOG);
	fail_often(2);
	before = driver_stats();
	fail_often(2);
	after = driver_stats();
	CU_ASSERT_EQUAL(before.hits_disk, 0);
	CU_ASSERT_EQUAL(before.stores, 0);
	CU_ASSERT_EQUAL(after.hits_disk, driver_is("pocl") ? 0 : 2);
	CU_ASSERT_EQUAL(after.misses, driver_is("pocl") ? 4 : 2);
}

TEST_ON("stub", a_third_process_asks_no_driver)
{
	begin(LOG);
	CU_ASSERT_EQUAL(built(""), 1);
	CU_ASSERT_EQUAL(built(""), 1);
	CU_ASSERT_EQUAL(built(""), 0);
	TOOL_SAYS(0, "did not compile", "list");
	TOOL_SAYS(0, "did not compile", "show", "value");
	TOOL_SAYS(0, "\"failed\":true", "list", "--json");
	TOOL_SAYS(0, "\"remembered_failures\":1", "stats", "--json");
	TOOL_SAYS(0, "did not compile", "stats");
	TOOL_SAYS(0, "a remembered failure", "explain", "--all");
	TOOL_SAYS(0, "", "verify");
	CU_ASSERT_EQUAL(built("-DN=1"), 1);	/* another build */
}

TEST_ON("stub", what_failed_once_may_work)
{
	struct outcome good;

	begin(LOG);
	CU_ASSERT_EQUAL(built(""), 1);
	driver_stub_setting(NULL, NULL);	/* its compiler takes anything for C */
	good = GOOD_CLIENT(LAYERED, "header", "main.cl", "");
	CU_ASSERT_EQUAL(driver_stats().stores, 1);
	begin(LOG);
	SAME_AS(&good, "header", "main.cl", "");
	CU_ASSERT_EQUAL(driver_stats().hits_disk, 1);
}

TEST_ON("stub", what_may_pass_is_not_remembered)
{
	static const char *const logs[] = {
		"error: use of undeclared identifier", "clang3d: error: unknown", ": error: x",	/* where? */
		"x.cl:1:2: error: cannot open file: Too many open files",
		"x.cl:1:2: fatal error: error reading 'x.h'",
		"x.cl:1:2: error: out of memory",
		"x.cl:1:2: warning: unused",
		LOG "\nSTUB_FAIL_ERROR=-6",
	};
	char paths[1][4096];

	for (size_t i = 0; i < sizeof(logs) / sizeof(logs[0]); i++) {
		driver_begin();
		begin(logs[i]);
		for (int j = 0; j < 3; j++)
			CU_ASSERT(built("") > 0);
		CU_ASSERT_EQUAL(driver_cache_files(".bin", paths, 1), 0);
	}
}

TEST_ON("stub", a_file_that_is_there_now_ends_it)
{
	begin(LOG);
	for (int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL(built("-I."), 1);
	CU_ASSERT_EQUAL(built("-I."), 0);
	unit_write("work/stub_builtins.h", "");	/* the stub looks for it */
	CU_ASSERT_EQUAL(built("-I."), 1);
	CU_ASSERT_EQUAL(built("-I."), 1);
	CU_ASSERT_EQUAL(built("-I."), 0);
	unit_write("work/stub_builtins.h", "x");
	CU_ASSERT_EQUAL(built("-I."), 1);
}

TEST_ON("stub", it_is_forgotten_after_a_day)
{
	const struct timespec times[2] = { { time(NULL) - 24 * 3600 - 1, 0 }, { time(NULL) - 24 * 3600 - 1, 0 } };
	char paths[1][4096];

	begin(LOG);
	(void)built("");
	(void)built("");
	CU_ASSERT_EQUAL(built(""), 0);
	CU_ASSERT_EQUAL_FATAL(driver_cache_files(".bin", paths, 1), 1);
	CU_ASSERT_EQUAL(utimensat(AT_FDCWD, paths[0], times, 0), 0);
	CU_ASSERT_EQUAL(built(""), 1);
}

TEST_ON("stub", it_can_be_switched_off)
{
	begin(LOG);
	(void)built("");
	(void)built("");
	driver_setenv("CKCACHE_REMEMBER_FAILURES", "0");
	CU_ASSERT_EQUAL(built(""), 1);
	driver_setenv("CKCACHE_REMEMBER_FAILURES", NULL);
	CU_ASSERT_EQUAL(built(""), 0);
}

TEST_ON("stub", it_stays_on_this_machine)
{
	char paths[1][4096];

	begin(LOG);
	(void)built("");
	(void)built("");
	TOOL_SAYS(0, "", "export", "all.ckb");
	TOOL_SAYS(0, "", "clear");
	TOOL_SAYS(0, "", "import", "all.ckb");
	CU_ASSERT_EQUAL(driver_cache_files(".bin", paths, 1), 0);
}

/* What it leaves of the build before differs among drivers. */
TEST_ON("stub", one_that_was_built_before_is_built_in_vain)
{
	for (int i = 0; i < 2; i++)
		SAME_AS_BARE("failing-later");
	CU_ASSERT_EQUAL(driver_counted("build-source"), 2 * 3 + 1 + 2 * 2);
}

/* What the driver alone knows of a program that failed: its binaries are asked of a real build. */
TEST_ON("stub", asking_for_binaries_builds)
{
	unsigned int before;

	begin(LOG "\nSTUB_LEFT_BINARY=1");
	for (int i = 0; i < 3; i++)
		SAME_AS_BARE("failed-binaries");
	before = driver_counted("build-source");
	GOOD_CLIENT(LAYERED, "failed-binaries");
	CU_ASSERT(driver_counted("build-source") > before);
	driver_begin();
	begin(LOG);
	for (int i = 0; i < 3; i++)
		SAME_AS_BARE("failed-binaries");
}

/*
 * With a callback the driver builds, as drivers differ in what they tell it. rusticl's program may still be
 * in progress after the call.
 */
TEST_ON("!rusticl", callbacks_are_called_as_ever)
{
	begin(LOG);
	for (int i = 0; i < 4; i++)
		SAME_AS_BARE("failing-callback");
}
