/* SPDX-License-Identifier: MIT */
/*
 * test_transparent: a scenario gives the same output and exit code without the
 * layer, with it on an empty cache, and with it on a filled one in a fresh
 * process; and the filled one compiles nothing. On real drivers only what runs
 * kernels, threads and processes: what they answer is test_differential's.
 */
#include "tests/opencl/driver.h"
#include "tests/support/unit.h"

/* What the cold run and the warm run are to count. */
struct expected {
	unsigned int cold_misses, cold_memory;
	unsigned int warm_disk, warm_memory;
};

static void check_counts(const struct expected *expected, const struct driver_stats *cold,
			 const struct driver_stats *warm)
{
	CU_ASSERT_EQUAL(cold->misses, expected->cold_misses);
	CU_ASSERT_EQUAL(cold->hits_memory, expected->cold_memory);
	CU_ASSERT_EQUAL(cold->hits_disk, 0);
	CU_ASSERT_EQUAL(warm->misses, expected->cold_misses);
	CU_ASSERT_EQUAL(warm->hits_disk, expected->warm_disk);
	CU_ASSERT_EQUAL(warm->hits_memory - cold->hits_memory, expected->warm_memory);
	CU_ASSERT_EQUAL(warm->errors, 0);
	CU_ASSERT_EQUAL(warm->stores, cold->stores);
}

/* The stub's own count: what was created is freed again, and nothing is built on hits. */
static void check_stub(unsigned int builds_cold, bool frees)
{
	if (!driver_is("stub"))
		return;
	CU_ASSERT_EQUAL(driver_counted("build-source"), builds_cold);
	if (frees)
		CU_ASSERT_EQUAL(driver_counted("free-program"), driver_counted("create-source") +
				driver_counted("create-binary") + driver_counted("link"));
}

static void same_as_bare(const char *const *arguments, const struct expected *expected, bool frees)
{
	struct outcome bare, cold, warm;
	struct driver_stats after_cold, after_warm;
	unsigned int builds;

	bare = driver_client(BARE, arguments);
	builds = driver_counted("build-source");
	cold = driver_client(LAYERED, arguments);
	after_cold = driver_stats();
	if (expected)
		builds += expected->cold_misses;
	warm = driver_client(LAYERED, arguments);
	after_warm = driver_stats();
	CU_ASSERT(outcome_good(&bare));
	CU_ASSERT(outcome_same(&bare, &cold));
	CU_ASSERT(outcome_same(&bare, &warm));
	if (expected) {
		check_counts(expected, &after_cold, &after_warm);
		check_stub(builds, frees);
	}
}

#define SAME(expected, ...) \
	same_as_bare((const char *const[]){ __VA_ARGS__, NULL }, expected, true)
#define COUNTS(...) (&(const struct expected){ __VA_ARGS__ })

/* Refused, taken, or taken by some: with what they say on stderr. */
TEST(options_that_are_not_known)
{
	static const char *const options[] = {
		"-cl-new", "-cl-include-sip-csr", "-cmc -Qxcm_register_file_size=256", "-Xclang -fno-plt", "-fno-plt",
		"-v", "-ftime-report", "-mllvm -time-passes",
	};
	bool observed = driver_is("stub") || driver_is("neo");

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		struct outcome bare = CLIENT(BARE, "vector", options[i]);
		unsigned long hits = driver_stats().hits_disk;

		for (int j = 0; j < 2; j++) {
			struct outcome layered = CLIENT(LAYERED, "vector", options[i]);

			CU_ASSERT(outcome_same(&bare, &layered));
			CU_ASSERT_EQUAL(!bare.errors[0], !layered.errors[0]);
		}
		/* What a build proved; the driver may not know the option. */
		if (observed && strcmp(options[i], "-cl-include-sip-csr") == 0 && outcome_good(&bare))
			CU_ASSERT_EQUAL(driver_stats().hits_disk, hits + 1);
	}
}


TEST(results_and_a_warm_start) { SAME(COUNTS(1, 0, 1, 0), "vector", "-DK=5"); }
TEST_ON("stub", all_queries) { SAME(COUNTS(1, 0, 1, 0), "queries"); }
TEST(rebuild_with_other_options) { SAME(COUNTS(3, 1, 3, 1), "rebuild"); }
TEST(two_programs_of_one_source) { SAME(COUNTS(2, 1, 2, 1), "two-options"); }
TEST_ON("stub", callback_once_with_the_applications_program) { SAME(COUNTS(2, 0, 2, 0), "callback"); }
TEST_ON("stub", compile_and_link) { SAME(NULL, "link"); }
TEST_ON("stub", build_for_one_device) { SAME(COUNTS(1, 0, 1, 0), "one-device"); }
TEST_ON("stub", applications_own_binary) { SAME(COUNTS(1, 0, 1, 0), "binary"); }
TEST_ON("stub neo", build_with_live_kernels) { SAME(NULL, "live-kernels"); }
TEST_ON("stub neo", build_with_a_live_clone) { SAME(NULL, "live-clone"); }

TEST(process_exit_with_all_alive)
{
	same_as_bare((const char *const[]){ "exit-live", NULL }, COUNTS(1, 0, 1, 0), false);
}

/* oclgrind crashes here without any layer; pocl calls back all the same, against the specification. */
TEST_ON("stub neo rusticl", refused_build_does_not_call_back) { SAME(NULL, "callback-refused"); }

TEST(failing_source_stores_nothing)
{
	struct driver_stats stats;

	SAME(NULL, "failing");
	stats = driver_stats();
	CU_ASSERT_EQUAL(stats.entries, 0);
	CU_ASSERT_EQUAL(stats.stores, 0);
	CU_ASSERT_EQUAL(stats.hits_disk + stats.hits_memory, 0);
}

/* oclgrind runs one kernel at a time. */
TEST_ON("!oclgrind", threads_share_one_queue_of_work)
{
	SAME(NULL, "threads", "4", "5");
	EXPECT_STATS("misses 5, hits_disk 5, hits_memory 30");
}

/*
 * pocl with its kernel cache off unpacks a binary where the binary says. With Level Zero its threads
 * run llvm-spirv at the same time, and then nothing is stored.
 */
TEST_ON("stub neo rusticl pocl amd", processes_load_the_same_at_once)
{
	enum { PROCESSES = 4 };
	const char *const arguments[] = { "threads", "4", "8", NULL };
	struct running running[PROCESSES];
	struct outcome first, outcome;

	driver_setenv("POCL_KERNEL_CACHE", "0");
	/* Other tests compile the same programs. */
	driver_setenv("MESA_SHADER_CACHE_DISABLE", "true");
	first = driver_client(LAYERED, arguments);
	CU_ASSERT(outcome_good(&first));
	for (int i = 0; i < PROCESSES; i++)
		running[i] = driver_start(LAYERED, arguments);
	for (int i = 0; i < PROCESSES; i++) {
		outcome = driver_wait(running[i]);
		CU_ASSERT(outcome_same(&first, &outcome));
	}
	CU_ASSERT_EQUAL(driver_stats().misses, 8);
}
