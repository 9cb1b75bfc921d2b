/* SPDX-License-Identifier: MIT */
/*
 * test_headers: a changed, added, removed, shadowing or retargeted header is
 * never answered with a stale program, and one that is as it was is a hit.
 * The kernel returns the value that the headers gave it; each value comes
 * also from a run without the layer, hits and misses from the statistics.
 */
#include "tests/opencl/driver.h"
#include "tests/support/unit.h"

#define KERNEL "kernel void value(global int *out) { out[get_global_id(0)] = VALUE; }\n"

enum answer { HIT, MISS, BYPASS };

static void write_source(const char *before)
{
	char source[4096];

	(void)snprintf(source, sizeof(source), "%s%s", before, KERNEL);
	unit_write("work/main.cl", source);
}

static void write_value(const char *path, int value)
{
	char full[4096], text[64];

	(void)snprintf(full, sizeof(full), "work/%s", path);
	(void)snprintf(text, sizeof(text), "#define VALUE %d\n", value);
	unit_write(full, text);
}

static bool answered(enum answer answer, const struct driver_stats *before,
		     const struct driver_stats *after)
{
	uint64_t hits = after->hits_disk - before->hits_disk;
	uint64_t misses = after->misses - before->misses;
	uint64_t bypasses = after->bypasses - before->bypasses;

	if (hits == (answer == HIT) && misses == (answer == MISS) && bypasses == (answer == BYPASS))
		return true;
	(void)printf("\n    hits %d misses %d bypasses %d\n", (int)hits, (int)misses, (int)bypasses);
	return false;
}

/*
 * Builds work/main.cl; value: what its kernel gives on a driver that
 * executes. What is not a hit is compared with a run without the layer: that
 * the value itself is what the driver makes of these headers.
 */
static void expect(const char *options, int value, enum answer answer)
{
	struct driver_stats before = driver_stats(), after;
	struct outcome layered = CLIENT(LAYERED, "header", "main.cl", options), bare;
	char line[64];

	after = driver_stats();
	(void)snprintf(line, sizeof(line), "value %d\n", value);
	CU_ASSERT(outcome_good(&layered));
	if (driver_selected()->executes)
		CU_ASSERT_EQUAL(strncmp(layered.output, line, strlen(line)), 0);
	CU_ASSERT(answered(answer, &before, &after));
	if (answer != HIT) {
		bare = CLIENT(BARE, "header", "main.cl", options);
		CU_ASSERT(outcome_same(&bare, &layered));
	}
}

/* A miss, and then a hit. */
static void expect_kept(const char *options, int value)
{
	expect(options, value, MISS);
	expect(options, value, HIT);
}

/* The build fails, with the layer as without it, and nothing is a hit. */
static void expect_failure(const char *options)
{
	struct driver_stats before = driver_stats(), after;
	struct outcome bare = CLIENT(BARE, "header", "main.cl", options);
	struct outcome layered = CLIENT(LAYERED, "header", "main.cl", options);

	after = driver_stats();
	CU_ASSERT_EQUAL(strncmp(bare.output, "build -", 7), 0);
	CU_ASSERT(outcome_same(&bare, &layered));
	CU_ASSERT_EQUAL(after.hits_disk, before.hits_disk);
	CU_ASSERT_EQUAL(after.stores, before.stores);
}

static void begin(const char *before)
{
	driver_begin();
	/* pocl's own cache does not see every header: the reference would be stale. */
	driver_setenv("POCL_KERNEL_CACHE", "0");
	write_source(before);
}

/* Where inc/value.h says 1. */
static void begin_with_value(const char *before)
{
	begin(before);
	write_value("inc/value.h", 1);
}

TEST(changed_header)
{
	begin_with_value("#include \"value.h\"\n");
	expect_kept("-I inc", 1);
	write_value("inc/value.h", 2);
	expect_kept("-I inc", 2);
	write_value("inc/value.h", 1);
	expect("-I inc", 1, HIT);
}

TEST_ON("!pocl", touched_header_of_equal_content)
{
	begin_with_value("#include \"value.h\"\n");
	expect("-Iinc", 1, MISS);
	CU_ASSERT_EQUAL(unlink("work/inc/value.h"), 0);
	write_value("inc/value.h", 1);
	expect("-Iinc", 1, HIT);
}

TEST_ON("!pocl", same_size_and_time_but_other_content)
{
	const struct timespec times[2] = { { 1000000000, 0 }, { 1000000000, 0 } };

	begin_with_value("#include \"value.h\"\n");
	CU_ASSERT_EQUAL(utimensat(AT_FDCWD, "work/inc/value.h", times, 0), 0);
	expect("-Iinc", 1, MISS);
	write_value("inc/value.h", 2);
	CU_ASSERT_EQUAL(utimensat(AT_FDCWD, "work/inc/value.h", times, 0), 0);
	expect("-Iinc", 2, MISS);
}

TEST_ON("!pocl", header_added_earlier_in_the_path)
{
	begin("#include <value.h>\n");
	write_value("second/value.h", 2);
	unit_write("work/first/other.h", "");
	expect_kept("-I first -I second", 2);
	write_value("first/value.h", 1);
	expect_kept("-I first -I second", 1);
	CU_ASSERT_EQUAL(unlink("work/first/value.h"), 0);
	expect("-I first -I second", 2, HIT);
}

TEST_ON("!pocl", header_in_a_directory_that_did_not_exist)
{
	begin("#include <value.h>\n");
	write_value("second/value.h", 2);
	expect("-I first -I second", 2, MISS);
	write_value("first/value.h", 1);
	expect("-I first -I second", 1, MISS);
}

TEST_ON("!pocl", removed_header)
{
	begin_with_value("#include \"value.h\"\n");
	expect("-I inc", 1, MISS);
	CU_ASSERT_EQUAL(unlink("work/inc/value.h"), 0);
	expect_failure("-I inc");
	write_value("inc/value.h", 1);
	expect("-I inc", 1, HIT);
}

TEST(shadowing_in_the_working_directory)
{
	begin_with_value("#include \"value.h\"\n");
	expect("-I . -I inc", 1, MISS);
	write_value("value.h", 5);
	expect_kept("-I . -I inc", 5);
}

/* Whether a driver looks in the working directory by itself is its own affair: as without the layer. */
TEST_ON("!pocl", quoted_without_a_path)
{
	struct outcome before, after;

	begin_with_value("#include \"value.h\"\n");
	before = CLIENT(LAYERED, "header", "main.cl", "-I inc");
	write_value("value.h", 5);
	after = CLIENT(BARE, "header", "main.cl", "-I inc");
	before = CLIENT(LAYERED, "header", "main.cl", "-I inc");
	CU_ASSERT(outcome_same(&before, &after));
}

TEST_ON("!pocl", included_by_macro)
{
	begin_with_value("#define FILE_NAME \"value.h\"\n#include FILE_NAME\n");
	expect_kept("-I inc", 1);
	write_value("inc/value.h", 2);
	expect("-I inc", 2, MISS);
}

TEST_ON("!pocl", odd_spelling_of_the_directive)
{
	begin_with_value("  #  /* here */ include \"value.h\"\n");
	expect("-I inc", 1, MISS);
	write_value("inc/value.h", 2);
	expect_kept("-I inc", 2);
}

TEST_ON("!pocl", continued_directive)
{
	begin_with_value("#inc\\\nlude \"value.h\"\n");
	expect("-I inc", 1, MISS);
	write_value("inc/value.h", 2);
	expect("-I inc", 2, MISS);
}

TEST_ON("!pocl", conditional_by_definition)
{
	begin_with_value("#ifdef OTHER\n#include \"other.h\"\n#else\n#include \"value.h\"\n#endif\n");
	write_value("inc/other.h", 7);
	expect("-I inc", 1, MISS);
	expect("-I inc -DOTHER", 7, MISS);
	write_value("inc/other.h", 8);
	expect_kept("-I inc -DOTHER", 8);
}

TEST(nested_beside_the_includer)
{
	begin("#include \"deep/outer.h\"\n");
	unit_write("work/inc/deep/outer.h", "#include \"value.h\"\n");
	write_value("inc/value.h", 1);
	expect_kept("-I inc", 1);
	write_value("inc/deep/value.h", 3);
	expect("-I inc", 3, MISS);
	write_value("inc/deep/value.h", 4);
	expect_kept("-I inc", 4);
}

TEST_ON("!pocl", retargeted_symbolic_link)
{
	begin("#include \"value.h\"\n");
	write_value("one.h", 1);
	write_value("two.h", 2);
	unit_write("work/inc/none", "");
	CU_ASSERT_EQUAL(symlink("../one.h", "work/inc/value.h"), 0);
	expect_kept("-I inc", 1);
	CU_ASSERT_EQUAL(unlink("work/inc/value.h"), 0);
	CU_ASSERT_EQUAL(symlink("../two.h", "work/inc/value.h"), 0);
	expect("-I inc", 2, MISS);
	write_value("two.h", 3);
	expect("-I inc", 3, MISS);
}

TEST_ON("!pocl", retargeted_directory_link)
{
	begin("#include \"value.h\"\n");
	write_value("one/value.h", 1);
	write_value("two/value.h", 2);
	CU_ASSERT_EQUAL(symlink("one", "work/inc"), 0);
	expect("-I inc", 1, MISS);
	CU_ASSERT_EQUAL(unlink("work/inc"), 0);
	CU_ASSERT_EQUAL(symlink("two", "work/inc"), 0);
	expect("-I inc", 2, MISS);
}

TEST(question_for_a_header)
{
	begin("#if __has_include(\"value.h\")\n#include \"value.h\"\n#else\n#define VALUE 9\n#endif\n");
	expect_kept("-I inc", 9);
	write_value("inc/value.h", 1);
	expect_kept("-I inc", 1);
}

TEST_ON("!pocl", bypass_of_the_date)
{
	begin("#define VALUE (sizeof(__DATE__) > 1)\n");
	/* From Mesa's own cache it comes without being compiled. */
	driver_setenv("MESA_SHADER_CACHE_DISABLE", "1");
	driver_setenv("MESA_GLSL_CACHE_DISABLE", "1");
	expect("", 1, BYPASS);
	expect("", 1, BYPASS);
	EXPECT_STATS("bypass.date 2, entries 0");
}
