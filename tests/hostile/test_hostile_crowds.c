/* SPDX-License-Identifier: MIT */
/*
 * test_hostile_crowds: many names where few are expected. CROWD in the
 * environment says how many (a million by hand takes minutes).
 */
#include <sys/resource.h>

#include "cachecore/disk/writer/recipes.h"
#include "common/clock.h"
#include "common/file.h"
#include "tests/hostile/hostile.h"
#include "tests/support/unit.h"

#define HITS 301
/* Looking at every name would be hundreds of times as slow. */
#define SLOWER_AT_MOST 10
#define TOOL_MEMORY_KIB (32L << 10)

static unsigned int crowd(void)
{
	const char *text = getenv("CROWD");

	return text ? (unsigned int)atoi(text) : 5000;
}

/* The fastest of some hits, which other work on the machine makes no slower. */
static uint64_t time_of_hit(struct hostile *hostile)
{
	uint64_t fastest = UINT64_MAX;

	for (size_t i = 0; i < HITS; i++) {
		uint64_t begin = cmn_clock_monotonic();

		if (strcmp(hostile_get(hostile), HOSTILE_IMAGE) != 0)
			CU_FAIL("no hit");
		begin = cmn_clock_monotonic() - begin;
		fastest = begin < fastest ? begin : fastest;
	}
	return fastest;
}

/* Fills a directory below the root with as many things of a form of names. */
static void fill(struct hostile *hostile, const char *relative, const char *form, bool directories)
{
	int fd = open(hostile_path(hostile, relative), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char name[256];

	CU_ASSERT_TRUE_FATAL(fd >= 0);
	for (unsigned int i = 0; i < crowd(); i++) {
		int made;

/* The forms are this file's own. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		(void)snprintf(name, sizeof(name), form, i);
#pragma GCC diagnostic pop
		made = directories ? mkdirat(fd, name, 0700)
				   : openat(fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (made < 0)
			CU_FAIL_FATAL("cannot fill the directory");
		if (!directories)
			(void)close(made);
	}
	(void)close(fd);
}

/* The tool ends, in little memory; the most that any child has had counts. */
static void expect_tool(struct hostile *hostile, const char *verb)
{
	struct rusage usage;

	hostile_time_limit(600, verb);
	CU_ASSERT_EQUAL(hostile_tool(hostile, verb, NULL), 0);
	hostile_time_limit(0, "");
	CU_ASSERT_EQUAL(getrusage(RUSAGE_CHILDREN, &usage), 0);
	HOSTILE_ASSERT(verb, UNIT_IS_SANITIZED || usage.ru_maxrss < TOOL_MEMORY_KIB);
}

/* With a crowd everything works as before; the crowd is foreign, and stays, or is not. */
static void check(const char *name, const char *relative, const char *form, bool directories,
		  bool stays)
{
	char example[256], path[512];
	struct hostile hostile;
	uint64_t before, after;
	struct stat info;

	hostile_open(&hostile, name);
	if (strcmp(relative, "%leaf") == 0)
		relative = hostile.entry_dir;
	before = time_of_hit(&hostile);
	fill(&hostile, relative, form, directories);
	after = time_of_hit(&hostile);
	(void)fprintf(stderr, "  %s: a hit took %.1f us, now %.1f us\n", name, (double)before / 1e3,
		      (double)after / 1e3);
	HOSTILE_ASSERT(name, after < SLOWER_AT_MOST * before);
	expect_tool(&hostile, "verify");
	expect_tool(&hostile, "list");
	expect_tool(&hostile, "stats");
	hostile_time_limit(600, name);
	CU_ASSERT_EQUAL(hostile_put(&hostile), CMN_OK);
	CU_ASSERT_EQUAL(cc_store_clean(hostile.store, NULL), CMN_OK);
	CU_ASSERT_STRING_EQUAL(hostile_get(&hostile), HOSTILE_IMAGE);
	expect_tool(&hostile, "clear");
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	(void)snprintf(example, sizeof(example), form, crowd() / 2);
#pragma GCC diagnostic pop
	(void)snprintf(path, sizeof(path), "%s%s%s", relative, *relative ? "/" : "", example);
	HOSTILE_ASSERT(name, (lstat(hostile_path(&hostile, path), &info) == 0) == stays);
	hostile_expect_healed(&hostile, name);
	hostile_close(&hostile);
}

TEST(foreign_names_in_an_entry_dir)
{
	check("leaf", "%leaf", "foreign-%u", false, true);
}

/* Names that are nearly those of entries. */
TEST(odd_names_in_an_entry_dir)
{
	check("numbers", "%leaf", "%u64.src", false, true);
}

TEST(dead_writers_files_in_an_entry_dir)
{
	check("temporaries", "%leaf", ".tmp-%u", false, false);
}

TEST(foreign_directories_in_the_root)
{
	check("root", "", "foreign-%u", true, true);
}

/* As if of other devices, and empty. */
TEST(empty_devices_in_the_root)
{
	check("devices", "", "%032x", true, false);
}

TEST(files_named_as_devices_in_the_root)
{
	check("files", "", "%032x", false, true);
}

TEST(foreign_names_beside_recipes)
{
	check("recipes", "recipes", "foreign-%u", true, true);
}

/* More recipes than there may be: of each new one, room is made for it. */
TEST(more_recipes_than_there_may_be)
{
	struct cc_recipes_count count;
	struct hostile hostile;
	struct cc_key key;
	uint64_t begin;

	hostile_open(&hostile, "flood");
	fill(&hostile, "recipes", "%032x.recipe", false);
	hostile_time_limit(600, "a flood of recipes");
	begin = cmn_clock_monotonic();
	for (uint64_t i = 0; i < 64; i++) {
		struct cmn_buffer encoded;
		struct cc_recipe recipe;

		cc_key_init(&key);
		cc_key_add_u64(&key, CC_PART_IMAGE, "source", i);
		recipe = (struct cc_recipe){ .key = cc_key_view(&key) };
		CU_ASSERT_EQUAL_FATAL(cc_recipe_encode(&recipe, &encoded), CMN_OK);
		CU_ASSERT_EQUAL(cc_recipes_put(hostile.root, cmn_buffer_view(&encoded)), CMN_OK);
		cmn_buffer_release(&encoded);
		cc_key_release(&key);
	}
	(void)fprintf(stderr, "  64 recipes took %.1f ms\n",
		      (double)(cmn_clock_monotonic() - begin) / 1e6);
	hostile_time_limit(0, "");
	CU_ASSERT_EQUAL(cc_recipes_count(hostile.root, &count), CMN_OK);
	CU_ASSERT_TRUE(count.recipes <= CC_RECIPES_MAX_COUNT + 64);
	expect_tool(&hostile, "clear");
	hostile_close(&hostile);
}

/* The hashes of 64 other keys are this one's, by force. */
TEST(an_entry_dir_full_of_other_keys)
{
	static const char *const names[] = { "src", "bin" };
	struct cmn_buffer files[2];
	struct hostile hostile;
	char path[512];
	struct cc_store_report report;
	struct cc_entry *entry;
	struct cc_key other;

	hostile_open(&hostile, "full");
	cc_key_init_copy(&other, &hostile.key);
	cc_key_add_text(&other, CC_PART_OPTIONS, "more", "o");
	entry = cc_entry_new(1);
	CU_ASSERT_PTR_NOT_NULL_FATAL(entry);
	cc_entry_add(entry, CC_TAG_IMAGE, 0, HOSTILE_POISON, strlen(HOSTILE_POISON));
	CU_ASSERT_EQUAL_FATAL(cc_entry_finish(entry, NULL), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(cc_store_put(hostile.store, &other, entry), CMN_OK);
	cc_entry_unref(entry);
	for (size_t i = 0; i < 2; i++) {
		char entry_dir[CC_ENTRY_DIR_PATH_SIZE];

		cc_entry_dir_path(cc_key_view(&other), entry_dir);
		(void)snprintf(path, sizeof(path), "%s/0.%s", entry_dir, names[i]);
		CU_ASSERT_EQUAL_FATAL(cmn_file_read(AT_FDCWD, hostile_path(&hostile, path), 65536,
						    false, &files[i]), CMN_OK);
		for (unsigned int n = 0; n < CC_ENTRY_DIR_VARIANTS; n++) {
			(void)snprintf(path, sizeof(path), "%s/%u.%s", hostile.entry_dir, n, names[i]);
			unit_write_bytes(hostile_path(&hostile, path), files[i].data, files[i].len);
			CU_ASSERT_EQUAL(chmod(hostile_path(&hostile, path), 0600), 0);
		}
		cmn_buffer_release(&files[i]);
	}
	CU_ASSERT_EQUAL(cc_store_get(hostile.store, &hostile.key, NULL, SIZE_MAX, &entry, &report),
			CMN_MISS);
	CU_ASSERT_EQUAL(report.damaged, 0);
	/* One of them goes. */
	hostile_expect_healed(&hostile, "a full entry directory");
	CU_ASSERT_EQUAL(cc_store_remove(hostile.store, &hostile.key), CMN_OK);
	CU_ASSERT_STRING_EQUAL(hostile_get(&hostile), "miss");
	hostile_exercise(&hostile, "a full entry directory");
	hostile_expect_healed(&hostile, "an entry directory that was full");
	cc_key_release(&other);
	hostile_close(&hostile);
}
