/* SPDX-License-Identifier: MIT */
/*
 * test_ways: programs that are not simply built from source for all devices:
 * compiled with headers and linked, libraries, IL with constants, one device
 * of several, a failing source, a source with a random token. Under the layer
 * the client sees what it sees without, cold and warm, and the warm run
 * compiles nothing.
 */
#include "tests/opencl/driver.h"
#include "tests/support/unit.h"

/* Whether the driver does this at all, by the number that it answers. */
static bool answers(const struct outcome *outcome, const char *line)
{
	return strstr(outcome->output, line) != NULL;
}

static void run_layered(const struct outcome *reference, const char *const *arguments)
{
	SAME_ANSWERS(reference, arguments);
}

/* Its output may differ; it must still be good. */
static void run_unlike(const char *const *arguments)
{
	struct outcome outcome = driver_client(LAYERED, arguments);

	CU_ASSERT(outcome_good(&outcome));
}

/*
 * Bare, cold, warm: all alike. misses: what the cold run makes; the warm one
 * hits as often, or fewer times if the driver refused something.
 */
static void cold_and_warm(const char *const *arguments, const char *works, unsigned int misses)
{
	struct outcome reference = driver_client(BARE, arguments);
	struct driver_stats cold, warm;
	bool does = outcome_good(&reference) && answers(&reference, works);

	CU_ASSERT(outcome_good(&reference));
	run_layered(&reference, arguments);
	cold = driver_stats();
	run_layered(&reference, arguments);
	warm = driver_stats();
	if (does) {
		CU_ASSERT_EQUAL(cold.misses, misses);
		CU_ASSERT_EQUAL(warm.misses, misses);
		CU_ASSERT_EQUAL(warm.hits_disk, misses);
		CU_ASSERT_EQUAL(warm.errors, 0);
	} else {
		printf("%s cannot; ", driver_selected()->name);
	}
}

/* Some drivers ask where programs lie that they need not run. */
TEST(another_search_path_is_a_hit)
{
	const char *const arguments[] = { "vector", "-DK=3", NULL };
	struct outcome reference = driver_client(BARE, arguments);

	cold_and_warm(arguments, "build 0", 1);
	driver_setenv("PATH", "/nonexistent/bin:/usr/local/bin:/usr/bin:/bin:/usr/local/games");
	run_layered(&reference, arguments);
	CU_ASSERT_EQUAL(driver_stats().misses, 1);
	CU_ASSERT_EQUAL(driver_stats().hits_disk, 2);
}

TEST(embedded_headers)
{
	const char *const four[] = { "embedded", "#define VALUE 4\n", NULL };
	const char *const five[] = { "embedded", "#define VALUE 5\n", NULL };
	struct driver_stats stats;
	struct outcome other;

	if (driver_is("amd"))
		return (void)printf("asked for the kernels of a compiled object it ends the process; ");
	cold_and_warm(four, "link 0", 2);
	/* The header's text is in the key. */
	stats = driver_stats();
	other = driver_client(LAYERED, five);
	CU_ASSERT(outcome_good(&other));
	CU_ASSERT_EQUAL(driver_stats().hits_disk, stats.hits_disk);
	if (driver_selected()->executes && answers(&other, "link 0") && !driver_is("stub"))
		CU_ASSERT(answers(&other, "value 5"));
}

TEST(objects_and_a_library)
{
	const char *const arguments[] = { "library", NULL };

	/* AMD's libraries are not cached, nor is what is made of them. */
	cold_and_warm(arguments, "link 0", driver_is("amd") ? 2 : 4);
	if (driver_is("stub")) {
		CU_ASSERT_EQUAL(driver_counted("compile"), 4);
		CU_ASSERT_EQUAL(driver_counted("link"), 4);
	}
}

static void il_and_constants(const char *way)
{
	const char *const plain[] = { "il", way, NULL };
	const char *const set[] = { "il", way, "5", "6", NULL };
	const char *const last[] = { "il", way, "6", NULL };
	struct outcome reference;
	struct driver_stats before;

	if (driver_is("oclgrind"))
		return (void)printf("%s ends the process; ", driver_selected()->name);
	if (driver_is("amd"))
		return (void)printf("it builds such a program and finds no kernels in it; ");
	cold_and_warm(plain, "build 0", 1);
	reference = driver_client(BARE, set);
	before = driver_stats();
	run_layered(&reference, set);
	if (driver_bypasses("constants-unknown")) {
		/* Its binaries lose them: never a hit. */
		run_layered(&reference, set);
		CU_ASSERT_EQUAL(driver_stats().hits_disk, before.hits_disk);
	} else if (answers(&reference, "constant 0") && answers(&reference, "build 0")) {
		CU_ASSERT_EQUAL(driver_stats().misses, before.misses + 1);
		/* Only the last value of a constant counts. */
		reference = driver_client(BARE, last);
		run_layered(&reference, last);
		CU_ASSERT_EQUAL(driver_stats().misses, before.misses + 1);
	}
}

TEST(il_and_its_constants) { il_and_constants("core"); }
TEST(il_by_the_functions_addresses) { il_and_constants("address"); }

TEST(a_failure_is_remembered_in_the_process)
{
	const char *const arguments[] = { "failing-again", NULL };
	struct outcome reference;
	struct driver_stats stats;
	bool remembers = !driver_is("amd");	/* drivers.h, "unbuilt_ends_process" */

	reference = driver_client(BARE, arguments);
	for (unsigned int i = 1; i <= 2; i++) {
		/* NEO numbers the sources of a process in its logs: the second one compiled is "2:". */
		if (driver_is("neo"))
			run_unlike(arguments);
		else
			run_layered(&reference, arguments);
		stats = driver_stats();
		CU_ASSERT_EQUAL(stats.misses, remembers ? i : 2 * i);
		CU_ASSERT_EQUAL(stats.hits_memory, remembers ? i : 0);
		CU_ASSERT_EQUAL(stats.entries, 0);
		CU_ASSERT_EQUAL(stats.stores, 0);
	}
}

TEST(a_failure_of_a_deferred_build_is_remembered)
{
	const char *const arguments[] = { "failing-again", NULL };
	struct outcome reference;

	driver_setenv("CKCACHE_CAPTURE", "deferred");
	reference = driver_client(BARE, arguments);
	if (driver_is("neo"))	/* as above */
		run_unlike(arguments);
	else
		run_layered(&reference, arguments);
	CU_ASSERT_EQUAL(driver_stats().misses, driver_is("amd") ? 2 : 1);
	CU_ASSERT_EQUAL(driver_stats().hits_memory, driver_is("amd") ? 0 : 1);
	EXPECT_STATS("recipes 0, entries 0");
}

TEST(kernels_that_do_not_exist_leave_nothing)
{
	const char *const arguments[] = { "unknown-kernels", "10000", NULL };

	cold_and_warm(arguments, "refused 10000 kept 0", 1);
}

static void two_devices(void)
{
	if (driver_is("stub"))
		driver_stub_setting("STUB_DEVICES", "2");
	driver_setenv("POCL_DEVICES", "pthread pthread");
	driver_setenv("CreateMultipleRootDevices", "2");
	driver_setenv("OFFLINE_AMD_DEVICES", "gfx1100 gfx1030");
}

static bool has_one_device(void)
{
	bool one = driver_is("rusticl") || driver_is("oclgrind") ||
		   (driver_is("nvidia") && access("/dev/nvidia1", F_OK) != 0);

	if (one)
		printf("has one device; ");
	return one;
}

TEST(one_device_of_two)
{
	const char *const arguments[] = { "second-device", NULL };

	two_devices();
	if (has_one_device())
		return;
	if (driver_is("amd"))
		return (void)printf("it has no binary for the first one, which the client needs; ");
	if (driver_is("pocl"))
		return (void)printf("pocl 3.1 crashes when it is asked for the binaries; ");
	cold_and_warm(arguments, "build 0", 1);
}

TEST(devices_in_turn)
{
	const char *const arguments[] = { "devices-in-turn", NULL };
	struct outcome reference;

	two_devices();
	if (has_one_device())
		return;
	reference = driver_client(BARE, arguments);
	CU_ASSERT(outcome_good(&reference));
	for (int i = 0; i < 3; i++)
		run_layered(&reference, arguments);
}

/* NEO counts the kernels of each device in a program from binaries, and does not survive to create them all. */
TEST(programs_for_two_devices_have_their_kernels_once)
{
	const char *const built[] = { "queries", NULL }, *const linked[] = { "queries", "linked", NULL };

	two_devices();
	driver_setenv("STUB_EACH_DEVICES_KERNELS", "1");
	if (has_one_device())
		return;
	if (driver_is("pocl"))
		return (void)printf("pocl 3.1 crashes when it is asked for the binaries; ");
	cold_and_warm(built, "create all 0", 1);
	cold_and_warm(linked, "create all 0", 3);
}

/* As without the layer, but for the stub, whose values come from the text. */
static void run_with_token(const char *const *arguments)
{
	struct outcome reference = driver_client(BARE, arguments);

	CU_ASSERT(outcome_good(&reference));
	if (driver_is("stub"))
		run_unlike(arguments);
	else
		run_layered(&reference, arguments);
}

TEST(random_token_of_pyopencl)
{
	static const char *const tokens[] = {
		"00112233445566778899aabbccddeeff", "0f0e0d0c0b0a09080706050403020100",
		/* Not what PyOpenCL writes. */
		"0f0e0d0c0b0a0908070605040302010", "0f0e0d0c0b0a0908070605040302010g",
	};
	static const unsigned int misses[] = { 1, 1, 2, 3 };

	for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++) {
		const char *const arguments[] = { "token", tokens[i], NULL };

		run_with_token(arguments);
		CU_ASSERT_EQUAL(driver_stats().misses, misses[i]);
	}
}

/* Two tokens under text that makes another program of the second one. */
TEST(token_that_the_source_refers_to)
{
	static const char first[] = "00112233445566778899aabbccddeeff";
	static const char second[] = "0f0e0d0c0b0a09080706050403020100";
	static const char *const texts[] = {
		"#define pyopencl_defeat_cache_0f0e0d0c0b0a09080706050403020100 "
		"a = 0; kernel void more(global int *out) { out[0] = 1; } __constant int b",
		"#define NAME(a, b) a##b\n"
		"kernel void NAME(more_0f0e0d0c, 0b0a09080706050403020100)(global int *out) { out[0] = 1; }",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const char *const arguments[][4] = { { "token", first, texts[i] }, { "token", second, texts[i] } };

		for (size_t j = 0; j < 4; j++) {
			struct outcome reference = driver_client(BARE, arguments[j % 2]);

			CU_ASSERT(outcome_good(&reference));
			run_layered(&reference, arguments[j % 2]);
			CU_ASSERT_EQUAL(driver_stats().misses, 2 * i + (j > 0) + 1);
		}
	}
}

/* A header's macro by the name of the third; the others' entry is no answer for it. */
TEST(token_that_a_header_refers_to)
{
	static const char *const tokens[] = {
		"00112233445566778899aabbccddeeff", "0f0e0d0c0b0a09080706050403020100",
		"fedcba9876543210fedcba9876543210", "00112233445566778899aabbccddeeff",
	};
	static const unsigned int built[] = { 1, 1, 2, 2 };

	unit_write("work/token.h", "#define pyopencl_defeat_cache_fedcba9876543210fedcba9876543210 "
		   "a = 0; kernel void more(global int *out) { out[0] = 1; } __constant int b\n");
	for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++) {
		const char *const arguments[] = { "token", tokens[i], "#include \"token.h\"", "-I.", NULL };

		run_with_token(arguments);
		CU_ASSERT_EQUAL(driver_stats().misses + driver_bypasses("random-token"), built[i]);
		CU_ASSERT_EQUAL(driver_bypasses("random-token"), i >= 2);
	}
}

TEST_ON("stub", token_that_the_log_names)
{
	const char *const failing[] = { "tokens-failing", NULL };
	/* The stub's log has the options. */
	const char *const building[] = { "token", "00112233445566778899aabbccddeeff", "",
					 "-Dpyopencl_defeat_cache_0=1", NULL };
	struct outcome reference;

	run_unlike(building);
	run_unlike(building);
	EXPECT_STATS("bypass.random-token 2, entries 0");
	reference = driver_client(BARE, failing);
	CU_ASSERT(answers(&reference, "pyopencl_defeat_cache_0f0e"));
	run_layered(&reference, failing);
}

TEST(a_header_that_changes_through_a_mapping)
{
	const char *const arguments[] = { "mapped", NULL };
	struct outcome reference;

	reference = driver_client(BARE, arguments);
	CU_ASSERT(outcome_good(&reference));
	run_layered(&reference, arguments);
	CU_ASSERT_EQUAL(driver_bypasses("include-changed"), 3);
	run_layered(&reference, arguments);
}

TEST(program_without_kernels)
{
	struct outcome bare;

	bare = GOOD_CLIENT(BARE, "no-kernels");
	for (int i = 0; i < 2; i++)
		SAME_AS(&bare, "no-kernels");
	CU_ASSERT_EQUAL(driver_stats().hits_disk, 1);
}

/* Cold or warm, as without the layer; so many misses and hits on disk then. */
static void run_part(const char *way, uint64_t misses, uint64_t hits)
{
	const char *const arguments[] = { "part", way, NULL };
	struct outcome reference = driver_client(BARE, arguments);

	CU_ASSERT(outcome_good(&reference));
	run_layered(&reference, arguments);
	CU_ASSERT_EQUAL(driver_stats().misses, misses);
	CU_ASSERT_EQUAL(driver_stats().hits_disk, hits);
}

/* A processor with one core has no parts. */
static bool has_parts(void)
{
	struct outcome outcome = GOOD_CLIENT(BARE, "part", "two");

	return answers(&outcome, "parts 0");
}

TEST_ON("pocl", parts_of_a_processor_take_what_was_built_for_it)
{
	if (!has_parts())
		return;
	run_part("whole", 1, 0);
	run_part("equally", 1, 1);
	run_part("counts", 1, 2);
	/* To the driver a program for two parts is one for the whole. */
	run_part("two", 1, 3);
}

TEST_ON("pocl", a_processor_takes_what_was_built_for_a_part)
{
	if (!has_parts())
		return;
	run_part("counts", 1, 0);
	run_part("whole", 1, 1);
}

/* That is the proof: the driver does not tell them apart either. */
TEST_ON("pocl", the_drivers_own_cache_has_one_program_for_a_device_and_its_parts)
{
	static const char one[] = "test $(find pocl -mindepth 2 -maxdepth 2 -type d | wc -l) = 1";

	if (!has_parts())
		return;
	CU_ASSERT_EQUAL(system("rm -rf pocl"), 0);
	GOOD_CLIENT(BARE, "part", "whole");
	CU_ASSERT_EQUAL(system(one), 0);
	GOOD_CLIENT(BARE, "part", "counts");
	CU_ASSERT_EQUAL(system(one), 0);
}

TEST_ON("pocl", what_a_part_left_for_later_is_built_for_the_whole)
{
	struct outcome replay;

	if (!has_parts())
		return;
	driver_setenv("CKCACHE_CAPTURE", "deferred");
	run_part("counts", 1, 0);
	CU_ASSERT_EQUAL(driver_stats().recipes, 1);
	replay = TOOL("replay");
	CU_ASSERT(outcome_good(&replay));
	CU_ASSERT_EQUAL(driver_stats().recipes, 0);
	run_part("counts", 1, 1);
}
