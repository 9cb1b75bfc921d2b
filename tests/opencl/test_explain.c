/* SPDX-License-Identifier: MIT */
/*
 * test_explain: each staged cause of a compile is the one that `ckcache
 * explain` names, in a line of its own; what it says as JSON is JSON.
 */
#include "tests/opencl/driver.h"
#include "tests/support/unit.h"

#define KERNEL "kernel void value(global int *out) { out[0] = VALUE; }\n"
#define SOURCE "#define VALUE 1\n" KERNEL

static struct outcome last;

static void run_header(const char *source, const char *options)
{
	unit_write("work/main.cl", source);
	last = GOOD_CLIENT(LAYERED, "header", "main.cl", options);
}

/* The explanation has one compile, whose line says that. */
static void expect(const char *cause)
{
	struct outcome outcome = TOOL("explain");

	CU_ASSERT_EQUAL(outcome.code, 0);
	CU_ASSERT(contains(outcome.output, cause));
	CU_ASSERT(contains(outcome.output, "1 compile in "));
	if (getenv("CKCACHE_TEST_SHOW"))
		(void)printf("\n    %.*s", (int)(strcspn(outcome.output, "\n") + 1), outcome.output);
}

/* So does that of a run of this source. */
static void expect_of(const char *source, const char *options, const char *cause)
{
	run_header(source, options);
	expect(cause);
}

TEST_ON("stub", first_time)
{
	expect_of(SOURCE, "", "first time: nothing similar is stored");
}

TEST(another_option)
{
	run_header(SOURCE, "-DN=4 -DB");
	expect_of(SOURCE, "-DN=8 -DB", "option -DN=4 -> -DN=8");
	expect_of(SOURCE, "-DN=8 -DB -cl-fast-relaxed-math", "option -cl-fast-relaxed-math added");
}

TEST_ON("stub", another_byte_of_the_source)
{
	run_header("#define VALUE 1\n\n" KERNEL, "");
	run_header("#define VALUE 1\n#define TWO 2\n" KERNEL, "");
	expect("source differs at line 2");
}

/* Longer than the history keeps it; which knows the last compile alone. */
TEST_ON("stub", a_kernel_with_a_long_name)
{
	char source[1000] = "kernel void ";

	memset(source + strlen(source), 'k', 600);
	(void)strcat(source, "(global int *out) { out[0] = 1; }\n" KERNEL "// 1\n");
	run_header(source, "-DVALUE=1");
	(void)strcat(source, "// 2\n");
	CU_ASSERT_EQUAL(unlink("cache/events.log"), 0);
	expect_of(source, "-DVALUE=1", "source differs at line 4");
}

/* Nothing is stored that it could be compared with. */
TEST_ON("stub", the_nearest_is_known_from_the_history_alone)
{
	run_header("#define VALUE 1\n" KERNEL "constant char when[] = __DATE__;\n", "-DB");
	run_header(SOURCE, "-DA");
	TOOL_SAYS(0, "", "clear");
	expect_of(SOURCE, "-DB", "option -DB added, -DA dropped");
}

TEST_ON("stub", random_word)
{
	run_header("#define VALUE 1\n#define RUN_7f3a91c2d0 1\n" KERNEL, "");
	run_header("#define VALUE 1\n#define RUN_0b52e8f417 1\n" KERNEL, "");
	expect("source differs at line 2 (RUN_7f3a91c2d0 -> RUN_0b52e8f417)");
}

/* As of a generator that names a temporary file. */
TEST_ON("stub", what_is_never_used_again)
{
	char source[200];

	for (int i = 0; i < 10; i++) {
		(void)snprintf(source, sizeof(source), "#line 1 \"/tmp/tmp%c%s/gen.cl\"\n#define VALUE 1\n" KERNEL, 'a' + i,
			       i % 2 ? "vreih" : "xtqpq");
		run_header(source, "");
	}
	expect("not stored: each run has another kernel in its place, and none was used again (tmphvreih -> tmpjvreih)");
}

TEST_ON("stub", header_that_changes)
{
	unit_write("work/inc/common.h", "#define VALUE 1\n");
	run_header("#include \"common.h\"\n" KERNEL, "-I inc");
	unit_write("work/inc/common.h", "#define VALUE 2\n");
	run_header("#include \"common.h\"\n" KERNEL, "-I inc");
	expect("header common.h changed (");
}

/* By which the header might have been found. */
TEST_ON("stub", variable_that_names_the_directory)
{
	char options[4200];

	unit_write("work/inc/common.h", "#define VALUE 1\n");
	(void)snprintf(options, sizeof(options), "-I %s/work/inc", unit_dir());
	driver_setenv("PLACES_OF_HEADERS", options + strlen("-I "));
	run_header("#include <common.h>\n" KERNEL, options);
	driver_setenv("PLACES_OF_HEADERS", "/elsewhere");
	run_header("#include <common.h>\n" KERNEL, options);
	expect("the variable PLACES_OF_HEADERS, by which the compiler looks for files, differs");
}

/* Which debugging information names. */
TEST_ON("stub", another_working_directory)
{
	unit_write("work/below/main.cl", SOURCE);
	run_header(SOURCE, "-g");
	driver_shell("cd below && exec \"$@\"");
	run_header(SOURCE, "-g");
	driver_shell(NULL);
	expect("the working directory differs (was ");
}

TEST_ON("stub", header_that_appears)
{
	unit_write("work/second/common.h", "#define VALUE 1\n");
	run_header("#include <common.h>\n" KERNEL, "-I first -I second");
	unit_write("work/first/common.h", "#define VALUE 2\n");
	run_header("#include <common.h>\n" KERNEL, "-I first -I second");
	expect("header common.h appeared where the compiler looks for it first");
}

/* The driver's library, which from now on is to be one of the test's own. */
struct library {
	char *data;
	size_t len;
};

static struct library copy_library(void)
{
	struct library copy = { 0 };
	char path[4096];
	FILE *file = fopen("vendors/driver.icd", "r");
	size_t cap = 0;

	CU_ASSERT_FATAL(file != NULL);
	CU_ASSERT_FATAL(fgets(path, sizeof(path), file) != NULL);
	(void)fclose(file);	/* only read */
	path[strcspn(path, "\n")] = '\0';
	file = fopen(path, "r");
	CU_ASSERT_FATAL(file != NULL);
	for (size_t got = 1; got; copy.len += got) {
		if (copy.len == cap)
			copy.data = realloc(copy.data, cap = cap ? 2 * cap : 1 << 16);
		CU_ASSERT_FATAL(copy.data != NULL);
		got = fread(copy.data + copy.len, 1, cap - copy.len, file);
	}
	(void)fclose(file);	/* only read */
	(void)snprintf(path, sizeof(path), "%s/driver/libstub_driver.so", unit_dir());
	unit_write("vendors/driver.icd", path);
	return copy;
}

TEST_ON("stub", another_build_id)
{
	/* An ELF note: sizes of name and content, its type, its name. */
	static const char note[] = "\4\0\0\0\x14\0\0\0\3\0\0\0GNU";
	struct library copy;
	char *id;

	copy = copy_library();
	id = memmem(copy.data, copy.len, note, sizeof(note));
	CU_ASSERT_FATAL(id != NULL);
	memset(id + sizeof(note), 0x12, 20);
	unit_write_bytes("driver/libstub_driver.so", copy.data, copy.len);
	run_header(SOURCE, "");
	memset(id + sizeof(note), 0x56, 20);
	unit_write_bytes("driver/libstub_driver.so", copy.data, copy.len);
	run_header(SOURCE, "");
	expect("driver libstub_driver.so changed: build-id 12121212... -> 56565656...");
	free(copy.data);
}

TEST_ON("stub", another_driver_version)
{
	driver_stub_setting("STUB_DRIVER_VERSION", "1.0");
	run_header(SOURCE, "");
	driver_stub_setting("STUB_DRIVER_VERSION", "2.0");
	expect_of(SOURCE, "", "device.driver_version: 1.0 -> 2.0");
}

TEST_ON("stub", another_environment)
{
	run_header(SOURCE, "");
	driver_setenv("IGC_X", "1");
	expect_of(SOURCE, "", "environment IGC_X set to 1 (was unset)");
	driver_setenv("IGC_X", "2");
	expect_of(SOURCE, "", "environment IGC_X: 1 -> 2");
}

TEST_ON("stub", a_variable_changed_by_the_program)
{
	GOOD_CLIENT(LAYERED, "variables", "IGC_X=1", "build");
	expect("a variable that the driver reads has changed since the driver was loaded");
}

TEST_ON("stub", another_device)
{
	driver_stub_setting("STUB_DEVICE_NAME", "A");
	run_header(SOURCE, "");
	driver_stub_setting("STUB_DEVICE_NAME", "B");
	expect_of(SOURCE, "", "device differs: A -> B");
}

static void run_constant(const char *value)
{
	GOOD_CLIENT(LAYERED, "il", "core", value);
}

TEST_ON("!stub", another_constant)
{
	struct outcome outcome = GOOD_CLIENT(BARE, "il-version");

	if (strstr(outcome.output, "il \"\"")) {
		CU_ASSERT_FALSE(driver_is("neo"));
		return (void)printf("%s takes no intermediate language; ", driver_selected()->name);
	}
	run_constant("4");
	run_constant("8");
	expect("specialization constant 7: 4 -> 8");
}

TEST_ON("stub", too_large)
{
	driver_setenv("CKCACHE_MAX_DEVICE_IMAGE_SIZE", "10");
	expect_of(SOURCE, "", " B is over CKCACHE_MAX_DEVICE_IMAGE_SIZE");
	driver_setenv("CKCACHE_MAX_DEVICE_IMAGE_SIZE", NULL);
	expect_of(SOURCE, "", "not stored the last time: image of ");
}

TEST_ON("stub", too_small)
{
	driver_setenv("CKCACHE_MIN_DEVICE_IMAGE_SIZE", "1Mi");
	expect_of(SOURCE, "", " B is under CKCACHE_MIN_DEVICE_IMAGE_SIZE");
}

/* A source of so many bytes. */
static void run_long(size_t len)
{
	char *source = malloc(len + sizeof(SOURCE));

	CU_ASSERT_PTR_NOT_NULL_FATAL(source);
	memset(source, '\n', len);
	memcpy(source + len, SOURCE, sizeof(SOURCE));
	run_header(source, "");
	free(source);
}

/* It fits into the cache, and is no larger than half of it. */
TEST_ON("stub", too_large_for_the_limit_on_files)
{
	driver_shell("ulimit -f 16; exec \"$@\"");	/* 8 KiB */
	run_header(SOURCE, "");
	CU_ASSERT_EQUAL(driver_stats().errors, 0);
	CU_ASSERT(!strstr(last.errors, "cannot write"));
	run_long(12 << 10);
	expect("not stored: a file may not grow so large (ulimit -f, LimitFSIZE=)");
	CU_ASSERT_EQUAL(driver_stats().errors, 1);
	CU_ASSERT(contains(last.errors, "cannot write an entry: a file may not grow so large (RLIMIT_FSIZE)"));
	driver_shell(NULL);
	run_long(12 << 10);
	expect("not stored the last time: a file may not grow so large");
	CU_ASSERT_EQUAL(driver_stats().errors, 1);
}

/* Disks on which no history can be written either: the log knows. */
TEST_ON("stub", nothing_can_be_written)
{
	static const struct {
		const char *mount, *said;
	} disks[] = {
		{ "mount -t tmpfs -o size=4k,mode=700 none \"$CKCACHE_DIR\"", ": no-space" },
		{ "mount -t tmpfs -o ro,mode=700 none \"$CKCACHE_DIR\"", ": read-only-disk" },
		{ "mount -t tmpfs -o mode=777 none \"$CKCACHE_DIR\"", "others may write to it" },
	};
	char command[512];

	driver_setenv("CKCACHE_LOG", "debug");
	for (size_t i = 0; i < sizeof(disks) / sizeof(disks[0]); i++) {
		(void)snprintf(command, sizeof(command), "exec unshare -rm sh -c 'mkdir -p -m 700 \"$CKCACHE_DIR\" && "
			       "%s || exit 77; exec \"$0\" \"$@\"' \"$@\"", disks[i].mount);
		driver_shell(command);
		unit_write("work/main.cl", SOURCE);
		last = CLIENT(LAYERED, "header", "main.cl", "");
		if (last.code == 77 || strstr(last.errors, "unshare:")) {
			(void)printf("SKIPPED: no mounts here; ");
			break;
		}
		CU_ASSERT_EQUAL(last.code, 0);
		CU_ASSERT(contains(last.errors, disks[i].said));
	}
	driver_shell(NULL);
}

/* Over half of the bound, and full: each has its reason. */
TEST_ON("stub", too_large_for_the_bound)
{
	driver_setenv("CKCACHE_MAX_SIZE", "20k");
	run_long(12 << 10);
	expect("not stored: it did not fit into CKCACHE_MAX_SIZE, of which one entry may take half");
	driver_setenv("CKCACHE_EVICTION_ORDER", "none");
	driver_setenv("CKCACHE_MAX_SIZE", "12k");
	run_long(14 << 10);
	expect("not stored: the cache is full, and CKCACHE_EVICTION_ORDER=none evicts nothing");
}

static void succeed(const char *verb, const char *option)
{
	struct outcome outcome = TOOL(verb, option);

	CU_ASSERT(outcome_good(&outcome));
}

TEST_ON("stub", evicted)
{
	run_header(SOURCE, "");
	driver_setenv("CKCACHE_MAX_SIZE", "10B");
	succeed("prune", NULL);
	driver_setenv("CKCACHE_MAX_SIZE", NULL);
	expect_of(SOURCE, "", "evicted 20");
	expect(" by size (CKCACHE_MAX_SIZE)");
}

TEST_ON("stub", cleared)
{
	run_header(SOURCE, "");
	succeed("clear", NULL);
	/* It is known by its kernel's name and its options, although nothing is stored. */
	TOOL_SAYS(0, "first time", "explain", "value");
	expect_of(SOURCE, "", "by ckcache clear");
	run_header(SOURCE, "-DN=1");
	succeed("clear", NULL);
	TOOL_SAYS(1, "kernel value, -DN=1", "explain", "value");
}

TEST_ON("stub", removed_by_a_command)
{
	static const struct {
		const char *arguments[4], *said;
	} ways[] = {
		{ { "clear", "--program", "opencl_client" }, "by ckcache clear" },
		{ { "prune", "--program", "opencl_client" }, "by ckcache prune" },
		{ { "prune", "--max-size", "0" }, "by ckcache prune" },
		{ { "prune", "--older-than", "0s" }, "by ckcache prune" },
	};

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		const char *const *arguments = ways[i].arguments;

		run_header(SOURCE, "");
		TOOL_SAYS(0, "", arguments[0], arguments[1], arguments[2]);
		expect_of(SOURCE, "", "removed 20");
		expect(ways[i].said);
		expect(": 1 removed by a command");
	}
	/* What a command removed was not evicted. */
	TOOL_SAYS(0, "\"evicted_by_size\":0,\"evicted_by_age\":0", "report", "--json");
	/* The last removal counts. */
	succeed("prune", "--program=opencl_client");
	run_header(SOURCE, "");
	succeed("clear", NULL);
	expect_of(SOURCE, "", "by ckcache clear");
}

TEST_ON("stub", damaged)
{
	char paths[1][4096];

	run_header(SOURCE, "");
	CU_ASSERT_EQUAL_FATAL(driver_cache_files(".bin", paths, 1), 1);
	CU_ASSERT_EQUAL(truncate(paths[0], 50), 0);
	expect_of(SOURCE, "", "entry was damaged, and removed");
}

TEST_ON("stub", read_only)
{
	struct outcome outcome;

	run_header(SOURCE, "-DN=4");
	driver_setenv("CKCACHE_READ_ONLY", "1");
	driver_setenv("CKCACHE_TRACE", "trace");
	run_header(SOURCE, "-DN=8");
	outcome = TOOL("explain", "--trace", "trace");
	CU_ASSERT_EQUAL(outcome.code, 0);
	CU_ASSERT(contains(outcome.output, "read-only: CKCACHE_READ_ONLY=1"));
	CU_ASSERT(contains(outcome.output, "option -DN=4 -> -DN=8"));
	if (getenv("CKCACHE_TEST_SHOW"))
		(void)printf("\n    %s", outcome.output);
}

TEST_ON("stub", bypass)
{
	run_header("#define VALUE 1\n" KERNEL "constant char when[] = __DATE__;\n", "");
	expect("not cached: the source uses __DATE__ (date)");
}

TEST_ON("stub", bypasses_took_their_time)
{
	struct outcome outcome;

	run_header("#define VALUE 1\n" KERNEL "constant char when[] = __DATE__;\n", "");
	outcome = TOOL("explain", "--json");
	CU_ASSERT(contains(outcome_squeezed(&outcome), "\"event\":\"bypass\""));
	CU_ASSERT_PTR_NULL(strstr(outcome_squeezed(&outcome), "\"compile_ms\":null"));
	CU_ASSERT_PTR_NULL(strstr(outcome_squeezed(&outcome), "\"compile_ms\":0.0,"));
	/* Also where there is no key, with the name of what it was. */
	outcome = GOOD_CLIENT(LAYERED, "variables", "IGC_X=1", "build");
	outcome = TOOL("explain");
	CU_ASSERT(contains(outcome.output, "has changed since the driver was loaded"));
	CU_ASSERT_PTR_NULL(strstr(outcome.output, "(no key)"));
	CU_ASSERT_PTR_NULL(strstr(outcome.output, " -  not cached"));
}

static void fail_to_build(const char *options)
{
	struct outcome outcome;

	unit_write("work/main.cl", "#error on purpose\n" KERNEL);
	outcome = CLIENT(LAYERED, "header", "main.cl", options);
	CU_ASSERT(contains(outcome.output, " -11\n"));
}

TEST(failed)
{
	fail_to_build("");
	expect("did not compile (-11): ");
	expect("error: ");
	expect(": 1 that did not compile");
	TOOL_SAYS(0, "\"event\":\"failed\"", "explain", "--json");
	/* What failed once is compared with nothing, and nothing with it. */
	run_header(SOURCE, "");
	fail_to_build("-DN=1");
	expect("did not compile (-11): ");
	expect_of(SOURCE, "-DN=2", "option -DN=2 added");
}

TEST_ON("stub", failed_by_a_trace)
{
	driver_setenv("CKCACHE_READ_ONLY", "1");
	driver_setenv("CKCACHE_TRACE", "trace");
	fail_to_build("");
	TOOL_SAYS(0, "did not compile (-11): error: ", "explain", "--trace", "trace");
}

TEST(the_last_run_compiled_nothing)
{
	struct outcome outcome;

	expect_of(SOURCE, "", "first time");
	run_header(SOURCE, "");
	TOOL_SAYS(0, "the last run compiled nothing: 1 hit of opencl_client (process ", "explain");
	outcome = TOOL("explain", "--json");
	CU_ASSERT(contains(outcome_squeezed(&outcome), "{\"compiles\":[],\"compiled_nothing\":{\"program\":\"opencl_client\","));
	TOOL_SAYS(0, "1 compile in ", "explain", "--all");
	outcome = TOOL("explain", "--", driver_client_path(), "-n", "header", "main.cl", "");
	CU_ASSERT(contains(outcome.output, "the command compiled nothing: 1 hit of opencl_client (process "));
	expect_of(SOURCE, "-DN=1", "option -DN=1 added");
}

/* Its counts may have gone into the sums meanwhile. */
TEST_ON("stub", the_last_run_is_known_although_its_counts_were_added_up)
{
	run_header(SOURCE, "");
	for (unsigned int i = 0; i < 130; i++)
		run_header(SOURCE, "");
	TOOL_SAYS(0, "the last run compiled nothing: ", "explain");
	TOOL_SAYS(0, "130", "stats");
}

/* As those of containers, each of which begins to count anew. */
TEST_ON("stub", the_last_run_is_the_last_one_whatever_its_number)
{
	driver_setenv("LSAN_OPTIONS", "detect_leaks=0");	/* which may not look into a process there */
	driver_shell("exec unshare -rpf --mount-proc sh -c '\"$0\" \"$@\"; exit $?' \"$@\"");
	unit_write("work/main.cl", SOURCE);
	last = CLIENT(LAYERED, "header", "main.cl", "");
	if (strstr(last.errors, "unshare:")) {
		driver_shell(NULL);
		driver_setenv("LSAN_OPTIONS", NULL);
		return (void)printf("SKIPPED: no namespaces here; ");
	}
	CU_ASSERT_EQUAL(last.code, 0);
	TOOL_SAYS(0, "1 compile in ", "explain");
	TOOL_SAYS(0, "(process 2): 1 for the first time", "explain");
	run_header(SOURCE, "");
	TOOL_SAYS(0, "the last run compiled nothing: 1 hit of opencl_client (process 2)", "explain");
	driver_shell(NULL);
	driver_setenv("LSAN_OPTIONS", NULL);
}

/* A run that only failed, or could not cache, leaves no sums but its own. */
TEST_ON("stub", the_last_run_compiled_and_stored_nothing)
{
	run_header(SOURCE, "");
	run_header(SOURCE, "");
	run_header("#define VALUE 1\n" KERNEL "constant char when[] = __DATE__;\n", "");
	expect("not cached: the source uses __DATE__ (date)");
	run_header(SOURCE, "");
	fail_to_build("");
	expect("did not compile");
}

static void run_with_clock(const char *ahead_s, const char *options)
{
	driver_setenv("LD_PRELOAD", WRONG_CLOCK);
	driver_setenv("ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0");
	driver_setenv("WRONG_CLOCK_S", ahead_s);
	run_header(SOURCE, options);
	driver_setenv("LD_PRELOAD", NULL);
	driver_setenv("ASAN_OPTIONS", NULL);
}

TEST_ON("stub", the_last_run_is_the_last_one_whatever_its_clock_said)
{
	/* Half a year ahead, and in 1970. */
	static const char *const clocks[] = { "17280000", "-1700000000" };

	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++) {
		run_with_clock(clocks[i], "");
		expect_of("#define VALUE 1\n" KERNEL "constant char when[] = __DATE__;\n", "",
			  "not cached: the source uses __DATE__ (date)");
		run_with_clock(clocks[i], i ? "-DC" : "-DB");
		expect(i ? "" : "option -DB added");
		run_header(SOURCE, "");
		TOOL_SAYS(0, "the last run compiled nothing: ", "explain");
		run_with_clock(clocks[i], "");
		TOOL_SAYS(0, "the last run compiled nothing: ", "explain");
		/* Another one's removal is not later for its date. */
		TOOL_SAYS(0, "", "clear");
		run_with_clock(clocks[i], "");
		expect("removed ");
		run_header(SOURCE, i ? "-DE" : "-DD");
		expect("added");
		TOOL_SAYS(0, "", "clear");
		expect_of(SOURCE, "", "removed ");
	}
}

TEST_ON("stub", named_by_the_program)
{
	struct outcome outcome;

	run_header(SOURCE, "");
	TOOL_SAYS(0, "\"kernels\":[\"value\"]", "show", "--json", "opencl_client");
	TOOL_SAYS(0, "first time", "explain", "opencl_client");
	run_header(SOURCE, "-DN=1");
	outcome = TOOL("explain", "opencl_client");
	CU_ASSERT_EQUAL(outcome.code, 1);
	CU_ASSERT(contains(outcome.errors, "\"opencl_client\" is the name of several entries"));
	CU_ASSERT(contains(outcome.errors, "kernel value, -DN=1"));
}

TEST_ON("stub", refused)
{
	run_header(SOURCE, "");
	driver_stub_setting("STUB_REFUSE_BINARY", "1");
	expect_of(SOURCE, "", "refused by the driver");
}

TEST_ON("stub", deferred)
{
	driver_setenv("CKCACHE_CAPTURE", "deferred");
	expect_of(SOURCE, "", "left to ckcache replay");
}

/* A family of programs that one run compiles is no reason for each other. */
TEST_ON("stub", several_of_one_run)
{
	struct outcome outcome;

	outcome = CLIENT(LAYERED, "two-options");
	outcome = TOOL("explain");
	CU_ASSERT(contains(outcome.output, "2 compiles in "));
	CU_ASSERT(contains(outcome.output, "2 for the first time"));
}

/* Whether Python can read it. */
static bool is_json(const char *text)
{
	bool good;

	unit_write("explained.json", text);
	good = system("python3 -c 'import json; json.load(open(\"explained.json\"))'") == 0;
	if (!good)
		(void)printf("\n    no JSON: %s\n", text);
	return good;
}

TEST_ON("stub", json)
{
	static const char *const ways[][3] = {
		{ "--json", NULL }, { "--json", "--all" }, { "--json", "--trace", "trace" },
	};

	driver_setenv("CKCACHE_TRACE", "trace");
	run_header(SOURCE, "-DN=4");
	run_header("#define VALUE 1\n" KERNEL "constant char when[] = __DATE__;\n", "-DN=\"a\\b\"");
	run_header(SOURCE, "-DN=8");
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct outcome outcome = TOOL("explain", ways[i][0], ways[i][1],
					      ways[i][1] ? ways[i][2] : NULL);

		CU_ASSERT_EQUAL(outcome.code, 0);
		CU_ASSERT(is_json(outcome.output));
		CU_ASSERT(contains(outcome.output, "\"kind\": \"option\""));
	}
}

TEST_ON("stub", entries_are_shown)
{
	struct outcome outcome;
	char paths[1][4096], *entry;

	unit_write("work/inc/common.h", "#define VALUE 1\n");
	run_header("#include \"common.h\"\n" KERNEL, "-I inc");
	CU_ASSERT_EQUAL_FATAL(driver_cache_files(".src", paths, 1), 1);
	entry = paths[0] + strlen(driver_cache()) + 1;
	outcome = TOOL("show", "--json", entry);
	CU_ASSERT_EQUAL(outcome.code, 0);
	CU_ASSERT(is_json(outcome.output));
	CU_ASSERT(contains(outcome_squeezed(&outcome), "\"kernels\":[\"value\"]"));
	entry[10] = '\0';
	outcome = TOOL("show", entry);
	CU_ASSERT_EQUAL(outcome.code, 0);
	CU_ASSERT(contains(outcome.output, "options: -I inc"));
	CU_ASSERT(contains(outcome.output, "(the driver, its compiler or their libraries: an update changes it)"));
	CU_ASSERT(contains(outcome.output, "common.h (16 bytes"));
	CU_ASSERT(contains(outcome.output, "status         sound"));
	outcome = TOOL("show", "--source", entry);
	CU_ASSERT_STRING_EQUAL(outcome.output, "#include \"common.h\"\n" KERNEL);
	TOOL_SAYS(0, "first time", "explain", entry);
	TOOL_SAYS(1, "there is no entry \"zzz\"", "show", "zzz");
}

TEST_ON("stub", last_ones)
{
	struct outcome outcome;

	for (char n = '1'; n <= '3'; n++) {
		char option[] = "-DN=?";

		option[4] = n;
		run_header(SOURCE, option);
	}
	outcome = TOOL("explain", "--last", "2", "--verbose");
	CU_ASSERT(contains(outcome.output, "2 compiles in "));
	CU_ASSERT(contains(outcome.output, "option -DN=1 -> -DN=2"));
	CU_ASSERT(contains(outcome.output, "    options: -DN=2 -> -DN=3"));
	TOOL_SAYS(2, "", "explain", "--last", "0");
	TOOL_SAYS(2, "", "explain", "--last", "2", "--all");
}

/* A command is run with the layers, and explained; what it printed and returned is its own. */
TEST_ON("stub", live)
{
	struct outcome outcome;

	run_header(SOURCE, "-DN=4");
	outcome = TOOL("explain", "--", driver_client_path(), "-n", "header", "main.cl", "-DN=8");
	CU_ASSERT_EQUAL(outcome.code, 0);
	CU_ASSERT(contains(outcome.output, "release context 0"));
	CU_ASSERT(contains(outcome.output, "option -DN=4 -> -DN=8"));
	driver_setenv("CKCACHE_READ_ONLY", "1");
	outcome = TOOL("explain", "--", driver_client_path(), "-n", "header", "main.cl", "-DN=16");
	CU_ASSERT(contains(outcome.output, "read-only: CKCACHE_READ_ONLY=1"));
	CU_ASSERT(contains(outcome.output, " -> -DN=16"));
	outcome = TOOL("explain", "--", driver_client_path(), "-n", "header", "main.cl", "-DN=8");
	CU_ASSERT(contains(outcome.output, "the command compiled nothing: 1 hit of opencl_client (process "));
	TOOL_SAYS(1, "", "explain", "--", "false");
	driver_setenv("CKCACHE_DISABLE", "1");
	outcome = TOOL("explain", "--", driver_client_path(), "-n", "header", "main.cl", "-DN=8");
	CU_ASSERT(contains(outcome.output, "as far as is known: the cache is switched off (CKCACHE_DISABLE)\n"));
}

/* Where nothing is known, or no more. */
TEST_ON("stub", empty_and_damaged)
{
	struct outcome outcome;

	outcome = TOOL("explain");
	CU_ASSERT_EQUAL(outcome.code, 0);
	CU_ASSERT_STRING_EQUAL(outcome.output, "no compiles are known\n");
	run_header(SOURCE, "");
	unit_write("cache/events.old", "cke\ncke\ncke\n");
	unit_write("cache/events.log", "no history");
	outcome = TOOL("explain", "--json");
	CU_ASSERT_EQUAL(outcome.code, 0);
	CU_ASSERT_STRING_EQUAL(outcome_squeezed(&outcome), "{\"compiles\":[],\"compiled_nothing\":null}");
	expect_of(SOURCE, "-DN=1", "option -DN=1 added");
	unit_write("work/trace", "{\"event\":\"miss\",\"key\":{\"a\":\"\\u00e9\",\"b\":{\"size\":1,\"hash\":\"x\"}}}\n"
		   "{\"event\":\"miss\"\nnothing\n\n{{{{{{{{\n");
	TOOL_SAYS(0, "1 compile in ", "explain", "--trace", "trace");
	TOOL_SAYS(1, "", "explain", "--trace", "no-such");
}

/* Of a directory that is another user's, nothing is read. */
TEST_ON("stub", another_users)
{
	run_header(SOURCE, "");
	if (!unit_is_root())
		return;
	CU_ASSERT_EQUAL(chown("cache", 65534, 65534), 0);
	TOOL_SAYS(1, "another user", "explain");
	TOOL_SAYS(1, "", "show", "0");
}
