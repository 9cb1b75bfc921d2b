/* SPDX-License-Identifier: MIT */
/*
 * test_replay: what an application left for later is built by `ckcache replay`
 * in processes of its own, whatever those do, and hits afterwards.
 */
#include <glob.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/resource.h>

#include "common/clock.h"
#include "tests/opencl/driver.h"
#include "tests/support/unit.h"

static struct outcome reference;

BEFORE_EACH
{
	driver_setenv("CKCACHE_CAPTURE", "deferred");
	driver_setenv("MESA_SHADER_CACHE_DISABLE", "true");	/* what a worker finds there stays left */
	/* A worker gets no variable of the stub's: it looks at home. */
	CU_ASSERT_EQUAL(symlink("../settings", "home/stub_settings"), 0);
	CU_ASSERT_EQUAL(symlink("../counts", "home/stub_counts"), 0);
}

/* One run with the layer; the same answers as without it. */
static void run_same(const char *scenario, const char *argument)
{
	SAME_AS_BARE(scenario, argument);
}

static void expect_replay(int code, const char *output, const char *error)
{
	struct outcome outcome = TOOL("replay", "--timeout", "60");

	CU_ASSERT_EQUAL(outcome.code, code);
	CU_ASSERT(strstr(outcome.output, output) != NULL);
	CU_ASSERT(error ? strstr(outcome.errors, error) != NULL : !*outcome.errors);
	if (outcome.code != code || !strstr(outcome.output, output) ||
	    (error && !strstr(outcome.errors, error)))
		(void)printf("\n    replay: code %d: %s%s\n", outcome.code, outcome.output,
			     outcome.errors);
}

static unsigned int recipe_files(char (*ret_paths)[4096], unsigned int size)
{
	return driver_cache_files(".recipe", ret_paths, size);
}

/* Nothing is built any more. */
static void expect_hit(const char *argument)
{
	struct driver_stats before = driver_stats(), after;
	unsigned int built;

	reference = CLIENT(BARE, "vector", argument);
	built = driver_counted("build-source");
	SAME_AS(&reference, "vector", argument);
	after = driver_stats();
	CU_ASSERT_EQUAL(after.misses, before.misses);
	CU_ASSERT_EQUAL(after.hits_disk, before.hits_disk + 1);
	CU_ASSERT_EQUAL(driver_counted("build-source"), built);
}

/* The key has zeros in its place. */
TEST_ON("stub", spirv_is_replayed_without_the_name_of_its_file)
{
	driver_stub_as("libigdrcl.so");
	run_same("named-il", "/tmp/aa.cl");
	run_same("named-il", "/tmp/bb.cl");
	EXPECT_STATS("deferred 2, recipes 1, entries 0");
	expect_replay(0, "built                                 1", NULL);
	run_same("named-il", "/tmp/cc.cl");
	EXPECT_STATS("hits_disk 1, recipes 0, entries 1");
}

TEST(deferred_build_is_replayed_and_hits)
{
	run_same("vector", "-DK=5");
	EXPECT_STATS("deferred 1, recipes 1, entries 0");
	CU_ASSERT_EQUAL(driver_counted("read-binary"), 0);
	expect_replay(0, "built                                 1", NULL);
	EXPECT_STATS("recipes 0, entries 1");
	expect_hit("-DK=5");
	expect_replay(0, "built                                 0", NULL);
}

TEST_ON("!stub", default_policy_of_pocl_is_to_defer)
{
	if (!driver_is("pocl"))
		return;
	driver_setenv("CKCACHE_CAPTURE", NULL);
	run_same("vector", "-DK=5");
	CU_ASSERT_EQUAL(driver_stats().recipes, 1);
	expect_replay(0, "built                                 1", NULL);
	expect_hit("-DK=5");
}

/* Its inputs, which were stored at once, are linked again. */
TEST(deferred_link_is_replayed_and_hits)
{
	struct driver_stats before;
	unsigned int linked;

	if (!driver_is("stub") && !driver_is("pocl"))
		return;
	run_same("link", NULL);
	EXPECT_STATS("bypass.capture-deferred 0, recipes 1");
	expect_replay(0, "built                                 1", NULL);
	CU_ASSERT_EQUAL(driver_stats().recipes, 0);
	before = driver_stats();
	reference = CLIENT(BARE, "link", NULL);
	linked = driver_counted("link");
	SAME_AS(&reference, "link", NULL);
	CU_ASSERT_EQUAL(driver_stats().misses, before.misses);
	CU_ASSERT_EQUAL(driver_counted("link"), linked);
}

TEST_ON("stub", link_whose_inputs_are_gone_is_dropped)
{
	char paths[8][4096];
	unsigned int count;

	run_same("link", NULL);
	count = driver_cache_files(".bin", paths, 8);
	CU_ASSERT_FATAL(count > 0 && count <= 8);
	for (unsigned int i = 0; i < count; i++)
		CU_ASSERT_EQUAL(unlink(paths[i]), 0);
	expect_replay(0, "linked of what is gone                1", "is not in the cache");
	CU_ASSERT_EQUAL(driver_stats().recipes, 0);
}

static size_t count_paths(const char *pattern)
{
	glob_t found = { 0 };
	size_t count = glob(pattern, 0, NULL, &found) == 0 ? found.gl_pathc : 0;

	globfree(&found);
	return count;
}

/* Where pocl's own cache has what it compiled for the launches of the first run, a hit uses it. */
TEST_ON("!stub", launches_after_a_hit_compile_nothing_on_pocl)
{
	static const char programs[] = "pocl/*/*/program.bc", launched[] = "pocl/*/*/*/[1-9]*/*.so";
	size_t made;

	if (!driver_is("pocl"))
		return;
	run_same("vector", "-DK=5");
	made = count_paths(launched);
	CU_ASSERT_EQUAL(count_paths(programs), 1);
	CU_ASSERT(made > 0);
	expect_replay(0, "built                                 1", NULL);
	for (int i = 0; i < 2; i++) {
		GOOD_CLIENT(LAYERED, "vector", "-DK=5");
		CU_ASSERT_EQUAL(driver_stats().hits_disk, (uint64_t)i + 1);
		CU_ASSERT_EQUAL(count_paths(programs), 1);
		CU_ASSERT_EQUAL(count_paths(launched), made);
		CU_ASSERT_EQUAL(count_paths("pocl/_UNCACHED_*"), 0);
	}
	/* With an empty one, a hit compiles for its launches once. */
	CU_ASSERT_EQUAL(rename("pocl", "before"), 0);
	for (int i = 0; i < 2; i++) {
		GOOD_CLIENT(LAYERED, "vector", "-DK=5");
		CU_ASSERT_EQUAL(count_paths(programs), 1);
		CU_ASSERT_EQUAL(count_paths(launched), made);
	}
	CU_ASSERT_EQUAL(driver_stats().hits_disk, 4);
}

TEST(same_build_has_one_recipe)
{
	run_same("vector", "-DK=5");
	run_same("vector", "-DK=5");
	run_same("vector", "-DK=6");
	EXPECT_STATS("deferred 3, recipes 2");
	expect_replay(0, "built                                 2", NULL);
	expect_hit("-DK=5");
	expect_hit("-DK=6");
}

TEST(build_with_callback_is_replayed)
{
	run_same("callback", NULL);
	CU_ASSERT(driver_stats().deferred >= 1);
	expect_replay(0, "built", NULL);
	CU_ASSERT_EQUAL(driver_stats().recipes, 0);
	CU_ASSERT(driver_stats().entries >= 1);
}

/* By the worker that builds for the first of them alone. */
TEST_ON("stub", subset_of_devices_is_replayed)
{
	run_same("vector", "-DK=5");
	driver_setenv("STUB_DEVICES", "2");
	driver_stub_setting("STUB_DEVICES", "2");
	run_same("one-device", NULL);
	CU_ASSERT_EQUAL(driver_stats().recipes, 2);
	expect_replay(0, "built                                 2", NULL);
	run_same("one-device", NULL);
	CU_ASSERT_EQUAL(driver_stats().hits_disk, 1);
}

static const char including[] =
	"#include \"common.h\"\n"
	"kernel void value(global int *out) { out[0] = VALUE; }\n";

static void header_run(void)
{
	GOOD_CLIENT(LAYERED, "header", "including.cl", "-I headers");
}

TEST_ON("stub", headers_are_found_from_the_working_directory)
{
	unit_write("work/including.cl", including);
	unit_write("work/headers/common.h", "#define VALUE 7\n");
	header_run();
	expect_replay(0, "built                                 1", NULL);
	header_run();
	CU_ASSERT_EQUAL(driver_stats().hits_disk, 1);
}

TEST_ON("stub", changed_header_makes_a_recipe_useless)
{
	unit_write("work/including.cl", including);
	unit_write("work/headers/common.h", "#define VALUE 7\n");
	header_run();
	unit_write("work/headers/common.h", "#define VALUE 8\n");
	expect_replay(0, "  a file has changed                  1", "headers/common.h is not as it was");
	EXPECT_STATS("recipes 0, entries 0");
	/* And the next build of what there is now is recorded. */
	header_run();
	expect_replay(0, "built                                 1", NULL);
	header_run();
	CU_ASSERT_EQUAL(driver_stats().hits_disk, 1);
}

TEST_ON("stub", header_that_is_gone_is_a_reason_and_no_error)
{
	unit_write("work/including.cl", including);
	unit_write("work/headers/common.h", "#define VALUE 7\n");
	header_run();
	CU_ASSERT_EQUAL(unlink("work/headers/common.h"), 0);
	expect_replay(0, "  a file is gone                      1", "headers/common.h is gone");
	EXPECT_STATS("recipes 0, recipes_quarantined 0");
}

TEST_ON("stub", directory_that_is_gone_is_a_reason_and_no_error)
{
	unit_write("work/including.cl", including);
	unit_write("work/headers/common.h", "#define VALUE 7\n");
	header_run();
	CU_ASSERT_EQUAL(rename("work", "moved"), 0);
	unit_write("elsewhere/empty", "");
	CU_ASSERT_EQUAL(symlink("elsewhere", "work"), 0);
	expect_replay(0, "  a file is gone                      1", "is gone");
	CU_ASSERT_EQUAL(driver_stats().recipes, 0);
}

TEST_ON("stub", environment_of_the_key_is_restored)
{
	driver_setenv("IGC_EXAMPLE", "two words");
	run_same("vector", "-DK=5");
	driver_setenv("IGC_EXAMPLE", "another");
	driver_setenv("POCL_EXAMPLE", "1");
	expect_replay(0, "built                                 1", NULL);
	driver_setenv("POCL_EXAMPLE", NULL);
	driver_setenv("IGC_EXAMPLE", "two words");
	expect_hit("-DK=5");
}

/* Of a driver of that name, which shows no device without the variable, and none of whose keys has it. */
static void found_by(const char *driver, const char *variable)
{
	driver_stub_as(driver);
	driver_stub_setting("STUB_DEVICES_WANT", variable);
	driver_setenv(variable, "0");
	run_same("vector", "-DK=5");
	CU_ASSERT_EQUAL(driver_stats().recipes, 1);
	driver_setenv(variable, NULL);
	expect_replay(0, "built                                 1", NULL);
	driver_setenv(variable, "0");
	expect_hit("-DK=5");
}

TEST_ON("stub", pocl_finds_the_machine_of_the_application)
{
	found_by("libpocl.so.2", "HWLOC_SYNTHETIC");
}

TEST_ON("stub", nvidia_shows_the_devices_of_the_application)
{
	found_by("libnvidia-opencl.so.1", "CUDA_VISIBLE_DEVICES");
}

TEST_ON("stub", intel_shows_the_devices_of_the_application)
{
	found_by("libigdrcl.so", "ZE_AFFINITY_MASK");
}

/* What is there for a while, as a container's, is passed on while it is. */
TEST_ON("stub", cache_directory_that_is_gone_is_not_made_again)
{
	char path[4096];

	(void)snprintf(path, sizeof(path), "%s/own", unit_dir());
	unit_write("own/file", "");
	driver_stub_setting("STUB_DEVICES_WANT", "POCL_CACHE_DIR");
	driver_setenv("POCL_CACHE_DIR", path);
	run_same("vector", "-DK=5");
	CU_ASSERT_EQUAL(rename("own", "moved"), 0);
	expect_replay(0, "device absent                         1", NULL);
	CU_ASSERT_EQUAL(rename("moved", "own"), 0);
	expect_replay(0, "built                                 1", NULL);
}

TEST_ON("stub", crashing_recipe_is_quarantined)
{
	run_same("vector", "-DK=5");
	driver_stub_setting("STUB_CRASH", "1");
	expect_replay(1, "failed                                1", "signal 6; it is kept");
	CU_ASSERT_EQUAL(driver_stats().recipes, 1);
	expect_replay(1, "of these, quarantined                 1", "it will not be tried again");
	EXPECT_STATS("recipes 0, recipes_quarantined 1");
	expect_replay(0, "built                                 0", NULL);
	/* Nor is it recorded anew. */
	driver_stub_setting(NULL, NULL);
	run_same("vector", "-DK=5");
	CU_ASSERT_EQUAL(driver_stats().recipes, 0);
}

TEST_ON("stub", one_crash_is_forgiven)
{
	run_same("vector", "-DK=5");
	driver_stub_setting("STUB_CRASH", "1");
	expect_replay(1, "failed", "signal 6");
	driver_stub_setting(NULL, NULL);
	expect_replay(0, "built                                 1", NULL);
	CU_ASSERT_EQUAL(driver_cache_files(".attempts", NULL, 0), 0);
	expect_hit("-DK=5");
}

TEST_ON("stub", failing_recipe_is_quarantined)
{
	run_same("vector", "-DK=5");
	driver_stub_setting("STUB_NO_BINARY", "1");
	expect_replay(1, "failed", "nothing was stored");
	expect_replay(1, "of these, quarantined", "nothing was stored");
}

static void make_gate(char path[4096])
{
	(void)snprintf(path, 4096, "%s/gate", unit_dir());
	CU_ASSERT_EQUAL_FATAL(mkfifo(path, 0600), 0);
	driver_stub_setting("STUB_GATE", path);
}

TEST_ON("stub", hanging_recipe_is_ended_in_time)
{
	char gate[4096];

	run_same("vector", "-DK=5");
	make_gate(gate);
	TOOL_SAYS(1, "it timed out", "replay", "--timeout", "1");
	CU_ASSERT_EQUAL(driver_stats().recipes, 1);
}

/* A worker is in the driver when the gate opens for writing. */
static int reach_gate(const char *gate)
{
	int fd = open(gate, O_WRONLY | O_CLOEXEC);

	CU_ASSERT_FATAL(fd >= 0);
	return fd;
}

TEST_ON("stub", interrupted_replay_ends_its_workers_and_blames_nobody)
{
	static const char *const arguments[] = { "replay", NULL };
	struct running running;
	struct outcome outcome;
	struct sigaction ignore = { .sa_handler = SIG_IGN }, old;
	char gate[4096];
	int fd;

	run_same("vector", "-DK=5");
	make_gate(gate);
	running = driver_tool_start(arguments);
	fd = reach_gate(gate);
	CU_ASSERT_EQUAL(kill(running.pid, SIGTERM), 0);
	outcome = driver_wait(running);
	CU_ASSERT_EQUAL(outcome.code, 128 + SIGTERM);
	/* The worker's end of the gate is closed: it is gone. */
	CU_ASSERT_EQUAL(sigaction(SIGPIPE, &ignore, &old), 0);
	CU_ASSERT(write(fd, "x", 1) < 0 && errno == EPIPE);
	CU_ASSERT_EQUAL(sigaction(SIGPIPE, &old, NULL), 0);
	(void)close(fd);	/* nothing was written */
	CU_ASSERT_EQUAL(driver_cache_files(".attempts", NULL, 0), 0);
	driver_stub_setting(NULL, NULL);
	expect_replay(0, "built                                 1", NULL);
}

TEST_ON("stub", signals_that_the_caller_ignores_are_ignored)
{
	static const char *const arguments[] = { "replay", NULL };
	struct sigaction ignore = { .sa_handler = SIG_IGN }, old;
	struct running running;
	struct outcome outcome;
	char gate[4096];
	int fd;

	run_same("vector", "-DK=5");
	make_gate(gate);
	/* As nohup does. */
	CU_ASSERT_EQUAL(sigaction(SIGHUP, &ignore, &old), 0);
	running = driver_tool_start(arguments);
	CU_ASSERT_EQUAL(sigaction(SIGHUP, &old, NULL), 0);
	fd = reach_gate(gate);
	CU_ASSERT_EQUAL(kill(running.pid, SIGHUP), 0);
	driver_stub_setting(NULL, NULL);
	(void)close(fd);	/* the worker goes on */
	outcome = driver_wait(running);
	CU_ASSERT_EQUAL(outcome.code, 0);
	CU_ASSERT(strstr(outcome.output, "built                                 1") != NULL);
	expect_hit("-DK=5");
}

TEST_ON("stub", empty_source_is_replayed)
{
	run_same("empty", NULL);
	CU_ASSERT_EQUAL(driver_stats().recipes, 1);
	expect_replay(0, "built                                 1", NULL);
	run_same("empty", NULL);
	CU_ASSERT_EQUAL(driver_stats().hits_disk, 1);
}

/* One shape, a random word in each: as replay's workers build them, one after another. */
TEST_ON("stub", programs_with_random_words_are_replayed)
{
	char token[40];

	for (unsigned int i = 0; i < 12; i++) {
		/* Not what PyOpenCL appends: that would be left out of the key. */
		(void)snprintf(token, sizeof(token), "%08x", 0x12345678U + i * 0x9e3779b9U);
		run_same("token", token);
	}
	CU_ASSERT_EQUAL(driver_stats().recipes, 12);
	expect_replay(0, "built                                12", NULL);
	EXPECT_STATS("recipes_quarantined 0, entries 12");
}

TEST_ON("stub", image_of_a_size_that_is_not_stored_drops_its_recipe)
{
	static const char *const settings[][2] = {
		{ "CKCACHE_MIN_DEVICE_IMAGE_SIZE", "1Mi" },
		{ "CKCACHE_MAX_DEVICE_IMAGE_SIZE", "10" },
		{ "CKCACHE_MAX_SIZE", "100B" },
	};

	for (size_t i = 0; i < 3; i++) {
		run_same("vector", "-DK=5");
		CU_ASSERT_EQUAL(driver_stats().recipes, 1);
		driver_setenv(settings[i][0], settings[i][1]);
		expect_replay(0, "size excluded                         1",
			      "the settings exclude images of its size");
		driver_setenv(settings[i][0], NULL);
		EXPECT_STATS("recipes 0, recipes_quarantined 0");
	}
}

/* Half the machine's memory, or what this process may take. */
static void expect_bounded(pid_t command)
{
	const rlim_t half = (rlim_t)sysconf(_SC_PHYS_PAGES) / 2 * (rlim_t)sysconf(_SC_PAGESIZE);
	struct rlimit own, its = { 0 };
	char path[64];
	FILE *children;
	int worker = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)command, (int)command);
	children = fopen(path, "re");
	CU_ASSERT_FATAL(children && fscanf(children, "%d", &worker) == 1);
	(void)fclose(children);	/* only read */
	CU_ASSERT(prlimit(worker, RLIMIT_DATA, NULL, &its) == 0 && getrlimit(RLIMIT_DATA, &own) == 0);
	CU_ASSERT(its.rlim_max != RLIM_INFINITY);
	CU_ASSERT(its.rlim_max >= (own.rlim_max < half ? own.rlim_max : half));
}

TEST_ON("stub", two_replays_do_not_work_at_once)
{
	static const char *const arguments[] = { "replay", NULL };
	struct running running;
	struct outcome outcome;
	char gate[4096];
	int fd;

	run_same("vector", "-DK=5");
	make_gate(gate);
	running = driver_tool_start(arguments);
	fd = reach_gate(gate);
	expect_replay(1, "", "another ckcache replay is running");
	expect_bounded(running.pid);
	driver_stub_setting(NULL, NULL);
	(void)close(fd);	/* the worker goes on */
	outcome = driver_wait(running);
	CU_ASSERT_EQUAL(outcome.code, 0);
	expect_hit("-DK=5");
}

TEST_ON("stub", damaged_recipe_is_removed)
{
	char paths[2][4096];
	int fd;

	run_same("vector", "-DK=5");
	CU_ASSERT_EQUAL_FATAL(recipe_files(paths, 2), 1);
	fd = open(paths[0], O_WRONLY | O_CLOEXEC);
	CU_ASSERT_EQUAL(pwrite(fd, "?", 1, 200), 1);
	CU_ASSERT_EQUAL(close(fd), 0);
	expect_replay(0, "damaged                               1", "the recipe is damaged");
	CU_ASSERT_EQUAL(recipe_files(NULL, 0), 0);
}

TEST_ON("stub", foreign_files_are_left_alone)
{
	run_same("vector", "-DK=5");
	unit_write("cache/recipes/README", "mine\n");
	unit_write("cache/recipes/0123.recipe", "mine\n");
	expect_replay(0, "built                                 1", NULL);
	CU_ASSERT_EQUAL(access("cache/recipes/README", F_OK), 0);
	CU_ASSERT_EQUAL(access("cache/recipes/0123.recipe", F_OK), 0);
}

TEST_ON("stub", recipe_waits_for_its_device)
{
	run_same("vector", "-DK=5");
	CU_ASSERT_EQUAL(rename("vendors", "vendors-away"), 0);
	expect_replay(0, "device absent                         1", NULL);
	CU_ASSERT_EQUAL(rename("vendors-away", "vendors"), 0);
	driver_stub_setting("STUB_DEVICE_NAME", "Another");
	expect_replay(0, "device absent                         1", NULL);
	driver_stub_setting(NULL, NULL);
	expect_replay(0, "built                                 1", NULL);
	expect_hit("-DK=5");
}

TEST_ON("stub", driver_that_changed_meanwhile_gets_its_own)
{
	driver_stub_setting("STUB_DRIVER_VERSION", "1.0");
	run_same("vector", "-DK=5");
	driver_stub_setting("STUB_DRIVER_VERSION", "2.0");
	expect_replay(0, "outdated                              1", "device.driver_version differs");
	expect_hit("-DK=5");
	CU_ASSERT_EQUAL(driver_stats().recipes, 0);
}

TEST_ON("stub", stale_entries_are_built_again)
{
	struct outcome outcome;

	driver_setenv("CKCACHE_CAPTURE", NULL);
	driver_stub_setting("STUB_DRIVER_VERSION", "1.0");
	run_same("vector", "-DK=5");
	run_same("vector", "-DK=6");
	driver_stub_setting("STUB_DRIVER_VERSION", "2.0");
	run_same("vector", "-DK=6");
	CU_ASSERT_EQUAL(driver_stats().entries, 3);
	outcome = TOOL("replay", "--stale", "--json");
	CU_ASSERT_EQUAL(outcome.code, 0);
	CU_ASSERT_STRING_EQUAL(outcome_squeezed(&outcome),
			       "{\"stale\":1,\"built\":1,\"there\":0,\"outdated\":0,"
			       "\"outdated_changed\":0,\"outdated_gone\":0,\"outdated_driver\":0,"
			       "\"unwanted\":0,\"absent\":0,\"inputs_absent\":0,\"failed\":0,"
			       "\"quarantined\":0,\"damaged\":0,\"left_device\":0,"
			       "\"left_sub_device\":0,\"left_kind\":0,\"left_input\":0,"
			       "\"left_directory\":0,\"left_size\":0,\"removed\":0,\"postponed\":0}");
	CU_ASSERT_EQUAL(driver_stats().entries, 4);
	expect_hit("-DK=5");
	/* The second time there is nothing to do. */
	TOOL_SAYS(0, "\"stale\":0,\"built\":0", "replay", "--stale", "--json");
}

/* As drivers do now and then in a new version. */
TEST_ON("stub", a_device_that_was_renamed_is_the_same)
{
	driver_setenv("CKCACHE_CAPTURE", NULL);
	driver_stub_setting("STUB_DEVICE_NAME", "Old Graphics\nSTUB_DRIVER_VERSION=1.0");
	run_same("vector", "-DK=5");
	driver_stub_setting("STUB_DEVICE_NAME", "New HD Graphics\nSTUB_DRIVER_VERSION=2.0");
	TOOL_SAYS(0, "{\"stale\":1,\"built\":1,", "replay", "--stale", "--json");
	expect_hit("-DK=5");
}

TEST_ON("stub", which_of_two_devices_was_renamed_is_not_guessed)
{
	driver_setenv("CKCACHE_CAPTURE", NULL);
	driver_stub_setting("STUB_DEVICE_NAME", "Old Graphics");
	run_same("vector", "-DK=5");
	driver_stub_setting("STUB_DEVICES", "2\nSTUB_CHANGED=second_vendor");
	TOOL_SAYS(0, "\"left_device\":1", "replay", "--stale", "--json");
}

/* Whether a number of the counts is that. */
static void expect_number(const char *name, unsigned long long number)
{
	struct outcome outcome = TOOL("stats", "--json");
	char text[80];

	(void)snprintf(text, sizeof(text), "\"%s\":%llu,", name, number);
	CU_ASSERT_EQUAL(outcome.code, 0);
	CU_ASSERT(strstr(outcome_squeezed(&outcome), text) != NULL);
}

/* Whether one program counts that many compiles, and no other is there. */
static void expect_program(unsigned int attended, unsigned int unattended)
{
	struct outcome outcome = TOOL("stats", "--json");
	const char *text = outcome_squeezed(&outcome), *at = strstr(text, "\"programs\":[{");
	const char *client = strrchr(driver_client_path(), '/') + 1;
	char expected[2][256];

	CU_ASSERT_PTR_NOT_NULL_FATAL(at);
	(void)snprintf(expected[0], sizeof(expected[0]), "{\"program\":\"%s\",\"attended\":%u,",
		       client, attended);
	(void)snprintf(expected[1], sizeof(expected[1]), "\"unattended\":%u,", unattended);
	CU_ASSERT(strstr(at, expected[0]) != NULL && strstr(at, expected[1]) != NULL);
	CU_ASSERT(strstr(at, "},{") == NULL);
}

TEST(what_is_replayed_counts_apart)
{
	struct driver_stats before, after;

	run_same("vector", "-DK=5");
	before = driver_stats();
	expect_number("compiled_unattended", 0);
	expect_program(1, 0);
	expect_replay(0, "built                                 1", NULL);
	after = driver_stats();
	CU_ASSERT_EQUAL(after.misses, before.misses);
	CU_ASSERT_EQUAL(after.hits_disk, before.hits_disk);
	CU_ASSERT_EQUAL(after.bypasses, before.bypasses);
	CU_ASSERT_EQUAL(after.stores, before.stores + 1);
	expect_number("compiled_unattended", 1);
	expect_program(1, 1);
}

/* Of the driver's delay a worker works no moment, as if it were stopped. */
TEST_ON("stub", while_a_worker_stands_still_it_does_not_compile)
{
	static const char *const scenarios[] = { "vector", "callback" };
	const char *at, *name = "\"compile_ms\":";
	struct outcome outcome;

	driver_stub_setting("STUB_DELAY_MS", "500");
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
		run_same(scenarios[i], NULL);
	expect_replay(0, "built", NULL);
	outcome = TOOL("list", "--json");
	at = strstr(outcome.output, name);
	CU_ASSERT_PTR_NOT_NULL(at);
	for (; at; at = strstr(at + 1, name))
		CU_ASSERT(strtod(at + strlen(name), NULL) < 500);
}

TEST_ON("stub", stale_entries_count_for_their_program)
{
	char files[8192];
	struct outcome outcome;

	driver_setenv("CKCACHE_CAPTURE", NULL);
	driver_stub_setting("STUB_DRIVER_VERSION", "1.0");
	run_same("vector", "-DK=5");
	run_same("vector", "-DK=6");
	driver_stub_setting("STUB_DRIVER_VERSION", "2.0");
	CU_ASSERT_EQUAL(TOOL("replay", "--stale").code, 0);
	expect_number("compiled_unattended", 2);
	expect_program(2, 2);
	/* The application's run is still the last one; the other is told where it is asked for. */
	outcome = TOOL("explain");
	CU_ASSERT(strstr(outcome.output, "1 compile in") != NULL);
	CU_ASSERT(strstr(outcome.output, "nobody waited") == NULL);
	outcome = TOOL("explain", "--all");
	CU_ASSERT(strstr(outcome.output, "compiled while nobody waited, by ckcache replay") != NULL);
	CU_ASSERT(strstr(outcome.output, "4 compiles in") != NULL);
	expect_hit("-DK=5");
	/* Without the history nobody knows the program, and the worker is confined; the stub's files are as a driver's cache. */
	CU_ASSERT_EQUAL(unlink("cache/events.log"), 0);
	(void)snprintf(files, sizeof(files), "%s/settings:%s/counts", unit_dir(), unit_dir());
	driver_setenv("HWLOC_CACHE", files);
	driver_stub_setting("STUB_DRIVER_VERSION", "3.0");
	CU_ASSERT_EQUAL(TOOL("replay", "--stale").code, 0);
	expect_number("compiled_unattended", 2);	/* what was counted before went with it */
	TOOL_SAYS(0, "\n?                                     0", "stats");
}

/* Only recipes and stale entries of one program. */
TEST_ON("stub", replay_can_be_of_one_program)
{
	struct outcome outcome;

	run_same("vector", "-DK=5");
	TOOL_SAYS(0, "", "replay", "--program", "another");
	CU_ASSERT_EQUAL(driver_stats().recipes, 1);
	expect_program(1, 0);
	outcome = TOOL("replay", "--program", strrchr(driver_client_path(), '/') + 1);
	CU_ASSERT(strstr(outcome.output, "built                                 1") != NULL);
	driver_setenv("CKCACHE_CAPTURE", NULL);
	driver_stub_setting("STUB_DRIVER_VERSION", "2.0");
	outcome = TOOL("replay", "--stale", "--json", "--program", "another");
	CU_ASSERT(strstr(outcome_squeezed(&outcome), "{\"stale\":0,\"built\":0") != NULL);
	TOOL_SAYS(0, "{\"stale\":1,\"built\":1", "replay", "--stale", "--json", "--program",
		  strrchr(driver_client_path(), '/') + 1);
	expect_hit("-DK=5");
}

/* Who sets the variable himself only moves counts. */
TEST(internal_variable_changes_no_result)
{
	driver_setenv("CKCACHE_CAPTURE", "eager");
	driver_setenv("CKCACHE_BUILT_FOR", "../../etc/\n\x1b[1m passwd");
	run_same("vector", "-DK=5");
	expect_number("compiled_unattended", 1);
	CU_ASSERT_EQUAL(driver_stats().misses, 0);
	run_same("vector", "-DK=5");
	CU_ASSERT_EQUAL(driver_stats().hits_disk, 0);
	driver_setenv("CKCACHE_BUILT_FOR", NULL);
	driver_setenv("CKCACHE_CAPTURE", NULL);
	expect_hit("-DK=5");
}

TEST_ON("stub", read_only_cache_is_not_replayed)
{
	run_same("vector", "-DK=5");
	driver_setenv("CKCACHE_READ_ONLY", "1");
	expect_replay(1, "", "the cache is read-only");
	CU_ASSERT_EQUAL(recipe_files(NULL, 0), 1);
	run_same("vector", "-DK=6");
	CU_ASSERT_EQUAL(recipe_files(NULL, 0), 1);
}

TEST_ON("stub", clear_removes_recipes)
{
	run_same("vector", "-DK=5");
	unit_write("cache/reuse.dat", "what is known of programs");
	TOOL_SAYS(0, "", "clear");
	CU_ASSERT_EQUAL(driver_stats().recipes, 0);
	CU_ASSERT(access("cache/reuse.dat", F_OK) < 0);
}

TEST_ON("stub", other_verbs_see_no_entry_in_a_recipe)
{
	static const char *const verbs[] = { "list", "verify", "prune" };

	run_same("vector", "-DK=5");
	for (size_t i = 0; i < 3; i++) {
		struct outcome outcome = TOOL(verbs[i]);

		CU_ASSERT_EQUAL(outcome.code, 0);
	}
	EXPECT_STATS("recipes 1, entries 0");
}
