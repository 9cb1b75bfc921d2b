/* SPDX-License-Identifier: MIT */
/*
 * test_extremes: input that is huge, empty, changing or not valid. In each
 * case the client sees with the layer, cold and warm, what it sees without;
 * what can be cached is a hit, nothing is stale, and the layer adds neither
 * minutes nor gigabytes. The figures of the large ones are printed.
 */
#include <sys/inotify.h>

#include "tests/opencl/driver.h"
#include "tests/support/unit.h"

#define KERNEL "kernel void value(global int *out) { out[0] = VALUE; }\n"
#define KERNEL_OF(value) "kernel void value(global int *out) { out[0] = " value "; }\n"
#define MEGABYTE (1u << 20)

/* What the layer may add; a sanitizer is slow, and keeps what is freed for a while. */
#define MORE_MS (UNIT_IS_SANITIZED ? 40000 : 4000)
#define MORE_KB (UNIT_IS_SANITIZED ? 2048 * 1024 : 64 * 1024)

/* THRICE: of three look-ups, by a child, by the client, and by a child again; on AMD's driver two can be kept. */
enum answer { HIT, MISS, NEITHER, THRICE_COLD, THRICE_WARM, TWICE_COLD, TWICE_WARM };

static const struct {
	uint64_t hits, stores;
} counted[] = {
	[HIT] = { 1, 0 }, [MISS] = { 0, 1 }, [THRICE_COLD] = { 1, 2 }, [THRICE_WARM] = { 3, 0 },
	[TWICE_COLD] = { 0, 2 }, [TWICE_WARM] = { 2, 0 },
};

static const char *const plain_source[] = { "extreme", "main.cl", "plain", "", NULL };
static const char *const with_inc[] = { "extreme", "main.cl", "plain", "-I inc", NULL };

BEFORE_EACH
{
	/* pocl's own cache does not see every header: the reference would be stale. */
	driver_setenv("POCL_KERNEL_CACHE", "0");
}

/* before, count times piece ("%u" in it: its number), after, into a file. */
static void write_many(const char *path, const char *before, const char *piece, unsigned int count,
		       const char *after)
{
	size_t size = 0;
	char *text = NULL;
	FILE *file = open_memstream(&text, &size);
	const char *number = strstr(piece, "%u");

	CU_ASSERT_FATAL(file != NULL);
	CU_ASSERT(fputs(before, file) >= 0);
	for (unsigned int i = 0; i < count; i++) {
		if (number)
			(void)fprintf(file, "%.*s%u%s", (int)(number - piece), piece, i, number + 2);
		else
			(void)fputs(piece, file);
	}
	CU_ASSERT(fputs(after, file) >= 0);
	CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
	unit_write_bytes(path, text, size);
	free(text);
}

static void write_value(const char *path, int value)
{
	char text[64];

	(void)snprintf(text, sizeof(text), "#define VALUE %d\n", value);
	unit_write(path, text);
}

static void move(const char *from, const char *to)
{
	CU_ASSERT_EQUAL_FATAL(rename(from, to), 0);
}

/* What create and build cost, as the client says. */
struct cost {
	long ms, kb;
};

static struct cost cost_of(const struct outcome *outcome)
{
	const char *at = strstr(outcome->errors, "took ");
	struct cost cost = { 0 };

	CU_ASSERT_FATAL(at && sscanf(at, "took %ld peak %ld", &cost.ms, &cost.kb) == 2);
	return cost;
}

/* With the layer, against a run without; how the cache took part in it. */
static struct cost run_layered(const struct outcome *reference, const char *const *arguments,
			       enum answer answer)
{
	struct driver_stats before = driver_stats(), after;
	struct outcome outcome = driver_client(LAYERED, arguments);
	struct cost cost = { 0 };
	uint64_t hits, stores;

	after = driver_stats();
	hits = after.hits_disk - before.hits_disk;
	stores = after.stores - before.stores;
	CU_ASSERT(outcome_same(reference, &outcome));
	CU_ASSERT_EQUAL(after.errors, 0);
	if (hits != counted[answer].hits || stores != counted[answer].stores) {
		(void)printf("\n    hits %d stores %d bypasses %d\n", (int)hits, (int)stores,
			     (int)(after.bypasses - before.bypasses));
		CU_FAIL("the cache answered otherwise");
	}
	if (strstr(outcome.errors, "took "))
		cost = cost_of(&outcome);
	return cost;
}

/* The same without the layer and with it: the first time as cold says, then as warm says. */
static void three_ways(const char *const *arguments, enum answer cold, enum answer warm)
{
	struct outcome reference = driver_client(BARE, arguments);

	CU_ASSERT(outcome_good(&reference));
	(void)run_layered(&reference, arguments, cold);
	(void)run_layered(&reference, arguments, warm);
}

/* A build that succeeds, and is cached. */
static void cached(const char *const *arguments)
{
	three_ways(arguments, MISS, HIT);
}

/*
 * The same for large input, with limits: the layer takes at most the
 * driver's time again and four seconds, and 32 bytes for each of size (a token's
 * size).
 */
static void large(const char *const *arguments, enum answer cold, enum answer warm, size_t size)
{
	struct outcome reference = driver_client(BARE, arguments);
	struct cost bare, costs[2];

	CU_ASSERT(outcome_good(&reference));
	bare = cost_of(&reference);
	costs[0] = run_layered(&reference, arguments, cold);
	costs[1] = run_layered(&reference, arguments, warm);
	(void)printf("bare %ld ms %ld MB, cold %ld ms %ld MB, warm %ld ms %ld MB; ", bare.ms,
		     bare.kb / 1024, costs[0].ms, costs[0].kb / 1024, costs[1].ms,
		     costs[1].kb / 1024);
	for (int i = 0; i < 2; i++) {
		CU_ASSERT(costs[i].ms <= 2 * bare.ms + MORE_MS);
		CU_ASSERT(costs[i].kb <= bare.kb + MORE_KB + (long)(32 * size / 1024));
	}
}

TEST(source_of_64_mb)
{
	char *spaces = malloc(MEGABYTE + 1);

	CU_ASSERT_FATAL(spaces != NULL);
	memset(spaces, ' ', MEGABYTE);
	spaces[MEGABYTE] = '\0';
	write_many("work/main.cl", "/*", spaces, 64, "*/\n" KERNEL_OF("7"));
	free(spaces);
	large(plain_source, MISS, HIT, 64 * MEGABYTE);
}

TEST(options_of_1_mb)
{
	const char *const arguments[] = { "extreme", "main.cl", "plain", "@options", NULL };

	unit_write("work/main.cl", KERNEL_OF("7"));
	write_many("work/options", "-DA=", "x", MEGABYTE, "");
	large(arguments, MISS, HIT, MEGABYTE);
}

/* Beyond what anybody means: whether it is cached is not the point, but that it ends. */
static void limited(const char *const *arguments)
{
	struct outcome bare = driver_client(BARE, arguments);

	CU_ASSERT(outcome_good(&bare));
	(void)printf("bare %ld ms, layered", cost_of(&bare).ms);
	for (int i = 0; i < 2; i++) {
		struct outcome layered = SAME_ANSWERS(&bare, arguments);

		(void)printf(" %ld ms", cost_of(&layered).ms);
		CU_ASSERT(cost_of(&layered).ms <= 2 * cost_of(&bare).ms + MORE_MS);
	}
	(void)printf("; ");
	CU_ASSERT_EQUAL(driver_stats().errors, 0);
}

static void options_of_many_words(const char *word)
{
	const char *const arguments[] = { "extreme", "main.cl", "plain", "@options", NULL };

	unit_write("work/main.cl", KERNEL_OF("7"));
	write_many("work/options", "", word, 100000, "");
	limited(arguments);
}

TEST_ON("stub", options_of_many_definitions)
{
	options_of_many_words("-DA%u=1 ");
}

TEST_ON("stub", options_of_one_name_many_times)
{
	options_of_many_words("-DA=%u ");
}

TEST_ON("stub", options_of_many_directories)
{
	options_of_many_words("-I d%u ");
}

TEST(ten_thousand_headers)
{
	const char *const arguments[] = { "extreme", "main.cl", "plain", "-I inc", NULL };
	struct outcome bare;
	char path[64];

	for (int i = 0; i < 10000; i++) {
		(void)snprintf(path, sizeof(path), "work/inc/h%d.h", i);
		unit_write(path, i == 9999 ? "#define VALUE 3\n" : "\n");
	}
	write_many("work/main.cl", "", "#include \"h%u.h\"\n", 10000, KERNEL);
	large(arguments, MISS, HIT, 2 * MEGABYTE);
	/* The last of them changes, goes, and comes back. */
	write_value(path, 4);
	bare = driver_client(BARE, arguments);
	(void)run_layered(&bare, arguments, MISS);
	move(path, "away.h");
	bare = driver_client(BARE, arguments);
	(void)run_layered(&bare, arguments, NEITHER);
	move("away.h", path);
	bare = driver_client(BARE, arguments);
	(void)run_layered(&bare, arguments, HIT);
}

TEST_ON("!stub", ten_thousand_embedded_headers)
{
	const char *const arguments[] = { "extreme-embedded", "10000", NULL };
	struct outcome bare;
	struct driver_stats stats;

	bare = driver_client(BARE, arguments);
	for (int i = 0; i < 2; i++) {
		struct outcome layered = SAME_ANSWERS(&bare, arguments);

		(void)printf("%ld ms, bare %ld ms; ", cost_of(&layered).ms, cost_of(&bare).ms);
		CU_ASSERT(cost_of(&layered).ms <= 2 * cost_of(&bare).ms + MORE_MS);
	}
	stats = driver_stats();
	CU_ASSERT_EQUAL(stats.errors, 0);
	/* The object and what is linked of it. */
	if (strstr(bare.output, "link 0"))
		CU_ASSERT_EQUAL(stats.hits_disk, 2);
}

/* All these are one text, so that one entry serves them. */
TEST(one_text_in_many_strings)
{
	static const char *const ways[] = { "plain", "length", "halves", "bytes", "empty-strings",
					    "zero-lengths", "mixed-lengths" };

	write_many("work/main.cl", "", "/* 10 B */", 1000, "\n" KERNEL_OF("7"));
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		const char *const arguments[] = { "extreme", "main.cl", ways[i], "", NULL };

		three_ways(arguments, i ? HIT : MISS, HIT);
	}
}

/* The same three times; how the cache took part is not looked at. */
static void alike(const char *const *arguments)
{
	struct outcome bare = driver_client(BARE, arguments);

	for (int i = 0; i < 2; i++)
		SAME_ANSWERS(&bare, arguments);
}

TEST(no_text_at_all)
{
	const char *const arguments[] = { "extreme", "main.cl", "nothing", "", NULL };
	const char *const null_options[] = { "extreme", "main.cl", "nothing", "-", NULL };

	unit_write("work/main.cl", "");
	alike(arguments);
	alike(null_options);
}

/* A source that differs only after a NUL is another one for who reads on. */
TEST(nul_in_the_source)
{
	static const char one[] = "int a;\0\n#define VALUE 1\n" KERNEL;
	static const char two[] = "int a;\0\n#define VALUE 2\n" KERNEL;
	const char *const arguments[] = { "extreme", "main.cl", "length", "", NULL };
	bool good;
	struct outcome bare;

	unit_write_bytes("work/main.cl", one, sizeof(one) - 1);
	bare = driver_client(BARE, arguments);
	good = strstr(bare.output, "build 0") != NULL;
	(void)run_layered(&bare, arguments, good ? MISS : NEITHER);
	(void)run_layered(&bare, arguments, good ? HIT : NEITHER);
	unit_write_bytes("work/main.cl", two, sizeof(two) - 1);
	three_ways(arguments, good ? MISS : NEITHER, good ? HIT : NEITHER);
}

TEST(nul_in_a_header)
{
	static const char one[] = "int a;\0\n#define VALUE 1\n";
	static const char two[] = "int a;\0\n#define VALUE 2\n";
	struct outcome bare;
	bool good;

	unit_write("work/main.cl", "#include \"value.h\"\n" KERNEL);
	unit_write_bytes("work/inc/value.h", one, sizeof(one) - 1);
	bare = driver_client(BARE, with_inc);
	good = strstr(bare.output, "build 0") != NULL;
	three_ways(with_inc, good ? MISS : NEITHER, good ? HIT : NEITHER);
	unit_write_bytes("work/inc/value.h", two, sizeof(two) - 1);
	three_ways(with_inc, good ? MISS : NEITHER, good ? HIT : NEITHER);
}

static void success_without_a_binary(const char *mode)
{
	unit_write("work/main.cl", KERNEL_OF("7"));
	driver_stub_setting("STUB_NO_BINARY", mode);
	three_ways(plain_source, NEITHER, NEITHER);
	CU_ASSERT_EQUAL(driver_bypasses("no-binary"), 2);
	CU_ASSERT_EQUAL(driver_counted("build-source"), 3);
	/* Once there is one, it is kept. */
	driver_stub_setting(NULL, NULL);
	cached(plain_source);
	CU_ASSERT_EQUAL(driver_counted("build-source"), 3 + 2);
}

TEST_ON("stub", success_and_an_empty_binary)
{
	success_without_a_binary("1");
}

TEST_ON("stub", success_and_no_binary_to_be_had)
{
	success_without_a_binary("error");
}

TEST(header_that_disappears_between_two_builds)
{
	/* NEO numbers the builds of a process in its errors, and a hit is none of its builds. */
	const char *const arguments[] = { "extreme-vanish", "main.cl", "-I inc", "inc/value.h",
					  driver_is("neo") ? "no-log" : NULL, NULL };
	struct outcome bare;
	struct driver_stats stats;

	unit_write("work/main.cl", "#include \"value.h\"\n" KERNEL);
	write_value("work/inc/value.h", 1);
	bare = driver_client(BARE, arguments);
	CU_ASSERT(outcome_good(&bare));
	CU_ASSERT(strstr(bare.output, "build -") != NULL);
	for (int i = 0; i < 2; i++)
		SAME_ANSWERS(&bare, arguments);
	stats = driver_stats();
	CU_ASSERT_EQUAL(stats.errors, 0);
	CU_ASSERT_EQUAL(stats.entries, 1);
	/* The third build of a process may come before the first one's entry is on disk. */
	CU_ASSERT(stats.hits_disk + stats.hits_memory >= 2);
	CU_ASSERT(stats.misses <= 4);
}

TEST(directory_that_comes_and_goes)
{
	const char *const arguments[] = { "extreme", "main.cl", "plain", "-I first -I second", NULL };
	struct outcome bare;

	unit_write("work/main.cl", "#include \"value.h\"\n" KERNEL);
	three_ways(arguments, NEITHER, NEITHER);
	write_value("work/second/value.h", 2);
	cached(arguments);
	write_value("work/first/value.h", 1);
	cached(arguments);
	move("work/first", "work/third");
	bare = driver_client(BARE, arguments);
	(void)run_layered(&bare, arguments, HIT);
	move("work/third", "work/first");
	bare = driver_client(BARE, arguments);
	(void)run_layered(&bare, arguments, HIT);
}

/* The compilers step over it; the stub does not, and has no say. */
TEST_ON("!stub", header_that_is_a_directory)
{
	const char *const arguments[] = { "extreme", "main.cl", "plain", "-I first -I second", NULL };

	unit_write("work/main.cl", "#include \"value.h\"\n" KERNEL);
	unit_write("work/first/value.h/file", "");
	three_ways(arguments, NEITHER, NEITHER);
	write_value("work/second/value.h", 2);
	alike(arguments);
	CU_ASSERT_EQUAL(unlink("work/first/value.h/file"), 0);
	CU_ASSERT_EQUAL(rmdir("work/first/value.h"), 0);
	alike(arguments);
	write_value("work/first/value.h", 1);
	cached(arguments);
}

/* What may not be read is not taken from the cache either. */
TEST(header_that_may_not_be_read)
{
	struct outcome bare;

	unit_write("work/main.cl", "#include \"value.h\"\n" KERNEL);
	write_value("work/inc/value.h", 1);
	(void)driver_as_nobody();
	bare = driver_client(BARE, with_inc);
	CU_ASSERT(outcome_good(&bare));
	CU_ASSERT_EQUAL(chmod("work/inc/value.h", 0), 0);
	alike(with_inc);
	CU_ASSERT_EQUAL(chmod("work/inc/value.h", 0644), 0);
	alike(with_inc);
	CU_ASSERT_EQUAL(chmod("work/inc/value.h", 0), 0);
	alike(with_inc);
	CU_ASSERT_EQUAL(chmod("work/inc/value.h", 0644), 0);
	CU_ASSERT_EQUAL(chmod("work/inc", 0), 0);
	alike(with_inc);
	CU_ASSERT_EQUAL(chmod("work/inc", 0755), 0);
	alike(with_inc);
	/* Bare: five times, and four of twice; only readable ones are hits. */
	if (driver_is("stub"))
		CU_ASSERT_EQUAL(driver_counted("build-source"), 1 + 5 + 6 + 1);
}

TEST(header_that_is_a_dangling_link)
{
	unit_write("work/main.cl", "#include \"value.h\"\n" KERNEL);
	unit_write("work/inc/empty", "");
	CU_ASSERT_EQUAL(symlink("target.h", "work/inc/value.h"), 0);
	three_ways(with_inc, NEITHER, NEITHER);
	write_value("work/inc/target.h", 1);
	cached(with_inc);
	CU_ASSERT_EQUAL(unlink("work/inc/value.h"), 0);
	CU_ASSERT_EQUAL(symlink("value.h", "work/inc/value.h"), 0);	/* to itself */
	three_ways(with_inc, NEITHER, NEITHER);
}

/* Only the driver may take what a writer puts into it. */
TEST(header_that_is_a_fifo)
{
	unit_write("work/main.cl", "#include \"value.h\"\n" KERNEL);
	unit_write("work/inc/empty", "");
	CU_ASSERT_EQUAL(mkfifo("work/inc/value.h", 0600), 0);
	driver_shell("timeout 20 sh -c 'echo \"#define VALUE 3\" > inc/value.h' & exec \"$@\"");
	three_ways(with_inc, NEITHER, NEITHER);
	CU_ASSERT_EQUAL(driver_bypasses("header-unreadable"), 2);
}

TEST(include_cycle)
{
	struct outcome bare;
	bool good;

	unit_write("work/main.cl", "#include \"a.h\"\n" KERNEL);
	unit_write("work/inc/a.h", "#include \"b.h\"\n#define VALUE 1\n");
	unit_write("work/inc/b.h", "#include \"a.h\"\n");
	three_ways(with_inc, NEITHER, NEITHER);
	unit_write("work/inc/a.h", "#ifndef A\n#define A\n#include \"b.h\"\n#endif\n");
	unit_write("work/inc/b.h", "#ifndef B\n#define B\n#include \"a.h\"\n#define VALUE 2\n#endif\n");
	bare = driver_client(BARE, with_inc);
	good = strstr(bare.output, "build 0") != NULL;	/* the stub knows no conditions */
	three_ways(with_inc, good ? MISS : NEITHER, good ? HIT : NEITHER);
	unit_write("work/inc/b.h", "#ifndef B\n#define B\n#include \"a.h\"\n#define VALUE 3\n#endif\n");
	three_ways(with_inc, good ? MISS : NEITHER, good ? HIT : NEITHER);
}

/* h0.h includes h1.h and so on; the last gives the value. */
static void write_chain(unsigned int length, int value)
{
	char path[64], text[64];

	unit_write("work/main.cl", "#include \"h0.h\"\n" KERNEL);
	for (unsigned int i = 0; i + 1 < length; i++) {
		(void)snprintf(path, sizeof(path), "work/inc/h%u.h", i);
		(void)snprintf(text, sizeof(text), "#include \"h%u.h\"\n", i + 1);
		unit_write(path, text);
	}
	(void)snprintf(path, sizeof(path), "work/inc/h%u.h", length - 1);
	write_value(path, value);
}

TEST(deep_include_chain)
{
	unsigned int fine = driver_is("stub") ? 7 : 150;

	write_chain(fine, 1);
	cached(with_inc);
	write_chain(fine, 2);
	cached(with_inc);
	/* Deeper than any compiler goes. */
	write_chain(5000, 3);
	large(with_inc, NEITHER, NEITHER, MEGABYTE);
}

/* One line of 10 MB each. */
TEST_ON("stub", lines_of_10_mb)
{
	static const struct {
		const char *before, *piece, *after;
	} lines[] = {
		{ "// ", "0123456789", "\n" KERNEL_OF("7") },
		{ "#define LONG ", "( 1 + 2 ) ", "\n" KERNEL_OF("7") },
		{ "#if 0\n#elif 1 ", "|| ( 0 ) ", "\n#endif\n" KERNEL_OF("7") },
		{ "#if ", "((((((((((", "\n#endif\n" KERNEL_OF("7") },
		{ "#if ", "!!!!!!!!!!", "\n#endif\n" KERNEL_OF("7") },
		{ "constant char text[] = \"", "0123456789", "\";\n" KERNEL_OF("7") },
		{ "\\", "          ", "\nint a;\n" KERNEL_OF("7") },
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct outcome bare;
		bool good;

		write_many("work/main.cl", lines[i].before, lines[i].piece, MEGABYTE, lines[i].after);
		bare = driver_client(BARE, plain_source);
		good = strstr(bare.output, "build 0") != NULL;
		large(plain_source, good ? MISS : NEITHER, good ? HIT : NEITHER, 10 * MEGABYTE);
	}
}

/* Small texts that make a careless reader take hours. */
TEST_ON("stub", branches_that_open_each_other)
{
	const char *const arguments[] = { "extreme", "main.cl", "plain", "@options", NULL };
	char *text = malloc(MEGABYTE);
	int at = 0;

	CU_ASSERT_FATAL(text != NULL);
	for (int i = 0; i < 5000; i++)
		at += sprintf(text + at, "#if A%d\n#define A%d 1\n#endif\n", i + 1, i);
	write_many("work/main.cl", text, "", 0, "#define A5000 1\n" KERNEL_OF("7"));
	free(text);
	write_many("work/options", "", "-DA%u=0 ", 5001, "");
	limited(arguments);
}

TEST_ON("stub", macro_of_many_bodies)
{
	write_many("work/main.cl", "", "#define A %u\n", 30000, KERNEL_OF("7"));
	limited(plain_source);
}

TEST_ON("stub", name_computed_again_and_again)
{
	write_many("work/inc/bodies.h", "", "#define V \"v%u.h\"\n", 60, "");
	write_many("work/main.cl", "#include \"bodies.h\"\n", "#include V\n", 30000, KERNEL_OF("7"));
	limited(with_inc);
}

TEST_ON("stub", file_name_again_and_again)
{
	write_many("work/main.cl", "int a = 0", " + sizeof(__FILE__)", MEGABYTE, ";\n" KERNEL_OF("7"));
	large(plain_source, MISS, HIT, 20 * MEGABYTE);
}

/*
 * A layered build on the stub, whose driver waits with reading its headers until
 * the gate is closed.
 */
struct held {
	struct running running;
	int gate;
};

static struct held hold(const char *const *arguments)
{
	char gate[4096];
	struct held held;

	(void)snprintf(gate, sizeof(gate), "%s/gate", unit_dir());
	if (mkfifo(gate, 0600))
		CU_ASSERT_EQUAL(access(gate, F_OK), 0);
	driver_stub_setting("STUB_GATE", gate);
	held.running = driver_start(LAYERED, arguments);
	held.gate = open(gate, O_WRONLY | O_CLOEXEC);
	CU_ASSERT_FATAL(held.gate >= 0);
	driver_stub_setting(NULL, NULL);
	return held;
}

static struct outcome let_go(struct held held)
{
	CU_ASSERT_EQUAL(close(held.gate), 0);
	return driver_wait(held.running);
}

static void change_value(void)
{
	write_value("work/inc/value.h", 2);
}

static void replace_value(void)
{
	write_value("work/inc/other.h", 2);
	move("work/inc/other.h", "work/inc/value.h");
}

static void replace_directory(void)
{
	write_value("work/other/value.h", 2);
	move("work/inc", "work/old");
	move("work/other", "work/inc");
}

static void remove_value(void)
{
	CU_ASSERT_EQUAL(unlink("work/inc/value.h"), 0);
}

static void shadow_value(void)
{
	write_value("work/value.h", 2);
}

TEST_ON("stub", headers_that_change_before_the_driver_reads_them)
{
	static void (*const changes[])(void) = { change_value, replace_value, replace_directory,
						 remove_value, shadow_value };

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct outcome after, before, layered;
		struct held held;

		unit_write("work/main.cl", "#include \"value.h\"\n" KERNEL);
		write_value("work/inc/value.h", 1);
		before = driver_client(BARE, with_inc);
		held = hold(with_inc);
		changes[i]();
		layered = let_go(held);
		after = driver_client(BARE, with_inc);
		CU_ASSERT(outcome_same(&after, &layered));
		/* What the driver read counts, not what was there when the build began. */
		CU_ASSERT_EQUAL(driver_stats().stores, changes[i] == remove_value ? 0 : 1);
		(void)run_layered(&after, with_inc, changes[i] == remove_value ? NEITHER : HIT);
		(void)run_layered(&after, with_inc, changes[i] == remove_value ? NEITHER : HIT);
		(void)unlink("work/value.h");	/* if it is there */
		write_value("work/inc/value.h", 1);
		(void)run_layered(&before, with_inc, MISS);
		(void)run_layered(&before, with_inc, HIT);
		CU_ASSERT_EQUAL(system("rm -rf cache work counts"), 0);
	}
}

static void restore_value(void)
{
	write_value("work/inc/value.h", 1);
}

static void put_away_value(void)
{
	move("work/inc/value.h", "saved.h");
	write_value("work/inc/value.h", 2);
}

static void put_back_value(void)
{
	move("saved.h", "work/inc/value.h");
}

static void put_back_directory(void)
{
	move("work/inc", "work/other");
	move("work/old", "work/inc");
}

static void unshadow_value(void)
{
	CU_ASSERT_EQUAL(unlink("work/value.h"), 0);
}

/* Waits until somebody opens the file after the gate is closed. */
static void wait_until_opened(const char *path, struct held *held)
{
	char event[sizeof(struct inotify_event) + 256];
	int fd = inotify_init1(IN_CLOEXEC);

	CU_ASSERT_FATAL(fd >= 0 && inotify_add_watch(fd, path, IN_OPEN) >= 0);
	CU_ASSERT_EQUAL(close(held->gate), 0);
	CU_ASSERT(read(fd, event, sizeof(event)) > 0);
	(void)close(fd);	/* the watch goes with it */
}

/*
 * The driver reads another header than the check after it: it is busy with
 * last.h while value.h becomes again what it was.
 */
TEST_ON("stub", headers_that_change_and_change_back)
{
	static const struct {
		void (*change)(void), (*back)(void);
	} turns[] = {
		{ change_value, restore_value },
		{ put_away_value, put_back_value },
		{ replace_directory, put_back_directory },
		{ shadow_value, unshadow_value },
	};

	for (size_t i = 0; i < sizeof(turns) / sizeof(turns[0]); i++) {
		struct outcome before, layered;
		struct held held;

		unit_write("work/main.cl", "#include \"value.h\"\n#include \"last/last.h\"\n" KERNEL);
		write_value("work/inc/value.h", 1);
		write_many("work/last/last.h", "", "int x;\n", 20000, "");
		before = driver_client(BARE, with_inc);
		held = hold(with_inc);
		turns[i].change();
		wait_until_opened("work/last/last.h", &held);
		turns[i].back();
		layered = driver_wait(held.running);
		CU_ASSERT(outcome_good(&layered));
		layered = driver_client(LAYERED, with_inc);
		if (!outcome_same(&before, &layered))
			(void)printf("    a stale hit after change %zu\n", i);
		CU_ASSERT_STRING_EQUAL(before.output, layered.output);
		CU_ASSERT_EQUAL(system("rm -rf cache work counts"), 0);
	}
}

/* An embedded header and a file of one name; an embedded header that includes a file. */
TEST_ON("!stub", embedded_headers_and_files)
{
	const char *const arguments[] = { "extreme-compile", "main.cl", "-I inc", "value.h", "embedded",
					  "outer/user.h", "user", NULL };
	struct driver_stats stats;
	struct outcome bare;
	unsigned int expected;
	bool good;

	unit_write("work/main.cl", "#include \"value.h\"\n#include \"outer/user.h\"\n"
				   KERNEL_OF("VALUE * 100 + OTHER"));
	unit_write("work/embedded", "#define VALUE 5\n");
	unit_write("work/user", "#include \"other.h\"\n");
	write_value("work/inc/value.h", 1);
	unit_write("work/inc/other.h", "#define OTHER 2\n");
	bare = driver_client(BARE, arguments);
	good = strstr(bare.output, "link 0") != NULL;
	if (!good)
		(void)printf("%s cannot; ", driver_selected()->name);
	for (int i = 0; i < 3; i++) {
		/* Any file of a header's name counts, since drivers differ in which goes first. */
		if (i == 1)
			write_value("work/inc/value.h", 3);
		if (i == 2)
			unit_write("work/inc/other.h", "#define OTHER 4\n");
		bare = driver_client(BARE, arguments);
		for (int j = 0; j < 2; j++)
			SAME_ANSWERS(&bare, arguments);
	}
	stats = driver_stats();
	/* The object each time, and the link of it: again at most where the object differs. */
	expected = good ? 6 : 0;
	CU_ASSERT(stats.hits_disk >= expected);
	CU_ASSERT_EQUAL(stats.errors, 0);
}

TEST(invalid_handles_and_arguments)
{
	/* NEO calls a program failed whose compilation it refused; the specification does not say. */
	const char *const arguments[] = { "invalid", driver_is("neo") ? "codes" : NULL, NULL };

	/* Its children compile a program with itself. pocl does not store that. */
	if (driver_is("pocl"))
		three_ways(arguments, MISS, HIT);
	else if (driver_is("amd"))
		three_ways(arguments, TWICE_COLD, TWICE_WARM);
	else
		three_ways(arguments, THRICE_COLD, THRICE_WARM);
}
