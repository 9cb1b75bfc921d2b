/* SPDX-License-Identifier: MIT */
/* test_settings: what each switch of the configuration does to a real build. */
#include "tests/opencl/driver.h"
#include "tests/support/unit.h"

static struct outcome reference;

static void run_same(const char *scenario)
{
	SAME_AS(&reference, scenario);
}

static void begin(const char *scenario)
{
	driver_begin();
	/* What comes from there is left to replay. */
	driver_setenv("MESA_SHADER_CACHE_DISABLE", "true");
	reference = GOOD_CLIENT(BARE, scenario);
}

TEST(disabled_layer_does_nothing)
{
	begin("vector");
	driver_setenv("CKCACHE_DISABLE", "1");
	run_same("vector");
	run_same("vector");
	CU_ASSERT_EQUAL(driver_cache_files("", NULL, 0), 0);
}

TEST(read_only_hits_and_never_stores)
{
	unsigned int built;

	begin("vector");
	run_same("vector");
	driver_setenv("CKCACHE_READ_ONLY", "1");
	built = driver_counted("build-source");
	run_same("vector");
	CU_ASSERT_EQUAL(driver_counted("build-source"), built);
	GOOD_CLIENT(LAYERED, "vector", "-DK=77");
	CU_ASSERT_EQUAL(driver_cache_files(".bin", NULL, 0), 1);
}

TEST(memory_only)
{
	begin("two-options");
	driver_setenv("CKCACHE_PERSISTENT", "0");
	run_same("two-options");
	CU_ASSERT_EQUAL(driver_cache_files(".bin", NULL, 0), 0);
	if (driver_is("stub"))
		CU_ASSERT_EQUAL(driver_counted("build-source"), 3 + 2);
}

TEST(disk_only)
{
	struct driver_stats stats;

	begin("two-options");
	driver_setenv("CKCACHE_IN_MEM", "0");
	run_same("two-options");
	run_same("two-options");
	stats = driver_stats();
	CU_ASSERT_EQUAL(stats.hits_memory, 0);
	CU_ASSERT(stats.hits_disk >= 3);
}

TEST(image_too_small_to_store)
{
	begin("vector");
	driver_setenv("CKCACHE_MIN_DEVICE_IMAGE_SIZE", "100M");
	run_same("vector");
	run_same("vector");
	CU_ASSERT_EQUAL(driver_stats().entries, 0);
}

TEST(read_only_tier)
{
	char tier[4096];

	begin("vector");
	(void)snprintf(tier, sizeof(tier), "%s/tier", unit_dir());
	driver_setenv("CKCACHE_DIR", tier);
	run_same("vector");
	driver_setenv("CKCACHE_READ_ONLY_DIRS", tier);
	driver_setenv("CKCACHE_DIR", driver_cache());
	run_same("vector");
	EXPECT_STATS("hits_disk 1, misses 0");
}

TEST(trace_says_miss_then_hit)
{
	char path[4096], line[65536];
	unsigned int misses = 0, hits = 0;
	FILE *file;

	begin("vector");
	(void)snprintf(path, sizeof(path), "%s/trace", unit_dir());
	driver_setenv("CKCACHE_TRACE", path);
	run_same("vector");
	run_same("vector");
	file = fopen(path, "r");
	CU_ASSERT_FATAL(file != NULL);
	while (fgets(line, sizeof(line), file)) {
		CU_ASSERT(line[0] == '{' && strstr(line, "}\n") != NULL);
		misses += strstr(line, "\"miss\"") != NULL;
		hits += strstr(line, "\"hit-disk\"") != NULL;
	}
	CU_ASSERT_EQUAL(fclose(file), 0);
	CU_ASSERT_EQUAL(misses, 1);
	CU_ASSERT_EQUAL(hits, 1);
}

/* Whatever their lengths: with its terminator the name has that of a number. */
TEST_ON("stub", trace_tells_numbers_from_texts)
{
	char path[4096], line[65536] = "";
	FILE *file;

	driver_stub_setting("STUB_DEVICE_NAME", "7 bytes");
	(void)snprintf(path, sizeof(path), "%s/trace", unit_dir());
	driver_setenv("CKCACHE_TRACE", path);
	reference = GOOD_CLIENT(LAYERED, "vector");
	file = fopen(path, "r");
	CU_ASSERT_FATAL(file != NULL);
	CU_ASSERT_PTR_NOT_NULL(fgets(line, sizeof(line), file));
	CU_ASSERT_EQUAL(fclose(file), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(line, "\"device.name\":\"7 bytes\","));
	CU_ASSERT_PTR_NOT_NULL(strstr(line, "\"device.driver_version\":\"1.0\","));
	CU_ASSERT_PTR_NOT_NULL(strstr(line, "\"device.vendor_id\":22357,"));
	CU_ASSERT_PTR_NOT_NULL(strstr(line, "\"device.type\":4,"));
}

TEST(unrelated_variables_and_directories_share)
{
	begin("vector");
	run_same("vector");
	driver_setenv("LANG", "de_DE.UTF-8");
	driver_setenv("TERM", "vt100");
	driver_setenv("PWD", "/somewhere");
	driver_setenv("USER", "somebody");
	driver_shell("cd / && exec \"$@\"");
	if (driver_is("neo"))	/* writes into its working directory */
		driver_shell("cd ../home && exec \"$@\"");
	run_same("vector");
	CU_ASSERT_EQUAL(driver_stats().hits_disk, 1);
}

TEST(default_capture)
{
	begin("vector");
	driver_setenv("CKCACHE_CAPTURE", NULL);
	run_same("vector");
	if (driver_is("pocl")) {
		EXPECT_STATS("entries 0, deferred 1, recipes 1");
	} else {
		CU_ASSERT_EQUAL(driver_stats().entries, 1);
	}
}

TEST(random_option_is_noticed)
{
	enum { RUNS = 12, STORED = 8 };

	begin("vector");
	for (unsigned int i = 0; i < RUNS; i++) {
		struct outcome bare;
		char options[64];

		(void)snprintf(options, sizeof(options), "-DK=5 -DSEED=0x%08x", 0x9e3779b9 * (i + 1));
		bare = CLIENT(BARE, "vector", options);
		SAME_AS(&bare, "vector", options);
	}
	CU_ASSERT_EQUAL(driver_stats().misses, RUNS);
	CU_ASSERT_EQUAL(driver_stats().entries, STORED);
	CU_ASSERT_EQUAL(driver_bypasses("not-reused"), RUNS - STORED);
	/* One of them is built once more, and from then on it is there. */
	for (unsigned int i = 0; i < 3; i++) {
		struct outcome bare = CLIENT(BARE, "vector", "-DK=5 -DSEED=0x2e2ac13a");

		SAME_AS(&bare, "vector", "-DK=5 -DSEED=0x2e2ac13a");
	}
	CU_ASSERT_EQUAL(driver_stats().hits_disk, 2);
	/* The program without it is stored as ever. */
	run_same("vector");
	run_same("vector");
	CU_ASSERT_EQUAL(driver_stats().hits_disk, 3);
}
