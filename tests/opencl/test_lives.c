/* SPDX-License-Identifier: MIT */
/*
 * test_lives: builds of one program that meet each other, a fork, or the end
 * of what they came from, on a driver that lets them meet in a certain order.
 * What a build made is stored under its own key or not at all, nothing hangs,
 * and the driver keeps each object for as long as the application has a use
 * for it.
 */
#include "tests/opencl/driver.h"
#include "tests/support/unit.h"

/*
 * gcc 12's runtime for threads gives up where a forked child's thread takes the
 * place of one of its parent's, and has a thread of its own, with which a
 * process goes on that its last other thread has left.
 */
#if defined(__SANITIZE_THREAD__)
#define THREAD_SANITIZED true
#else
#define THREAD_SANITIZED false
#endif

static bool is_left_to_others(void)
{
	if (THREAD_SANITIZED)
		(void)fprintf(stderr, "  not tried: the thread sanitizer cannot\n");
	return THREAD_SANITIZED;
}

/* The client's answers with the layer equal those without; that many times. */
static void runs_alike(unsigned int times, const char *const *arguments)
{
	struct outcome reference = driver_client(BARE, arguments);

	CU_ASSERT(outcome_good(&reference));
	for (unsigned int i = 0; i < times; i++)
		SAME_ANSWERS(&reference, arguments);
}
#define RUNS_ALIKE(times, ...) runs_alike(times, (const char *const[]){ __VA_ARGS__, NULL })

static void prints(const char *expected, const char *const *arguments)
{
	struct outcome outcome = driver_client(LAYERED, arguments);

	CU_ASSERT(outcome_good(&outcome));
	CU_ASSERT_STRING_EQUAL(outcome.output, expected);
	if (strcmp(outcome.output, expected) != 0)
		(void)printf("\n    printed: %s\n    %s\n", outcome.output, outcome.errors);
}
#define PRINTS(expected, ...) prints(expected, (const char *const[]){ __VA_ARGS__, NULL })

static void superseded(const char *mode, const char *capture, uint64_t stores)
{
	driver_begin();
	driver_setenv("CKCACHE_CAPTURE", capture);
	driver_stub_setting("STUB_SUPERSEDED", mode);
	RUNS_ALIKE(1, "superseded");
	CU_ASSERT_EQUAL(driver_stats().stores, stores);
	driver_stub_setting(NULL, NULL);
	RUNS_ALIKE(2, "vector", "-DK=1");
	RUNS_ALIKE(2, "vector", "-DK=2");
}

TEST(a_refused_release_releases_nothing)
{
	driver_begin();
	driver_stub_setting("STUB_REFUSE_RELEASE", "1");
	RUNS_ALIKE(2, "refused-release");
	CU_ASSERT_EQUAL(driver_stats().hits_disk, 1);
	driver_stub_setting(NULL, NULL);
}

TEST(superseded_build_is_not_stored)
{
	superseded("callback", "eager", 0);
}

/* The next build waits until the binaries are read: they are the first one's, of the size that was asked for. */
TEST(a_build_waits_while_another_is_read)
{
	superseded("binary", "eager", 2);
}

static void nested(const char *capture, const char *async)
{
	driver_begin();
	driver_setenv("CKCACHE_CAPTURE", capture);
	driver_setenv("STUB_ASYNC", async);
	RUNS_ALIKE(2, "nested");
	RUNS_ALIKE(2, "nested", "compile");
	RUNS_ALIKE(1, "vector", "-DK=1");
	RUNS_ALIKE(1, "vector", "-DK=2");
	RUNS_ALIKE(1, "vector", "-DK=3");
}

TEST(callbacks_may_build_the_program_again)
{
	nested("eager", NULL);
	/* Three builds and an object. */
	CU_ASSERT_EQUAL(driver_stats().entries, 4);
}

TEST(asynchronous_callbacks_may_build_the_program_again)
{
	nested("eager", "1");
}

TEST(callbacks_may_build_again_what_is_not_captured_at_once)
{
	nested("deferred", NULL);
	nested("deferred", "1");
}

/* Misses and hits, with and without a key, of a driver that calls back at once or in a thread of its own. */
TEST(callbacks_may_release_all_that_their_call_is_about)
{
	static const char *const settings[] = { NULL, "STUB_ASYNC", "STUB_REFUSE_LOADED_LINK" };

	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		driver_begin();
		/* A link that is refused keeps its notice, should the driver still call back. */
		driver_setenv("LD_PRELOAD", settings[i] ? "" : NULL);
		driver_setenv("CKCACHE_CAPTURE", "eager");
		driver_setenv("MALLOC_PERTURB_", "90");	/* what is released no longer looks like a program */
		if (settings[i])
			driver_stub_setting(settings[i], "1");
		RUNS_ALIKE(2, "released-in-callback", "build", "-DK=1");
		RUNS_ALIKE(2, "released-in-callback", "build", "-cl-unknown-to-all");
		RUNS_ALIKE(2, "released-in-callback", "compile", "-DK=1");
		RUNS_ALIKE(2, "released-in-callback", "link", "-DK=1");
		RUNS_ALIKE(2, "released-in-callback", "link", "-DK=1",
			   "kernel void unresolved(global int *out) {}\n");
		driver_setenv("MALLOC_PERTURB_", NULL);
		driver_stub_setting(NULL, NULL);
	}
}

/* Neither the parent nor the child calls the driver for what it could give. */
TEST(at_the_end_no_driver_is_called)
{
	char counts[4096];

	driver_setenv("CKCACHE_CAPTURE", "deferred");
	(void)snprintf(counts, sizeof(counts), "%s/counts-of-child", unit_dir());
	PRINTS("build 0\nright 1\nchild 0\n", "exit-forked", counts);
	CU_ASSERT(access(counts, F_OK) < 0);
	CU_ASSERT_EQUAL(driver_counted("read-binary"), 0);
	EXPECT_STATS("stores 0, misses 1");
}

TEST(forked_child_waits_for_no_build_of_its_parent)
{
	if (is_left_to_others())
		return;
	driver_setenv("LD_PRELOAD", "");	/* a leak checker in the child waits for the parent's threads */
	PRINTS("child's build 0\nright 1\nbuild 0\nbuild 0\nright 1\nrelease 0\n"
	       "child 0\nbuild 0\nbuild 0\nright 1\nrelease 0\nrelease context 0\n",
	       "fork-building");
	RUNS_ALIKE(1, "vector", "-DK=1");
	RUNS_ALIKE(1, "vector", "-DK=2");
	RUNS_ALIKE(1, "vector", "-DK=3");
	RUNS_ALIKE(1, "vector", "-DK=4");
}

/* Of a driver that loads one program at a time. */
TEST(forked_child_waits_for_no_load_of_its_parent)
{
	if (is_left_to_others())
		return;
	driver_stub_as("libpocl.so.7");
	driver_stub_setting("STUB_DRIVER_VERSION", "7.1");
	driver_setenv("CKCACHE_CAPTURE", "eager");
	/* From the first build on: where a row's tool is installed, its libraries are in the key. */
	driver_setenv("LD_PRELOAD", "");
	RUNS_ALIKE(1, "vector", "-DK=1");
	CU_ASSERT_EQUAL_FATAL(driver_stats().stores, 1);	/* else nobody comes to the gate */
	PRINTS("child's build 0\nright 1\nchild 0\nbuild 0\nrelease 0\nrelease context 0\n", "fork-loading");
	EXPECT_STATS("misses 1, hits_disk 1, hits_memory 1");
	driver_setenv("CKCACHE_CAPTURE", NULL);
}

TEST(forked_child_waits_for_no_callback_of_its_parent)
{
	driver_setenv("STUB_ASYNC", "1");
	PRINTS("build 0\nchild's build 0\nright 1\nchild 0\nright 1\nrelease 0\n"
	       "release context 0\n", "fork-called-back");
	/* The child's build was cached as if nothing was under way. */
	EXPECT_STATS("misses 2, entries 2");
	RUNS_ALIKE(1, "vector", "-DK=1");
	RUNS_ALIKE(1, "vector", "-DK=3");
	CU_ASSERT_EQUAL(driver_stats().hits_disk, 2);
}

/* In which line of the driver's counts the event is last; 0: nowhere. */
static unsigned int last_line_of(const char *event)
{
	char path[4096], line[64];
	unsigned int number = 0, found = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/counts", unit_dir());
	file = fopen(path, "r");
	CU_ASSERT_FATAL(file != NULL);
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		number++;
		if (!strcmp(line, event))
			found = number;
	}
	(void)fclose(file);	/* only read */
	return found;
}

static void older_kernels_live(const char *options, const char *first, const char *second)
{
	RUNS_ALIKE(1, "older-kernels", options, first, second);
	/* P goes after the last kernel, whichever E that came from. */
	CU_ASSERT(last_line_of("free-source") > last_line_of("free-kernel"));
	CU_ASSERT_EQUAL(driver_counted("free-source"), driver_counted("create-source"));
	CU_ASSERT_EQUAL(driver_counted("free-program"),
			driver_counted("create-source") + driver_counted("create-binary"));
}

TEST(program_lives_as_long_as_kernels_of_any_build)
{
	driver_stub_setting("STUB_REBUILD", "1");
	RUNS_ALIKE(1, "vector", "-DK=1");
	RUNS_ALIKE(1, "vector", "-DK=2");
	/* The third build is a miss: P answers for itself beside the kernels of two E. */
	older_kernels_live("-DK=31", "a", "b");
	older_kernels_live("-DK=32", "b", "a");
	/* And a hit: a third E. */
	older_kernels_live("-DK=31", "a", "b");
	older_kernels_live("-DK=31", "b", "a");
	CU_ASSERT(driver_stats().hits_disk + driver_stats().hits_memory >= 10);
}

static void expect_all_freed(void)
{
	CU_ASSERT_EQUAL(driver_counted("free-program"),
			driver_counted("create-source") + driver_counted("create-binary"));
}

TEST(a_program_that_is_retained_again_outlives_its_kernel)
{
	RUNS_ALIKE(3, "retained-again");
	CU_ASSERT_EQUAL(driver_stats().hits_disk, 2);
	expect_all_freed();
}

/* On a driver whose binaries keep them. */
TEST(constants_leave_nothing_behind)
{
	driver_stub_as("libigdrcl.so");
	RUNS_ALIKE(2, "il", "core", "5");
	CU_ASSERT_EQUAL(driver_stats().hits_disk, 1);
	expect_all_freed();
	RUNS_ALIKE(1, "il-again");
	/* Those that are refused are none. */
	RUNS_ALIKE(2, "il-refused");
	CU_ASSERT_EQUAL(driver_stats().hits_disk, 2);
	expect_all_freed();
}

TEST(each_string_counts_as_the_driver_reads_it)
{
	RUNS_ALIKE(2, "strings", "1");
	RUNS_ALIKE(2, "strings", "2");
	RUNS_ALIKE(2, "strings", "23");
	CU_ASSERT_EQUAL(driver_stats().hits_disk, 3);
}

/* A driver that lists a loaded program's kernels in another order than a built one's. */
TEST(kernels_come_in_the_order_of_the_build)
{
	driver_stub_setting("STUB_LOADED_BACKWARDS", "1");
	RUNS_ALIKE(2, "kernel-order");
	CU_ASSERT_EQUAL(driver_stats().hits_disk, 1);
	expect_all_freed();
}

TEST(refused_calls_leave_the_program_as_it_was)
{
	RUNS_ALIKE(3, "refused");
	EXPECT_STATS("hits_disk 2, entries 1");
	RUNS_ALIKE(1, "vector", "-DK=5");
	RUNS_ALIKE(1, "vector", "-DK=6");
}

/* How many lines of the trace, which is written at once, have the text. */
static unsigned int traced(const char *text)
{
	char line[4096];
	unsigned int count = 0;
	FILE *file = fopen("trace", "r");

	CU_ASSERT_FATAL(file != NULL);
	while (fgets(line, sizeof(line), file))
		count += strstr(line, text) != NULL;
	(void)fclose(file);	/* only read */
	return count;
}

TEST(libraries_may_come_and_go)
{
	static const char *const arguments[] = { "libraries", PASSING_LIBRARY, "2000", NULL };
	unsigned int built = 0, misses, bypasses;
	struct outcome outcome;
	char path[4096];
	uint64_t entries;

	(void)snprintf(path, sizeof(path), "%s/trace", unit_dir());
	driver_setenv("CKCACHE_TRACE", path);
	outcome = driver_client(LAYERED, arguments);
	CU_ASSERT(outcome_good(&outcome));
	CU_ASSERT_STRING_EQUAL(outcome.output, "wrong 0 failures 0\nrelease context 0\n");
	CU_ASSERT(sscanf(outcome.errors, "built %u", &built) == 1 && built > 0);
	driver_setenv("CKCACHE_TRACE", NULL);
	/* Where what looks like a compiler came during a build, that is not stored. */
	misses = traced("\"event\":\"miss\"");
	bypasses = traced("\"event\":\"bypass\"");
	CU_ASSERT_EQUAL(bypasses, traced("\"compiler-loaded-late\""));
	CU_ASSERT_EQUAL(misses + bypasses, built);
	/* The process does not wait for a slow disk: neither all entries nor all counts are there. */
	entries = driver_stats().entries;
	CU_ASSERT(entries > 0 && entries <= misses);
	RUNS_ALIKE(2, "vector", "-DK=1");
}

static void driver_without_binaries(const char *mode)
{
	driver_begin();
	driver_stub_setting("STUB_NO_BINARY", mode);
	RUNS_ALIKE(2, "vector");
	CU_ASSERT_EQUAL(driver_bypasses("no-binary"), 2);
	RUNS_ALIKE(2, "callback");
	CU_ASSERT_EQUAL(driver_bypasses("no-binary"), 6);
	RUNS_ALIKE(2, "link");
	RUNS_ALIKE(2, "two-options");
	RUNS_ALIKE(1, "exit-live");
	EXPECT_STATS("stores 0, entries 0, errors 0");
	CU_ASSERT_EQUAL(driver_counted("create-binary"), 0);
}

TEST(empty_binary_is_a_bypass) { driver_without_binaries("1"); }
TEST(refused_binary_is_a_bypass) { driver_without_binaries("error"); }

/* By a signal that no thread can block: the layer's own blocks all that can be. */
TEST(process_ends_with_the_last_thread_of_the_application)
{
	if (is_left_to_others())
		return;
	driver_setenv("LD_PRELOAD", "");	/* what the main thread had */
	driver_shell("exec timeout -s KILL 20 \"$@\"");
	RUNS_ALIKE(2, "pthread-exit");
	EXPECT_STATS("stores 2, hits_disk 2");
}

/* It would leave locks in the cache, and a build that others wait for. */
TEST(a_thread_is_cancelled_after_its_build)
{
	driver_shell("exec timeout -s KILL 20 \"$@\"");
	for (int i = 0; i < 2; i++)
		PRINTS("build 0\ncancelled 1\nbuild again 0\nbuild another 0\nrelease context 0\n", "cancelled");
	CU_ASSERT_EQUAL(driver_stats().stores, 1);
	CU_ASSERT(driver_stats().hits_disk >= 1);
}

static void make_gate(const char *setting, char path[4096])
{
	(void)snprintf(path, 4096, "%s/gate", unit_dir());
	CU_ASSERT_EQUAL_FATAL(mkfifo(path, 0600), 0);
	driver_stub_setting(setting, path);
}

TEST(link_is_not_stored_whose_input_was_compiled_meanwhile)
{
	char gate[4096];

	make_gate("STUB_LINK_GATE", gate);
	{
		GOOD_CLIENT(LAYERED, "compiled-while-linked", gate);
	}
	CU_ASSERT_EQUAL(driver_stats().entries, 2);	/* the objects */
	driver_stub_setting(NULL, NULL);
	RUNS_ALIKE(2, "compiled-while-linked");
	CU_ASSERT_EQUAL(driver_counted("link"), 1 + 1 + 1);	/* above, bare, and the first of the two */
}

/* Whichever of the two it was built with, others would get it for the first. */
TEST(build_is_not_stored_whose_constant_was_set_meanwhile)
{
	char gate[4096];

	driver_stub_as("libigdrcl.so");	/* whose binaries have them */
	make_gate("STUB_GATE", gate);
	{
		GOOD_CLIENT(LAYERED, "constant-set-while-built", gate);
	}
	CU_ASSERT_EQUAL(driver_stats().entries, 0);
	CU_ASSERT_EQUAL(driver_bypasses("constants-unknown"), 1);
	driver_stub_setting(NULL, NULL);
	RUNS_ALIKE(2, "il", "core", "5");
	RUNS_ALIKE(2, "il", "core", "6");
	CU_ASSERT_EQUAL(driver_stats().entries, 2);
}

/* What the object was before is still known, and is no longer what is linked. */
TEST(link_of_what_was_compiled_uncached_is_not_looked_up)
{
	RUNS_ALIKE(2, "linked-again", "-DK=6 -fplugin=x");
	CU_ASSERT_EQUAL(driver_bypasses("link-input"), 2);
}

TEST(an_error_is_no_answer)
{
	driver_stub_setting("STUB_NO_BINARY", "error\nSTUB_DEVICES=3");
	RUNS_ALIKE(1, "some-binaries");
	CU_ASSERT_EQUAL(driver_stats().entries, 0);
	driver_stub_setting("STUB_DEVICES", "3");
	RUNS_ALIKE(2, "some-binaries");
	CU_ASSERT_EQUAL(driver_stats().entries, 1);
}
