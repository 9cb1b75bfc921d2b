/* SPDX-License-Identifier: MIT */
/*
 * test_builds: ckcache_opencl_build() takes what is there, from the machine's
 * cache or the application's storage, builds what is not, and fails only where
 * the driver does.
 */
#include "tests/libckcache/ways.h"
#include "tests/support/unit.h"

/* enum ckcache_origin as text, for the client. */
#define BUILT "0"
#define MEMORY "1"
#define DISK "2"
#define STORAGE "3"

static unsigned int built(void)
{
	return driver_counted("build-source");
}

TEST(what_was_built_is_in_memory_then_on_disk)
{
	BEGIN_EACH_WAY(way) {
		GOOD(way, "build", BUILT, MEMORY, MEMORY);
		EXPECT_BUILT(1);
		GOOD(way, "build", DISK, MEMORY);
		EXPECT_BUILT(1);
	}
}

/* pocl answers the second build of a process from its own cache, which leaves it to replay. */
TEST_ON("!pocl", what_was_evicted_is_built_again)
{
	BEGIN_EACH_WAY(way) {
		GOOD(way, "build", BUILT "+", BUILT "+", BUILT);
		GOOD(way, "build", DISK "+", BUILT "+");
		GOOD(way, "build", BUILT);
		EXPECT_BUILT(5);
	}
}

/* One cache for all ways, and for applications that know nothing of it. */
TEST(all_share_one_cache)
{
	BEGIN_EACH_WAY(first) {
		GOOD(first, "build", BUILT);
		EACH_WAY(way) {
			GOOD(way, "build", DISK);
			if (way != WAY_LINKED)
				GOOD(way, "plain");
		}
		EXPECT_BUILT(1);
	}
	way_begin(WAY_LAYERED);
	driver_setenv("CKCACHE_DIR", "another");
	GOOD(WAY_LAYERED, "plain");
	EACH_WAY(way)
		GOOD(way, "build", DISK);
	EXPECT_BUILT(1);
}

TEST(a_failure_gives_the_program_with_its_log)
{
	BEGIN_EACH_WAY(way) {
		GOOD(way, "build-failure");
		CU_ASSERT_EQUAL(driver_stats_in(way_cache(way)).errors, 0);
		if (driver_is("stub")) {
			driver_setenv("CKCACHE_DIR", way_cache(way));
			TOOL_SAYS(0, "the source says so", "explain", "--all");
		}
	}
}

TEST(several_are_built_in_order)
{
	BEGIN_EACH_WAY(way) {
		GOOD(way, "build-order");
		EXPECT_BUILT(3);
	}
}

TEST(threads_build_once)
{
	static const char *const second[WAYS] = { "second", "third", "fourth" };

	BEGIN_EACH_WAY(way) {
		GOOD(way, "threads");
		EXPECT_BUILT(1);
		driver_stub_setting("STUB_DELAY_MS", "100");
		driver_setenv("CKCACHE_DIR", second[way]);
		GOOD(way, "threads");
		EXPECT_BUILT(2);
	}
}

/* Both want the same, and the second one waits for the first. */
TEST_ON("stub", processes_build_once)
{
	const char *const arguments[] = { "build-any", NULL };
	struct running running[4];

	way_begin(WAY_LINKED);
	driver_stub_setting("STUB_DELAY_MS", "300");
	for (size_t i = 0; i < 4; i++) {
		bool layered = i % 2;

		driver_program(layered ? API_CLIENT_EXTENSION : API_CLIENT);
		running[i] = driver_start(layered ? LAYERED : BARE, arguments);
	}
	for (size_t i = 0; i < 4; i++) {
		struct outcome outcome = driver_wait(running[i]);

		CU_ASSERT(outcome_good(&outcome));
	}
	CU_ASSERT_EQUAL(built(), 1);
}

/* The layer would wait for a build in the same process: this one, which has to be done first. */
TEST_ON("stub", a_build_never_waits_for_itself)
{
	const char *chosen = getenv("CKCACHE_TEST_LAYER");
	struct timespec start, end;
	char command[9000];

	way_begin(WAY_LAYERED);
	driver_setenv("CKCACHE_BUILD_WAIT", "60");
	(void)clock_gettime(CLOCK_MONOTONIC, &start);	/* cannot fail */
	GOOD(WAY_LAYERED, "build", BUILT);
	GOOD(WAY_EXTENSION, "build", DISK "+", BUILT);
	/* With another installation's layer neither keeps what the other one may know better. */
	(void)snprintf(command, sizeof(command), "cp '" LIBRARY "' '%s'", unit_path("libckcache_opencl.so"));
	CU_ASSERT_EQUAL_FATAL(system(command), 0);
	CU_ASSERT_EQUAL_FATAL(setenv("CKCACHE_TEST_LAYER", unit_path("libckcache_opencl.so"), 1), 0);
	GOOD(WAY_LAYERED, "build", BUILT, BUILT);
	CU_ASSERT_EQUAL(chosen ? setenv("CKCACHE_TEST_LAYER", chosen, 1) : unsetenv("CKCACHE_TEST_LAYER"), 0);
	(void)clock_gettime(CLOCK_MONOTONIC, &end);
	CU_ASSERT_EQUAL(built(), 2 + 2);
	/* Had it waited once, this would not have come in time. */
	CU_ASSERT(end.tv_sec - start.tv_sec < 60);
}

TEST_ON("stub", intermediate_language_is_taken_whole)
{
	BEGIN_EACH_WAY(way) {
		GOOD(way, "build-il");
	}
}

TEST_ON("stub", a_child_goes_on)
{
	EACH_WAY(way) {
		char options[4096];

		way_begin(way);
		/* Its deadlock detector gives up at 64 locks, and two caches' are more. */
		(void)snprintf(options, sizeof(options), "%s:detect_deadlocks=0",
			       unit_tsan_options());
		driver_setenv("TSAN_OPTIONS", options);
		GOOD(way, "children");
		CU_ASSERT_EQUAL(built(), 2);
	}
}

TEST_ON("stub", an_entry_that_the_driver_refuses_is_replaced)
{
	static const char *const refusals[] = { "STUB_REFUSE_BINARY", "STUB_REFUSE_BINARY_BUILD" };

	BEGIN_EACH_WAY(way) {
		GOOD(way, "build", BUILT);
		for (size_t i = 0; i < 2; i++) {
			driver_stub_setting(refusals[i], "1");
			GOOD(way, "build", BUILT);
			driver_stub_setting(NULL, NULL);
			GOOD(way, "build", DISK);
		}
		CU_ASSERT_EQUAL(built(), 3);
		/* Also where the driver first runs out of memory. */
		driver_stub_setting("STUB_REFUSE_BINARY", "1\nSTUB_NO_MEMORY=1");
		GOOD(way, "build", BUILT);
		driver_stub_setting(NULL, NULL);
		GOOD(way, "build", DISK);
	}
}

/* As the application's own builds: a header that names a token makes another program of that source. */
TEST_ON("stub", a_token_that_a_header_names_is_no_other)
{
	static const char named[] = "fedcba9876543210fedcba9876543210";
	static const char first[] = "00112233445566778899aabbccddeeff";
	static const char second[] = "0f0e0d0c0b0a09080706050403020100";

	unit_write("work/token.h", "#define pyopencl_defeat_cache_fedcba9876543210fedcba9876543210 a\n");
	EACH_WAY(way) {
		way_begin(way);
		GOOD(way, "build-token", named, BUILT);
		CU_ASSERT_EQUAL(driver_stats_in(way_cache(way)).entries, 0);
		GOOD(way, "build-token", first, BUILT);
		GOOD(way, "build-token", second, DISK);
		GOOD(way, "build-token", named, BUILT);
		GOOD(way, "build-token", second, DISK);
	}
}

/* Once: everything that is held goes, and it is tried again. For good: that is said. */
TEST_ON("stub", out_of_memory_is_tried_again_and_then_said)
{
	BEGIN_EACH_WAY(way) {
		driver_stub_setting("STUB_NO_MEMORY", "1");
		GOOD(way, "build", BUILT, MEMORY);
		/* One from the cache that cannot be loaded is built. */
		GOOD(way, "build", BUILT, MEMORY);
		driver_stub_setting("STUB_NO_MEMORY", "1000");
		GOOD(way, "no-memory");
		driver_stub_setting(NULL, NULL);
		GOOD(way, "build", DISK);
	}
}

/* The user's word, which is kept: no binary is read. */
TEST_ON("stub", what_is_deferred_is_not_kept)
{
	EACH_WAY(way) {
		way_begin(way);
		driver_setenv("CKCACHE_CAPTURE", "deferred");
		GOOD(way, "build", BUILT, BUILT);
		driver_setenv("CKCACHE_CAPTURE", NULL);
		CU_ASSERT_EQUAL(driver_stats_in(way_cache(way)).entries, 0);
		CU_ASSERT_EQUAL(driver_stats_in(way_cache(way)).bypasses, 2);
	}
}

TEST_ON("!pocl", a_storage_of_the_applications_own_does_all)
{
	BEGIN_EACH_WAY(way) {
		GOOD(way, "storage");
		/* The machine's cache has nothing of it. */
		CU_ASSERT_EQUAL(driver_stats_in(way_cache(way)).entries, 0);
		EXPECT_BUILT(5);
	}
}

TEST_ON("!pocl", a_storage_that_lies_is_not_believed)
{
	EACH_WAY(way) {
		/* Half a hundred builds, in which the driver has no say. */
		if (way != WAY_LINKED && !driver_is("stub"))
			break;
		way_begin(way);
		GOOD(way, "storage-lies");
	}
}

TEST_ON("!pocl", a_storage_is_told_what_happens)
{
	BEGIN_EACH_WAY(way) {
		GOOD(way, "storage-traced");
	}
}

TEST(a_storage_loads_many_at_once)
{
	BEGIN_EACH_WAY(way) {
		GOOD(way, "storage-batch");
	}
}

TEST_ON("!pocl", a_storage_that_fails_does_no_harm)
{
	BEGIN_EACH_WAY(way) {
		GOOD(way, "storage-fails");
	}
}

TEST_ON("stub", a_refused_blob_is_evicted_and_replaced)
{
	char path[4096];

	BEGIN_EACH_WAY(way) {
		(void)snprintf(path, sizeof(path), "%s/settings", unit_dir());
		GOOD(way, "storage-refused", path);
	}
}

TEST_ON("stub", what_a_driver_reads_for_every_program_counts_in_a_storage)
{
	BEGIN_EACH_WAY(way) {
		GOOD(way, "storage-files", "stub_builtins.h");
	}
}

TEST(what_cannot_be_seen_is_not_stored)
{
	BEGIN_EACH_WAY(way) {
		driver_setenv("CKCACHE_OBSERVE", "0");
		GOOD(way, "storage-unseen");
		GOOD(way, "build", BUILT, BUILT);
		CU_ASSERT_EQUAL(driver_stats_in(way_cache(way)).entries, 0);
		CU_ASSERT_EQUAL(driver_stats_in(way_cache(way)).bypasses, 4);
	}
}

/* A compiler that comes with the build, and another thread's change. */
TEST_ON("stub", what_the_driver_may_have_had_otherwise_is_not_stored)
{
	static const char *const settings[][2] = {
		{ "STUB_LATE_LIBRARY", PASSING_LIBRARY }, { "STUB_SETENV", "CPATH=/nonexistent" },
	};
	static const char *const reasons[] = { "compiler-loaded-late", "environment-changed" };

	EACH_WAY(way) {
		for (size_t i = 0; i < 2; i++) {
			way_begin(way);
			driver_setenv("CKCACHE_DIR", driver_cache());
			driver_stub_setting(settings[i][0], settings[i][1]);
			GOOD(way, "build", BUILT);
			CU_ASSERT_EQUAL(driver_stats().entries, 0);
			CU_ASSERT_EQUAL(driver_bypasses(reasons[i]), (uint64_t)way + 1);
		}
		/* What comes to a driver that is known to load its compilers is nobody's. */
		way_begin(way);
		driver_stub_as("libnvidia-opencl.so.1");
		driver_stub_setting("STUB_LATE_LIBRARY", PASSING_LIBRARY);
		GOOD(way, "build", BUILT, MEMORY);
	}
}

/* The key of the second program was made before the compiler came, too. */
TEST_ON("stub", a_compiler_that_came_with_the_first_program_is_not_in_the_seconds_key)
{
	EACH_WAY(way) {
		way_begin(way);
		driver_setenv("CKCACHE_DIR", driver_cache());
		driver_stub_setting("STUB_LATE_LIBRARY", PASSING_LIBRARY);
		GOOD(way, "two_of_one");
		CU_ASSERT_EQUAL(driver_stats().entries, 0);
	}
}
