/* SPDX-License-Identifier: MIT */
/*
 * test_framework: docs/examples/framework.c keeps its blobs in a file of its
 * own: the second run builds nothing, and whatever becomes of the file, the
 * next one is right.
 */
#include "tests/opencl/driver.h"
#include "tests/support/unit.h"

enum { PARTS = 4, BUILDS = 7, DIFFERENT = 4 };	/* an engine and three primitives, of so many programs */

static const char *file_path(void)
{
	static char path[4200];

	(void)snprintf(path, sizeof(path), "%s/work/primitives", unit_dir());
	return path;
}

static void begin(void)
{
	driver_begin();
	/* In the client's place, without its switch. */
	driver_shell("[ \"$2\" = -n ] && shift; shift; exec '" FRAMEWORK "' \"$@\"");
}

static unsigned int occurrences(const char *text, const char *word)
{
	unsigned int count = 0;

	for (; (text = strstr(text, word)); text += strlen(word))
		count++;
	return count;
}

/* One run; its results are right. How many parts were built. */
static unsigned int run_layered(enum driver_layer layer)
{
	bool executes = driver_selected()->executes;
	struct outcome outcome = driver_client(layer, (const char *const[]){
		"primitives", executes ? NULL : "--compile-only", NULL });
	unsigned int built = 0, loaded = 0;
	const char *last = strstr(outcome.output, "built ");

	CU_ASSERT(outcome_good(&outcome));
	for (const char *at = last; at; at = strstr(at + 1, "\nbuilt "))
		last = at;
	CU_ASSERT(last != NULL &&
		  sscanf(last + (*last == '\n'), "built %u, from blobs %u", &built, &loaded) == 2);
	CU_ASSERT_EQUAL(built + loaded, PARTS);
	CU_ASSERT_EQUAL(occurrences(outcome.output, "results verified"), executes ? PARTS - 1 : 0);
	CU_ASSERT_EQUAL(outcome.errors[0], '\0');
	return built;
}

static unsigned int run(void)
{
	return run_layered(BARE);
}

TEST(the_second_run_builds_nothing)
{
	begin();
	CU_ASSERT_EQUAL(run(), PARTS);
	CU_ASSERT_EQUAL(run(), 0);
	CU_ASSERT_EQUAL(run(), 0);
	if (driver_is("stub")) {
		CU_ASSERT_EQUAL(driver_counted("build-source"), BUILDS);
		CU_ASSERT_EQUAL(driver_counted("create-binary"), 2 * (BUILDS - 1));
	}
}

/* The layer also knows which programs primitives have in common. */
TEST(with_the_layer_even_the_first_run_builds_less)
{
	begin();
	CU_ASSERT_EQUAL(run_layered(LAYERED), PARTS);
	CU_ASSERT_EQUAL(run(), 0);
	CU_ASSERT_EQUAL(run_layered(LAYERED), 0);
	if (driver_is("stub"))
		CU_ASSERT_EQUAL(driver_counted("build-source"), DIFFERENT);
}

TEST_ON("stub", another_driver_has_everything_built_again)
{
	begin();
	CU_ASSERT_EQUAL(run(), PARTS);
	driver_setenv("STUB_DRIVER_VERSION", "1.1");
	CU_ASSERT_EQUAL(run(), PARTS);
	CU_ASSERT_EQUAL(run(), 0);
	/* The file has both. */
	driver_setenv("STUB_DRIVER_VERSION", NULL);
	CU_ASSERT_EQUAL(run(), 0);
}

static off_t file_size(void)
{
	struct stat info = { .st_size = 0 };

	CU_ASSERT_EQUAL(stat(file_path(), &info), 0);
	return info.st_size;
}

/* How finely the file is gone through: a process each. */
static off_t step(off_t size)
{
	return size / (driver_is("stub") ? 41 : 5) + 1;
}

TEST(a_truncated_file_is_filled_again)
{
	off_t size;

	begin();
	CU_ASSERT_EQUAL(run(), PARTS);
	size = file_size();
	for (off_t len = 0; len < size; len += step(size)) {
		CU_ASSERT_EQUAL(truncate(file_path(), len), 0);
		CU_ASSERT(run() > 0);
		CU_ASSERT_EQUAL(run(), 0);
		size = file_size();
	}
}

static void flip(off_t at)
{
	FILE *file = fopen(file_path(), "r+");
	int byte;

	CU_ASSERT_FATAL(file != NULL);
	CU_ASSERT_EQUAL(fseek(file, (long)at, SEEK_SET), 0);
	byte = fgetc(file);
	CU_ASSERT_EQUAL(fseek(file, (long)at, SEEK_SET), 0);
	CU_ASSERT_EQUAL(fputc(byte ^ 0x40, file), byte ^ 0x40);
	CU_ASSERT_EQUAL(fclose(file), 0);
}

TEST(a_damaged_file_is_mended)
{
	off_t size;

	begin();
	CU_ASSERT_EQUAL(run(), PARTS);
	size = file_size();
	for (off_t at = 0; at < size; at += step(size)) {
		flip(at);
		(void)run();	/* a time that was noted may be another, which is no matter */
		CU_ASSERT_EQUAL(run(), 0);
	}
}

TEST(what_is_no_such_file_is_replaced)
{
	begin();
	unit_write("work/primitives", "something else entirely, and longer than a header");
	CU_ASSERT_EQUAL(run(), PARTS);
	CU_ASSERT_EQUAL(run(), 0);
	unit_write("work/primitives", "");
	CU_ASSERT_EQUAL(run(), PARTS);
	CU_ASSERT_EQUAL(run(), 0);
}
