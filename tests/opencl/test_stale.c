/* SPDX-License-Identifier: MIT */
/*
 * test_stale: after a driver update `ckcache replay --stale` builds again what
 * the store has, so that applications build nothing; and what of it cannot be
 * built is told with its reason.
 */
#include <sys/mman.h>
#include <sys/resource.h>

#include "cachecore/disk/store.h"
#include "tests/opencl/driver.h"
#include "tests/support/unit.h"
#include "tests/support/updated.h"

#define DIRECTORY "driver/lib/machine"	/* pocl looks for its files beside its library, and in ../../share */

static struct outcome last;

static const char *stub_name;	/* NULL: its own */

/* The driver is another build from now on, in its old place. */
static void update(unsigned char version)
{
	const char *own = strrchr(driver_library(), '/') + 1, *name = stub_name ? stub_name : own;
	char path[4096], home[4096];

	(void)snprintf(path, sizeof(path), "%s/" DIRECTORY "/%s", unit_dir(), name);
	updated_library(driver_library(), path, version);
	driver_install(path);
	(void)snprintf(home, sizeof(home), "%.*s/pocl", (int)(own - 1 - driver_library()),
		       driver_library());
	(void)!symlink(home, DIRECTORY "/pocl");	/* there already at the second call */
}

BEFORE_EACH
{
	stub_name = NULL;
	/* A worker sees the stub's files at home. */
	CU_ASSERT_EQUAL(symlink("../settings", "home/stub_settings"), 0);
	CU_ASSERT_EQUAL(symlink("../counts", "home/stub_counts"), 0);
	unit_write(DIRECTORY "/empty", "");
	CU_ASSERT_EQUAL(symlink("/usr/share", "driver/share"), 0);
	driver_setenv("CKCACHE_CAPTURE", "eager");
	update(1);
}

static void run(const char *scenario, const char *argument)
{
	last = GOOD_CLIENT(LAYERED, scenario, argument);
}

/* What applications build: programs, objects with and without embedded headers, libraries, links. */
static void run_all(void)
{
	run("vector", "-DK=5");
	run("vector", "-DK=6");
	run("link", NULL);
	run("library", NULL);
	/* AMD's ends the process where somebody asks for the kernels of a compiled object, as that does. */
	if (!driver_is("amd"))
		run("embedded", "#define VALUE 5");
}

static bool printed(const char *text)
{
	bool found = strstr(last.output, text) || strstr(last.errors, text);

	if (!found)
		(void)printf("\n    no %s in: code %d: %s%s\n", text, last.code, last.output,
			     last.errors);
	return found;
}

/* The counts of a replay; each must be one of these, and all others 0. */
static void replay(int code, const char *const *counts)
{
	const char *at;
	unsigned int wanted = 0, seen = 0;

	last = TOOL("replay", "--stale", "--json", "--jobs", "1", "--timeout", "60");
	CU_ASSERT_EQUAL(last.code, code);
	for (; counts[wanted]; wanted++)
		CU_ASSERT(printed(counts[wanted]));
	for (at = last.output; (at = strchr(at, ':')); at++)
		seen += strtoul(at + 1, NULL, 10) != 0;
	CU_ASSERT_EQUAL(seen, wanted);
	if (seen != wanted)
		(void)printf("\n    %s%s\n", last.output, last.errors);
}
#define REPLAY(code, ...) replay(code, (const char *const[]){ __VA_ARGS__, NULL })

/* So many builds of all kinds did the driver do; the stub counts them. */
static unsigned int built(void)
{
	return driver_counted("build-source") + driver_counted("compile") + driver_counted("link");
}

/* What run_all builds, or finds in memory or on disk. */
static unsigned int builds_in_all(void)
{
	return driver_is("amd") ? 7 : 11;	/* two of the library's four are not cached */
}

/* Nothing is built, and what had no place in the cache before has none now. */
static void expect_hits(unsigned int misses)
{
	struct driver_stats before = driver_stats(), after;
	unsigned int count = built();

	run_all();
	after = driver_stats();
	CU_ASSERT_EQUAL(after.misses - before.misses, misses);
	CU_ASSERT_EQUAL(after.hits_disk + after.hits_memory - before.hits_disk -
				before.hits_memory, builds_in_all() - misses);
	if (driver_is("stub"))
		CU_ASSERT_EQUAL(built(), count);
}

TEST(all_kinds_are_built_again_after_an_update)
{
	struct driver_stats stats;
	unsigned int entries, lost;
	char stale[64], done[64], removed[64];

	run_all();
	stats = driver_stats();
	entries = (unsigned int)stats.entries;
	lost = (unsigned int)(stats.misses - stats.stores);
	/* rusticl gives no binary for one of the links. */
	CU_ASSERT(entries + 1 >= builds_in_all() && entries + lost == builds_in_all());
	(void)snprintf(stale, sizeof(stale), "\"stale\": %u,", entries);
	(void)snprintf(done, sizeof(done), "\"built\": %u,", entries);
	(void)snprintf(removed, sizeof(removed), "\"removed\": %u", entries);
	update(2);
	REPLAY(0, stale, done, removed);
	CU_ASSERT_EQUAL(driver_stats().entries, entries);
	CU_ASSERT_EQUAL(driver_stats().recipes, 0);
	expect_hits(lost);
	/* There is nothing left to do. */
	last = TOOL("replay", "--stale", "--json");
	CU_ASSERT(printed("\"stale\": 0,") && printed("\"built\": 0,"));
}

TEST_ON("stub", second_update_starts_from_what_was_replayed)
{
	run_all();
	update(2);
	REPLAY(0, "\"stale\": 11,", "\"built\": 11,", "\"removed\": 11");
	update(3);
	REPLAY(0, "\"stale\": 11,", "\"built\": 11,", "\"removed\": 11");
	expect_hits(0);
}

TEST_ON("stub", one_worker_builds_many)
{
	driver_setenv("CKCACHE_CAPTURE", "deferred");
	run("vector", "-DK=5");
	run("vector", "-DK=6");
	run("vector", "-DK=7");
	/* The first two builds of a process fail; the layer tries each once more. */
	driver_stub_setting("STUB_NO_MEMORY", "2");
	last = TOOL("replay", "--json", "--jobs", "1");
	CU_ASSERT_EQUAL(last.code, 1);
	CU_ASSERT(printed("\"built\": 2,") && printed("\"failed\": 1,"));
}

TEST_ON("stub", crash_is_blamed_on_the_recipe_in_work_alone)
{
	static const char *const options[] = { "-DK=1", "-DK=2", "-DK=3", "-DK=4", "-DK=5" };

	for (size_t i = 0; i < 5; i++)
		run("vector", options[i]);
	update(2);
	driver_stub_setting("STUB_CRASH", "-DK=3");
	REPLAY(1, "\"stale\": 5,", "\"built\": 4,", "\"failed\": 1,", "\"removed\": 4");
	CU_ASSERT(printed("ended by signal 6; it is kept for another try"));
	CU_ASSERT_EQUAL(driver_stats().recipes, 1);
	CU_ASSERT_EQUAL(driver_cache_files(".attempts", NULL, 0), 1);
	/* The old entry of what was not built is still there. */
	CU_ASSERT_EQUAL(driver_stats().entries, 5);
	driver_stub_setting(NULL, NULL);
	REPLAY(0, "\"stale\": 1,", "\"built\": 1,", "\"removed\": 1");
}

/* A driver that comes back compiles again what its successor made useless: explain knows why. */
TEST_ON("stub", what_went_with_the_old_driver_is_explained)
{
	char paths[1][4096];
	int fd;

	run("vector", "-DK=5");
	/* What is damaged goes, too: nobody reads what is to go. */
	CU_ASSERT_EQUAL_FATAL(driver_cache_files(".bin", paths, 1), 1);
	fd = open(paths[0], O_WRONLY | O_CLOEXEC);
	CU_ASSERT_EQUAL(pwrite(fd, "?", 1, lseek(fd, 0, SEEK_END) - 1), 1);
	CU_ASSERT_EQUAL(close(fd), 0);
	update(2);
	REPLAY(0, "\"stale\": 1,", "\"built\": 1,", "\"removed\": 1");
	update(1);
	run("vector", "-DK=5");
	last = TOOL("explain");
	CU_ASSERT_EQUAL(last.code, 0);
	CU_ASSERT(printed("removed 20"));
	CU_ASSERT(printed("by ckcache replay --stale, since its driver was replaced"));
}

/* qemu-user takes no note of limits of memory. */
static bool memory_has_limits(void)
{
	pid_t child = fork();
	int status = -1;

	if (child == 0) {
		const struct rlimit limit = { 1 << 30, 1 << 30 };
		bool set = setrlimit(RLIMIT_DATA, &limit) == 0;

		_exit(set && mmap(NULL, (size_t)3 << 29, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED ? 0 : 1);
	}
	return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

TEST_ON("stub", a_driver_that_takes_most_of_the_memory_fails)
{
	if (!memory_has_limits()) {
		(void)puts("SKIPPED: a driver that takes most of the memory: here are no limits of it");
		return;
	}
	run("vector", "-DK=5");
	update(2);
	driver_stub_setting("STUB_MEMORY", "75");
	REPLAY(1, "\"stale\": 1,", "\"failed\": 1,");
	CU_ASSERT(printed("ended by signal 6"));
	/* An application may. */
	run("vector", "-DK=6");
	driver_stub_setting("STUB_MEMORY", "25");
	REPLAY(0, "\"stale\": 1,", "\"built\": 1,", "\"removed\": 1");
}

/* When the entry with that option was stored, in ms. */
static long long stored_ms(const char *option)
{
	char paths[8][4096];
	unsigned int count = driver_cache_files(".src", paths, 8);

	for (unsigned int i = 0; i < count; i++) {
		char command[8192];
		struct stat info;

		(void)snprintf(command, sizeof(command), "grep -aq -e '%s' '%.4095s'", option, paths[i]);
		if (system(command) == 0 && stat(paths[i], &info) == 0)
			return info.st_mtim.tv_sec * 1000LL + info.st_mtim.tv_nsec / 1000000;
	}
	CU_FAIL("no such entry");
	return 0;
}

TEST_ON("stub", longest_build_comes_first)
{
	run("vector", "-DK=5");
	driver_stub_setting("STUB_DELAY_MS", "6000");	/* longer than a busy machine stops for */
	run("vector", "-DK=6");
	driver_stub_setting(NULL, NULL);
	run("vector", "-DK=7");
	update(2);
	/* Longer than file systems' clocks take from one time to the next. */
	driver_stub_setting("STUB_DELAY_MS", "30");
	REPLAY(0, "\"stale\": 3,", "\"built\": 3,", "\"removed\": 3");
	CU_ASSERT(stored_ms("-DK=6") < stored_ms("-DK=5"));
	CU_ASSERT(stored_ms("-DK=6") < stored_ms("-DK=7"));
}

TEST_ON("stub", links_wait_for_their_inputs)
{
	run("link", NULL);
	CU_ASSERT_EQUAL(driver_stats().entries, 3);
	update(2);
	/* Not even compiled: the link has nothing to be made of, and the old objects stay for it. */
	driver_stub_setting("STUB_CRASH", "-DK=4");
	last = TOOL("replay", "--stale", "--json", "--jobs", "1");
	CU_ASSERT(printed("\"failed\": 2,") && printed("\"left_input\": 1,") && printed("\"removed\": 0"));
	driver_stub_setting(NULL, NULL);
	last = TOOL("replay", "--stale", "--json", "--jobs", "1");
	CU_ASSERT(printed("\"built\": 3,") && printed("\"left_input\": 0,") && printed("\"removed\": 3"));
}

/* Removes the entries of that kind. */
static void lose(const char *kind)
{
	char paths[16][4096];
	unsigned int count = driver_cache_files(".src", paths, 16);

	for (unsigned int i = 0; i < count; i++) {
		char command[16384];

		(void)snprintf(command, sizeof(command), "! grep -aq '%s' '%.4095s' || rm '%.4095s'", kind,
			       paths[i], paths[i]);
		CU_ASSERT_EQUAL(system(command), 0);
	}
}

TEST_ON("stub", link_of_what_is_gone_is_left_with_a_reason)
{
	run("link", NULL);
	update(2);
	lose("kind.\\{8\\}compile");
	REPLAY(0, "\"left_input\": 1,");
	CU_ASSERT_EQUAL(driver_stats().entries, 1);
}

/* cc_store_walk: the device part of the last entry's key. */
static bool take_devices(void *ctx, const struct cc_store_item *item)
{
	struct cc_key_field field;
	struct cmn_reader reader;
	struct cc_key *key = ctx;

	if (cc_key_read(item->key, &reader) != CMN_OK)
		return true;
	while (cc_key_next(&reader, &field) == CMN_OK && field.part == CC_PART_DEVICE)
		cc_key_add_field(key, &field);
	return false;
}

/* An entry whose two inputs are itself: no store that the layer wrote has it. */
static void put_endless(const char *kind)
{
	const struct cmn_log log = { .level = CMN_LOG_NONE };
	char *no_tiers[] = { NULL }, directory[4096];
	struct cc_config config = { .read_only_dirs = no_tiers, .max_device_image_size = 1 << 20 };
	struct cc_entry *entry = cc_entry_new(1);
	struct cmn_hash content;
	struct cc_store *store;
	struct cc_key key;

	(void)snprintf(directory, sizeof(directory), "%s/cache", unit_dir());
	config.dir = directory;
	cc_key_init(&key);
	cc_entry_add(entry, CC_TAG_IMAGE, 0, "image", 5);
	CU_ASSERT_EQUAL_FATAL(cc_entry_finish(entry, NULL), CMN_OK);
	content = cmn_hash_of(cc_entry_payload(entry).data, cc_entry_payload(entry).len);
	CU_ASSERT_EQUAL_FATAL(cc_store_open(&config, &log, &store), CMN_OK);
	CU_ASSERT_EQUAL(cc_store_walk(store, false, take_devices, &key), CMN_OK);
	cc_key_add_text(&key, CC_PART_IMAGE, "kind", kind);
	for (unsigned int i = 0; i < 2; i++)
		cc_key_add(&key, CC_PART_IMAGE, "input", content.bytes, sizeof(content.bytes));
	cc_key_add_text(&key, CC_PART_OPTIONS, "options", "-create-library");
	CU_ASSERT_EQUAL(cc_store_put(store, &key, entry), CMN_OK);
	cc_store_close(store);
	cc_entry_unref(entry);
	cc_key_release(&key);
}

TEST_ON("stub", library_that_is_made_of_itself_is_no_hang)
{
	/* Without entries no driver is asked. */
	REPLAY(0, NULL);
	CU_ASSERT_EQUAL(built(), 0);
	run("vector", "-DK=5");
	put_endless("link");
	put_endless("device-data");	/* as libraries have */
	CU_ASSERT_EQUAL(driver_stats().entries, 3);
	update(2);
	REPLAY(0, "\"stale\": 1,", "\"built\": 1,", "\"left_kind\": 1,", "\"left_input\": 1,", "\"removed\": 1");
}

TEST_ON("stub", entry_that_was_used_since_the_update_stays)
{
	/* A time to come counts as now. */
	const time_t later = sizeof(time_t) > 4 ? (time_t)(1LL << 33) : INT32_MAX;
	const struct timespec times[2] = { { .tv_sec = later }, { .tv_sec = later } };
	char paths[1][4096];

	run("vector", "-DK=5");
	update(2);
	/* By another program, with the old driver: from another file system, say. */
	CU_ASSERT_EQUAL_FATAL(driver_cache_files(".bin", paths, 1), 1);
	CU_ASSERT_EQUAL(utimensat(AT_FDCWD, paths[0], times, 0), 0);
	REPLAY(0, "\"stale\": 1,", "\"built\": 1,");
	CU_ASSERT_EQUAL(driver_stats().entries, 2);
}

TEST_ON("stub", entries_of_a_driver_elsewhere_stay)
{
	char path[4096];

	run("vector", "-DK=5");
	/* Another driver for the same device, while the first one may be used by others. */
	(void)snprintf(path, sizeof(path), "%s/another.so", unit_dir());
	updated_library(driver_library(), path, 2);
	unit_write("vendors/driver.icd", path);
	REPLAY(0, "\"stale\": 1,", "\"built\": 1,");
	CU_ASSERT_EQUAL(driver_stats().entries, 2);
}

static void vendor(const char *file, const char *name)
{
	char path[4096];

	(void)snprintf(path, sizeof(path), "%s/%s", unit_dir(), name);
	unit_write(file, path);
}

/* Another driver for the same device, of that version. */
static void update_second(unsigned char version)
{
	char path[4096];

	(void)snprintf(path, sizeof(path), "%s/second.so", unit_dir());
	updated_library(driver_library(), path, version);
}

TEST_ON("stub", two_drivers_for_one_device_both_get_theirs)
{
	struct driver_stats before;

	run("vector", "-DK=5");
	update_second(2);
	vendor("vendors/driver.icd", "second.so");
	run("vector", "-DK=5");
	CU_ASSERT_EQUAL(driver_stats().entries, 2);
	/* Side by side: nothing is stale. */
	update(1);
	vendor("vendors/second.icd", "second.so");
	REPLAY(0, NULL);
	CU_ASSERT_EQUAL(driver_stats().entries, 2);
	update(3);
	update_second(4);
	last = TOOL("replay", "--stale", "--json", "--jobs", "1");
	CU_ASSERT_EQUAL(last.code, 0);
	/* A worker that tried the other driver first has built for that, too. */
	CU_ASSERT(printed("\"stale\": 2,") && printed("\"removed\": 2"));
	CU_ASSERT_EQUAL(driver_stats().entries, 2);
	before = driver_stats();
	CU_ASSERT_EQUAL(unlink("vendors/second.icd"), 0);
	run("vector", "-DK=5");
	vendor("vendors/driver.icd", "second.so");
	run("vector", "-DK=5");
	CU_ASSERT_EQUAL(driver_stats().hits_disk, before.hits_disk + 2);
	CU_ASSERT_EQUAL(driver_stats().misses, before.misses);
}

TEST_ON("stub", entries_of_devices_that_are_away_are_left)
{
	run("vector", "-DK=5");
	driver_stub_setting("STUB_DEVICE_NAME", "another\nSTUB_CHANGED=type");
	REPLAY(0, "\"left_device\": 1,");
	CU_ASSERT_EQUAL(driver_stats().entries, 1);
}

static void build_with_header(void)
{
	unit_write("work/including.cl",
		   "#include \"common.h\"\nkernel void value(global int *out) { out[0] = VALUE; }\n");
	unit_write("work/headers/common.h", "#define VALUE 7\n");
	last = GOOD_CLIENT(LAYERED, "header", "including.cl", "-I headers");
	update(2);
}

TEST_ON("stub", relative_headers_are_found_where_the_command_is_called)
{
	build_with_header();
	REPLAY(0, "\"stale\": 1,", "\"built\": 1,", "\"removed\": 1");
}

TEST_ON("stub", relative_headers_elsewhere_are_a_reason)
{
	build_with_header();
	CU_ASSERT_EQUAL(rename("work/headers", "headers"), 0);
	REPLAY(0, "\"left_directory\": 1,");
	CU_ASSERT_EQUAL(driver_stats().entries, 1);
}

TEST_ON("stub", header_that_changed_or_is_gone_is_a_reason)
{
	char option[4096];

	unit_write("work/including.cl",
		   "#include \"common.h\"\nkernel void value(global int *out) { out[0] = VALUE; }\n");
	unit_write("work/headers/common.h", "#define VALUE 7\n");
	(void)snprintf(option, sizeof(option), "-I %s/work/headers", unit_dir());
	last = CLIENT(LAYERED, "header", "including.cl", option);
	update(2);
	unit_write("work/headers/common.h", "#define VALUE 8\n");
	REPLAY(0, "\"stale\": 1,", "\"outdated\": 1,", "\"outdated_changed\": 1,");
	CU_ASSERT_EQUAL(unlink("work/headers/common.h"), 0);
	REPLAY(0, "\"stale\": 1,", "\"outdated\": 1,", "\"outdated_gone\": 1,");
	EXPECT_STATS("entries 1, recipes 0");
}

TEST_ON("stub", intermediate_language_and_constants_are_built_again)
{
	static const char *const constants[] = { "7", "7:4:11", "7:8:1122334455" };
	struct driver_stats before;

	/* One whose binaries keep constants. */
	stub_name = "libigdrcl.so";
	update(1);
	for (size_t i = 0; i < 3; i++)
		last = CLIENT(LAYERED, "il", "core", constants[i]);
	CU_ASSERT_EQUAL(driver_stats().entries, 3);
	update(2);
	REPLAY(0, "\"stale\": 3,", "\"built\": 3,", "\"removed\": 3");
	before = driver_stats();
	for (size_t i = 0; i < 3; i++)
		last = CLIENT(LAYERED, "il", "core", constants[i]);
	CU_ASSERT_EQUAL(driver_stats().misses, before.misses);
	CU_ASSERT_EQUAL(driver_stats().hits_disk, before.hits_disk + 3);
}
