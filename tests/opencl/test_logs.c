/* SPDX-License-Identifier: MIT */
/*
 * test_logs: what a program's user sees with CKCACHE_LOG: nothing by default, a line at the start,
 * a line for each build with its reason; on stderr or in a file, once, whatever children the
 * program has.
 */
#include "tests/opencl/driver.h"
#include "tests/support/unit.h"

#define KERNEL "kernel void value(global int *out) { out[0] = VALUE; }\n"
#define SOURCE "#define VALUE 1\n" KERNEL

/* How often part is in text. */
static unsigned int count(const char *text, const char *part)
{
	unsigned int found = 0;

	for (; (text = strstr(text, part)); text += strlen(part))
		found++;
	return found;
}

static struct outcome run(const char *source, const char *options)
{
	unit_write("work/main.cl", source);
	return CLIENT(LAYERED, "header", "main.cl", options);
}

/* The run's errors have that part of a line. */
#define EXPECT_SAID(outcome, part) CU_ASSERT(contains((outcome).errors, part))

/* Its first line has that number, or, if it had no time to count all (test_cache.c), a lower one. */
static bool has_counted(const struct outcome *outcome, unsigned long entries)
{
	char start[4200];
	const char *found;

	(void)snprintf(start, sizeof(start), " OpenCL, %s, ", driver_cache());
	found = strstr(outcome->errors, start);
	if (!found)
		return false;
	found += strlen(start);
	if (strncmp(found, "more than ", 10) == 0)
		return strtoul(found + 10, NULL, 10) < entries;
	return strtoul(found, NULL, 10) == entries;
}

TEST(nothing_by_default)
{
	struct outcome outcome = run(SOURCE, "");

	CU_ASSERT(outcome_good(&outcome));
	CU_ASSERT_STRING_EQUAL(outcome.errors, "");
	driver_setenv("CKCACHE_LOG", "warning");
	outcome = run(SOURCE, "-DN=1");
	CU_ASSERT_STRING_EQUAL(outcome.errors, "");
}

TEST(a_line_at_the_start_and_one_of_each_build)
{
	struct outcome outcome, silent = run(SOURCE, "");

	driver_setenv("CKCACHE_LOG", "info");
	outcome = run(SOURCE, "");
	CU_ASSERT_STRING_EQUAL(outcome.output, silent.output);
	CU_ASSERT(has_counted(&outcome, 1));
	EXPECT_SAID(outcome, "hit on disk: kernel value, entry ");
	CU_ASSERT_EQUAL(count(outcome.errors, "\n"), 2);
	outcome = run(SOURCE, "-DN=1");
	EXPECT_SAID(outcome, "miss: kernel value, entry ");
	CU_ASSERT_EQUAL(count(outcome.errors, "\n"), 2);
	outcome = run(SOURCE, "");
	CU_ASSERT(has_counted(&outcome, 2));
	driver_setenv("CKCACHE_PERSISTENT", "0");
	outcome = run(SOURCE, "");
	EXPECT_SAID(outcome, " OpenCL, no cache directory\n");
}

TEST_ON("stub", each_build_has_its_reason)
{
	struct outcome outcome;

	driver_setenv("CKCACHE_LOG", "debug");
	outcome = run(SOURCE, "");
	EXPECT_SAID(outcome, "miss: kernel value, entry ");
	outcome = run(SOURCE, "");
	EXPECT_SAID(outcome, "hit on disk: kernel value, entry ");
	outcome = run("#define VALUE 1\n" KERNEL "constant char when[] = __DATE__;\n", "");
	EXPECT_SAID(outcome, "not cached: kernel value, entry ");
	EXPECT_SAID(outcome, "; date\n");
	outcome = run("#error on purpose\n" KERNEL, "");
	EXPECT_SAID(outcome, "failed: kernel value, entry ");
	EXPECT_SAID(outcome, ": did not compile (-11: error: ");
	driver_setenv("CKCACHE_MAX_DEVICE_IMAGE_SIZE", "10");
	outcome = run(SOURCE, "-DN=1");
	EXPECT_SAID(outcome, ": not stored: max_device_image_size\n");
	driver_setenv("CKCACHE_MAX_DEVICE_IMAGE_SIZE", NULL);
	driver_stub_setting("STUB_REFUSE_BINARY", "1");
	outcome = run(SOURCE, "");
	EXPECT_SAID(outcome, ": the driver refused the stored binary\n");
	driver_stub_setting("STUB_REFUSE_BINARY", NULL);
	outcome = CLIENT(LAYERED, "variables", "IGC_X=1", "build");
	EXPECT_SAID(outcome, "; environment-changed\n");
	CU_ASSERT_PTR_NULL(strstr(outcome.errors, "no key"));
}

TEST_ON("stub", a_header_that_changed_is_named)
{
	struct outcome outcome;

	driver_setenv("CKCACHE_LOG", "debug");
	unit_write("work/inc/common.h", "#define VALUE 1\n");
	(void)run("#include \"common.h\"\n" KERNEL, "-I inc");
	unit_write("work/inc/common.h", "#define VALUE 2\n");
	outcome = run("#include \"common.h\"\n" KERNEL, "-I inc");
	EXPECT_SAID(outcome, ": header inc/common.h changed\n");
}

TEST_ON("stub", a_damaged_entry_is_named)
{
	struct outcome outcome;
	char paths[1][4096];

	driver_setenv("CKCACHE_LOG", "debug");
	(void)run(SOURCE, "");
	CU_ASSERT_EQUAL_FATAL(driver_cache_files(".bin", paths, 1), 1);
	CU_ASSERT_EQUAL(truncate(paths[0], 50), 0);
	outcome = run(SOURCE, "");
	EXPECT_SAID(outcome, ": the stored entry was damaged\n");
	CU_ASSERT_EQUAL_FATAL(driver_cache_files(".bin", paths, 1), 1);
	CU_ASSERT_EQUAL(chmod(paths[0], 0666), 0);
	outcome = run(SOURCE, "");
	EXPECT_SAID(outcome, ": others may write to the stored entry, or it cannot be read\n");
}

TEST(links_and_objects)
{
	struct outcome outcome;

	driver_setenv("CKCACHE_LOG", "debug");
	outcome = GOOD_CLIENT(LAYERED, "link");
	EXPECT_SAID(outcome, "miss: a link, entry ");
	outcome = CLIENT(LAYERED, "link");
	EXPECT_SAID(outcome, "hit on disk: a link, entry ");
	CU_ASSERT_PTR_NULL(strstr(outcome.errors, "miss: "));
}

/* Called back from another thread, also where nothing is cached. */
TEST_ON("stub", callbacks)
{
	struct outcome outcome;

	driver_setenv("CKCACHE_LOG", "debug");
	outcome = GOOD_CLIENT(LAYERED, "callback");
	CU_ASSERT(count(outcome.errors, "miss: ") > 0);
}

TEST(children_say_nothing_twice)
{
	struct outcome outcome;

	driver_setenv("CKCACHE_LOG", "info");
	outcome = CLIENT(LAYERED, "exit-forked", "counts");
	CU_ASSERT_EQUAL(count(outcome.errors, " OpenCL, "), 1);
	outcome = CLIENT(LAYERED, "fork");
	CU_ASSERT_EQUAL(count(outcome.errors, " OpenCL, "), 1);
}

/* Daemons and programs that end in odd ways work as they do without a log. */
TEST_ON("stub", odd_ends)
{
	/*
	 * The last one closes descriptors under the writer, which may complain of that or not, as
	 * ThreadSanitizer always does.
	 */
	static const char *const scenarios[] = { "exit-live", "cancelled", "threads", "fork", "close-all" };
	const size_t all = sizeof(scenarios) / sizeof(scenarios[0]);
#ifdef __SANITIZE_THREAD__
	const size_t tried = all - 1;
#else
	const size_t tried = all;
#endif

	for (size_t i = 0; i < tried; i++) {
		struct outcome silent, outcome;

		driver_begin();
		driver_setenv("LD_PRELOAD", "");
		silent = CLIENT(LAYERED, scenarios[i], "4", "4");
		CU_ASSERT(outcome_good(&silent) || i + 1 == all);
		driver_begin();
		driver_setenv("LD_PRELOAD", "");
		driver_setenv("CKCACHE_LOG", "debug");
		outcome = CLIENT(LAYERED, scenarios[i], "4", "4");
		CU_ASSERT_EQUAL(outcome.code, silent.code);
		CU_ASSERT_STRING_EQUAL(outcome.output, silent.output);
		driver_begin();
		driver_setenv("LD_PRELOAD", "");
		driver_setenv("CKCACHE_LOG", "debug");
		driver_setenv("CKCACHE_LOG_FILE", "log");
		outcome = CLIENT(LAYERED, scenarios[i], "4", "4");
		CU_ASSERT_EQUAL(outcome.code, silent.code);
		CU_ASSERT_STRING_EQUAL(outcome.output, silent.output);
		if (i + 1 < all)
			CU_ASSERT_STRING_EQUAL(outcome.errors, silent.errors);
	}
}

static const char *read_log(const char *path)
{
	static char text[65536];
	FILE *file = fopen(path, "r");
	size_t len = 0;

	if (file) {
		len = fread(text, 1, sizeof(text) - 1, file);
		(void)fclose(file);	/* only read */
	}
	text[len] = '\0';
	return text;
}

TEST(a_file_gets_it_instead)
{
	struct outcome outcome;
	struct stat info;

	driver_setenv("CKCACHE_LOG_FILE", "log");
	for (int i = 0; i < 2; i++) {
		outcome = run(SOURCE, "");
		CU_ASSERT(outcome_good(&outcome));
		CU_ASSERT_STRING_EQUAL(outcome.errors, "");
	}
	CU_ASSERT_EQUAL(stat("work/log", &info), 0);
	CU_ASSERT_EQUAL(info.st_mode & 07777, 0600);
	CU_ASSERT_EQUAL(count(read_log("work/log"), "\n"), 4);
	CU_ASSERT(contains(read_log("work/log"), " opencl_client["));
	CU_ASSERT(contains(read_log("work/log"), "]: hit on disk: "));
}

TEST_ON("stub", a_file_of_no_use_is_named_once)
{
	struct outcome outcome;

	unit_write("work/target", "mine\n");
	CU_ASSERT_EQUAL(symlink("target", "work/log"), 0);
	driver_setenv("CKCACHE_LOG", "debug");
	driver_setenv("CKCACHE_LOG_FILE", "log");
	outcome = run(SOURCE, "");
	CU_ASSERT(outcome_good(&outcome));
	CU_ASSERT_EQUAL(count(outcome.errors, "\n"), 1);
	EXPECT_SAID(outcome, "log: it is a symbolic link\n");
	CU_ASSERT_STRING_EQUAL(read_log("work/target"), "mine\n");
}

/* What is wrong reaches somebody. */
TEST_ON("stub", errors_are_said_where_there_is_no_file)
{
	struct outcome outcome;

	(void)run(SOURCE, "");
	CU_ASSERT_EQUAL(chmod("cache", 0777), 0);
	driver_setenv("CKCACHE_LOG_FILE", "none/log");
	outcome = run(SOURCE, "");
	CU_ASSERT(outcome_good(&outcome));
	EXPECT_SAID(outcome, "log: not found\n");
	EXPECT_SAID(outcome, "others may write to it\n");
}

/* A password can be part of the tier's address. */
TEST_ON("stub", no_secret_is_said)
{
	struct outcome outcome;

	driver_setenv("CKCACHE_LOG", "debug");
	driver_setenv("CKCACHE_REMOTE", "redis://user:SECRET-7@127.0.0.1:1/0");
	outcome = run(SOURCE, "-DKEY=SECRET-7");
	CU_ASSERT(outcome_good(&outcome));
	EXPECT_SAID(outcome, "miss: ");
	CU_ASSERT_PTR_NULL(strstr(outcome.errors, "SECRET-7"));
}
