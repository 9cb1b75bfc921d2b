/* SPDX-License-Identifier: MIT */
/*
 * run_parallel: eight processes of eight threads build the same fifty
 * programs at once; each checks its own results. Then one more process does
 * the same without a single build. The driver is the argument: the stub,
 * which counts, or a real one, with fewer of everything. Then the same on a network
 * file system, with the one thread that each of many ranks of a job has.
 */
#include "tests/opencl/driver.h"
#include "tests/support/unit.h"

enum { PROCESSES = 8, RANKS = 32 };

static bool all_right(struct outcome *outcome)
{
	bool right = outcome_good(outcome) && !strncmp(outcome->output, "wrong 0\n", 8);

	if (!right)
		(void)printf("\n    %s", outcome->output);
	return right;
}

static void crowd(unsigned int processes, const char *threads, const char *programs)
{
	const char *const arguments[] = { "threads", threads, programs, NULL };
	struct running running[RANKS];
	struct outcome outcome;

	for (unsigned int i = 0; i < processes; i++)
		running[i] = driver_start(LAYERED, arguments);
	for (unsigned int i = 0; i < processes; i++) {
		outcome = driver_wait(running[i]);
		CU_ASSERT(all_right(&outcome));
	}
}

TEST(same_programs_in_all_processes)
{
	bool stub = driver_is("stub");
	unsigned int processes = stub ? PROCESSES : 3, programs = stub ? 50 : 6, built;
	unsigned int threads = stub ? 8 : 3;
	struct driver_stats stats;

	driver_stub_setting("STUB_DELAY_MS", "2");
	crowd(processes, stub ? "8" : "3", stub ? "50" : "6");
	stats = driver_stats();
	built = driver_counted("build-source");
	CU_ASSERT_EQUAL(stats.entries, programs);
	CU_ASSERT_EQUAL(stats.errors, 0);
	CU_ASSERT_EQUAL(stats.bypasses, 0);
	/* No process builds a program twice, whatever its threads do. */
	CU_ASSERT(stats.misses >= programs && stats.misses <= programs * processes);
	CU_ASSERT_EQUAL(stats.misses + stats.hits_disk + stats.hits_memory,
			processes * threads * programs);
	if (stub)
		CU_ASSERT_EQUAL(built, stats.misses);
	crowd(1, stub ? "8" : "3", stub ? "50" : "6");
	CU_ASSERT_EQUAL(driver_counted("build-source"), built);
	CU_ASSERT_EQUAL(driver_stats().misses, stats.misses);
	CU_ASSERT_EQUAL(driver_stats().hits_disk - stats.hits_disk, programs);
}

/* Builders are waited for; only one that gets no processor for long is not. Without that all would build. */
TEST(ranks_on_a_network_file_system)
{
	enum { PROGRAMS = 4 };
	char path[4200];

	/* A sanitizer wants its library to be the first. */
	if (!driver_is("stub") || UNIT_IS_SANITIZED)
		return (void)printf("with the stub alone, and without sanitizers; ");
	CU_ASSERT_EQUAL_FATAL(mkdir("run", 0700), 0);
	(void)snprintf(path, sizeof(path), "%s/run", unit_dir());
	driver_setenv("XDG_RUNTIME_DIR", path);
	(void)snprintf(path, sizeof(path), "%s/cache", unit_dir());
	driver_setenv("REMOTE_BELOW", path);
	driver_setenv("LD_PRELOAD", REMOTE_LIBRARY);
	driver_stub_setting("STUB_DELAY_MS", "100");
	crowd(RANKS, "1", "4");
	CU_ASSERT_EQUAL(driver_stats().entries, PROGRAMS);
	printf("%u built by %d ranks; ", driver_counted("build-source"), RANKS);
	CU_ASSERT(driver_counted("build-source") < 2 * PROGRAMS);
	CU_ASSERT_EQUAL(access("run/ckcache", F_OK), 0);
	CU_ASSERT_EQUAL(access("cache/build.lock", F_OK), -1);
}

int main(int argc, char **argv)
{
	(void)driver_select(argc, argv);
	return unit_run(NULL);
}
