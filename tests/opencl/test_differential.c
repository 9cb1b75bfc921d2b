/* SPDX-License-Identifier: MIT */
/*
 * test_differential: what `differential` prints without the layer, with it on
 * an empty cache, with it on a filled one, and once more, when what failed in
 * both is remembered, line by line. Each difference
 * is printed; one that diff_explained does not have is a failure, and so is a
 * warm run that stores anything. Some drivers answer some lines differently
 * from run to run: where a difference is not explained it runs without the
 * layer once more, and lines in which those two runs differ are not compared.
 */
#include "tests/opencl/driver.h"
#include "tests/support/diff_compare.h"
#include "tests/support/unit.h"

/* Lines that a driver's whole run has at least: there are about 1,900. */
enum { LEAST_LINES = 1500, LEAST_SUBJECTS = 50, RUNS = 3 };

static struct {
	unsigned int lines, subjects, explained, wavering;
} total;	/* of all groups */

static char where[256];	/* the driver and its version */

static struct diff_counts compare_outputs(const char *group, const char *when, const char *bare,
					  const char *layered)
{
	char *a = strdup(bare), *b = strdup(layered);
	struct diff_counts counts;

	CU_ASSERT_FATAL(a && b);
	(void)printf("\n  %s, %s", group, when);
	counts = diff_compare(where, a, b);
	free(a);
	free(b);
	return counts;
}

static void judge(const struct diff_counts *counts)
{
	CU_ASSERT(counts->lines > 0);
	CU_ASSERT_EQUAL(counts->unexplained, 0);
	total.lines += counts->lines;
	total.subjects += counts->subjects;
	total.explained += counts->differences;
	total.wavering += counts->wavering;
}

/*
 * pocl's logs name its cache directory, of which each of two runs at once has
 * one. They are equally long, since sizes of logs are compared.
 */
static void name_alike(char *output)
{
	static const char name[] = "/pocl-", alike[] = "/pocl";

	for (char *at = output; (at = strstr(at, name)); ) {
		char *end = at + strcspn(at + 1, "/ \n") + 1;

		at += sizeof(alike) - 1;
		memmove(at, end, strlen(end) + 1);
	}
}

/*
 * AMD's fills the rest of a buffer that is too large, and writes the beginning of an answer into one that
 * is too small. The layer writes answers only.
 */
static void leave_out_rests(char *output)
{
	static const char *const words[][2] = { { " all smaller -30", " smaller -30" },
						{ " -30 untouched", " -30 written" } };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t seen = strlen(words[i][0]), said = strlen(words[i][1]);

		for (char *at = output; (at = strstr(at, words[i][0])); at += said) {
			memcpy(at, words[i][1], said);
			memmove(at + said, at + seen, strlen(at + seen) + 1);
		}
	}
}

static struct running start(enum driver_layer layer, const char *const *arguments,
			    const char *own)
{
	char path[4096];

	/* The driver's own cache is on, as by default; rusticl's is by driver.c. */
	(void)snprintf(path, sizeof(path), "%s/%s", unit_dir(), own);
	CU_ASSERT_FATAL(mkdir(path, 0777) == 0 || errno == EEXIST);
	driver_setenv("POCL_CACHE_DIR", path);
	driver_setenv("NEO_CACHE_DIR", path);
	driver_setenv("NEO_CACHE_PERSISTENT", NULL);
	driver_setenv("AMD_COMGR_CACHE_DIR", path);
	driver_setenv("AMD_COMGR_CACHE", NULL);
	return driver_start(layer, arguments);
}

static struct outcome wait_for(struct running running)
{
	struct outcome outcome = driver_wait(running);

	CU_ASSERT(outcome_good(&outcome));
	name_alike(outcome.output);
	outcome_mask_temporaries(outcome.output);
	if (driver_is("amd"))
		leave_out_rests(outcome.output);
	return outcome;
}

/* What the driver built between the two. */
static uint64_t built_between(const struct driver_stats *from, const struct driver_stats *to)
{
	return to->misses - to->failed - (from->misses - from->failed);
}

/* Subjects whose process its driver ended within a build, which nobody has counted then. */
static int64_t ended_in_build(const char *output)
{
	static const char end[] = ".exit: signal ", build[] = ".build: ";
	int64_t count = 0;

	for (const char *at = output; (at = strstr(at, end)); at++) {
		const char *name = at;
		char line[256];

		while (name > output && name[-1] != '\n')
			name--;
		(void)snprintf(line, sizeof(line), "%.*s%s", (int)(at - name), name, build);
		count += !strstr(output, line);
	}
	return count;
}

static uint64_t lookups_between(const struct driver_stats *from, const struct driver_stats *to)
{
	return to->misses + to->hits_memory + to->hits_disk - (from->misses + from->hits_memory + from->hits_disk);
}

/*
 * All of what a cold run could store is a hit in the warm one, which therefore builds so much
 * less. What failed in the same way in two subjects, each of which is a process, is remembered. before: as
 * it began. uncounted: builds in which more processes of the cold run than of the warm one ended.
 */
static void check_hits(const struct driver_stats *before, const struct driver_stats *cold,
		       const struct driver_stats *warm, int64_t uncounted)
{
	if (warm->stores != cold->stores)
		driver_print_stats();	/* what kept a program from the cold one */
	CU_ASSERT_EQUAL(cold->errors, 0);
	CU_ASSERT_EQUAL(warm->errors, 0);
	CU_ASSERT_EQUAL(warm->stores, cold->stores);
	CU_ASSERT_EQUAL(built_between(cold, warm),
			built_between(before, cold) + (uint64_t)uncounted - (cold->stores - before->stores));
	CU_ASSERT(warm->failed - cold->failed <= cold->failed - before->failed);
	/* What is not built again for being remembered is a hit; real drivers' own caches make a bypass of some. */
	if (driver_is("stub"))
		CU_ASSERT_EQUAL(lookups_between(cold, warm), lookups_between(before, cold));
	if (cold->stores)
		CU_ASSERT(warm->hits_disk + warm->hits_memory - cold->hits_disk - cold->hits_memory >=
			  cold->stores);
}

/* prepared: what the first run compiles is in the cache of the cold one, and what it links is not. */
static void same_answers(const char *group, bool prepared)
{
	const char *const arguments[] = { "differential", "-g", group, NULL };
	struct driver_stats before = { 0 }, after_cold, after_warm, after_third;
	struct diff_counts cold_counts, warm_counts, third_counts;
	struct outcome bare, again, cold, warm, third;
	struct running running;
	char *steady;

	driver_stub_setting("STUB_NO_NAMES", "1");
	driver_setenv("LD_PRELOAD", "");	/* misuse leaks */
	if (prepared) {
		static const char *const part[] = { "differential", "-p", "-g", "relinks", NULL };

		(void)wait_for(start(LAYERED, part, "pocl-b"));	/* it ended well */
		before = driver_stats();
		CU_ASSERT(before.stores > 0);
	}
	running = start(BARE, arguments, "pocl-a");
	cold = wait_for(start(LAYERED, arguments, "pocl-b"));
	after_cold = driver_stats();
	bare = wait_for(running);
	warm = wait_for(start(LAYERED, arguments, "pocl-b"));
	after_warm = driver_stats();
	third = wait_for(start(LAYERED, arguments, "pocl-b"));
	after_third = driver_stats();
	cold_counts = compare_outputs(group, "cold", bare.output, cold.output);
	warm_counts = compare_outputs(group, "warm", bare.output, warm.output);
	third_counts = compare_outputs(group, "third", bare.output, third.output);
	if (cold_counts.unexplained + warm_counts.unexplained + third_counts.unexplained) {
		again = wait_for(start(BARE, arguments, "pocl-c"));
		steady = diff_steady(bare.output, again.output);
		cold_counts = compare_outputs(group, "cold, where two bare runs agree", steady, cold.output);
		warm_counts = compare_outputs(group, "warm, where two bare runs agree", steady, warm.output);
		third_counts = compare_outputs(group, "third, where two bare runs agree", steady, third.output);
		free(steady);
	}
	judge(&cold_counts);
	judge(&warm_counts);
	judge(&third_counts);
	(void)printf("\n  %s: cold %u stores %u misses, warm %u stores %u misses %u hits, third %u misses", group,
		     (unsigned int)after_cold.stores, (unsigned int)after_cold.misses,
		     (unsigned int)after_warm.stores, (unsigned int)after_warm.misses,
		     (unsigned int)after_warm.hits_disk, (unsigned int)after_third.misses);
	check_hits(&before, &after_cold, &after_warm, ended_in_build(cold.output) - ended_in_build(warm.output));
	CU_ASSERT_EQUAL(after_third.errors, 0);
	CU_ASSERT_EQUAL(after_third.stores, after_warm.stores);
	CU_ASSERT(after_third.misses - after_warm.misses <= after_warm.misses - after_cold.misses);
}

/* The version as the driver reports it decides which rows apply. */
TEST(version_of_driver)
{
	struct outcome outcome = CLIENT(BARE, "differential", "-v");

	CU_ASSERT_FATAL(outcome_good(&outcome));
	(void)snprintf(where, sizeof(where), "%s %.*s", driver_selected()->name,
		       (int)strcspn(outcome.output, "\n"), outcome.output);
	(void)printf("\n  %s", where);
}

TEST(states_of_programs) { same_answers("states", false); }
TEST(kernels) { same_answers("kernels", false); }
TEST(misuses) { same_answers("misuses", false); }
TEST(links) { same_answers("links", false); }
TEST(links_of_hits) { same_answers("relinks", true); }
TEST(corpus_of_kernels) { same_answers("corpus", false); }
TEST(lives) { same_answers("lives", false); }
TEST(intermediate_languages) { same_answers("ils", false); }

/* The comparison above was not one of empty outputs; each line counts in three runs. */
TEST(enough_was_compared)
{
	diff_print_unused(where);
	(void)printf("\n  %s: %u lines of %u subjects compared, %u differences, %u not compared", where,
		     total.lines / RUNS, total.subjects / RUNS, total.explained, total.wavering / RUNS);
	CU_ASSERT(total.lines / RUNS >= LEAST_LINES);
	CU_ASSERT(total.subjects / RUNS >= LEAST_SUBJECTS);
	CU_ASSERT(total.wavering < total.lines / 20);
}
