/* SPDX-License-Identifier: MIT */
/* level: the disk level changes while the process runs, through the facade, with two roots and a third. */
#include <dirent.h>
#include <ftw.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/auxv.h>
#include <sys/file.h>

#include "cachecore/cache.h"
#include "cachecore/disk/level.h"
#include "cachecore/disk/store.h"
#include "cachecore/record/totals.h"
#include "common/clock.h"
#include "tests/support/owned.h"
#include "tests/support/build_lock.h"
#include "tests/support/unit.h"
#include "tests/support/wrap.h"

OWNER(struct cc_cache, cc_cache_close)

#define OTHER_USER 54321	/* nobody's */
#define THREADS 8
#define KEYS 48
#define ROUNDS 60
#define CHANGES 20000	/* so many that some meet */
/* ThreadSanitizer does not follow into threads that a child of several threads starts. */
#if defined(__SANITIZE_THREAD__)
#define CHILD_HAS_THREADS false
#else
#define CHILD_HAS_THREADS true
#endif

static bool privileged;		/* as a program is whose user is another than its caller */

WRAPPED(unsigned long, getauxval, (unsigned long type))
{
	return type == AT_SECURE && privileged ? 1 : __real_getauxval(type);
}

/* With CKCACHE_DIR set to one/, and nothing else known of the machine. */
static struct cc_cache *open_cache(bool in_mem)
{
	struct cc_cache *cache = NULL;

	CU_ASSERT_EQUAL(setenv("CKCACHE_DIR", unit_path("one"), 1), 0);
	CU_ASSERT_EQUAL(setenv("CKCACHE_READ_ONLY_DIRS", "", 1), 0);
	CU_ASSERT_EQUAL(setenv("CKCACHE_IN_MEM", in_mem ? "1" : "0", 1), 0);
	CU_ASSERT_EQUAL_FATAL(cc_cache_open(&cache), CMN_OK);
	return cache;
}

static void make_key(struct cc_key *key, const char *source)
{
	cc_key_init(key);
	cc_key_add_text(key, CC_PART_DEVICE, "device.name", "test");
	cc_key_add_text(key, CC_PART_IMAGE, "source", source);
}

static enum cmn_status make_entry(const char *image, struct cc_entry **ret)
{
	struct cc_entry *entry = cc_entry_new(1000000);

	CU_ASSERT_PTR_NOT_NULL_FATAL(entry);
	cc_entry_add(entry, CC_TAG_IMAGE, 0, image, strlen(image));
	*ret = entry;
	return cc_entry_finish(entry, NULL);
}

/* A build of the text that ctx is. */
static enum cmn_status build(void *ctx, struct cc_entry **ret)
{
	return make_entry(ctx, ret);
}

/* Looks up what is built of a source that is its own image; gives the origin back. */
static enum cc_origin look_up(struct cc_cache *cache, const char *source)
{
	enum cc_origin origin = CC_ORIGIN_BUILT;
	struct cc_entry *entry = NULL;
	struct cmn_view found = { 0 };
	OWNED(cc_key_release) struct cc_key key;

	make_key(&key, source);
	CU_ASSERT_EQUAL_FATAL(cc_cache_get_or_build(cache, &key, build, (char *)(uintptr_t)source,
						    &entry, &origin), CMN_OK);
	CU_ASSERT_TRUE(cc_entry_find(entry, CC_TAG_IMAGE, 0, &found));
	CU_ASSERT_TRUE(cmn_view_equal(found, cmn_view_of(source)));
	cc_entry_unref(entry);
	return origin;
}

static bool visit(void *ctx, const struct cc_store_item *item)
{
	unsigned int *count = ctx;

	CU_ASSERT_EQUAL(item->status, CMN_OK);
	(*count)++;
	return true;
}

static struct cc_store *open_store(struct cc_config *config, const char *name)
{
	static char *no_tiers[] = { NULL };
	struct cc_store *store = NULL;

	*config = (struct cc_config){ .dir = unit_path(name), .persistent = true,
				      .read_only_dirs = no_tiers, .max_device_image_size = 1 << 30 };
	CU_ASSERT_EQUAL_FATAL(cc_store_open(config, NULL, &store), CMN_OK);
	return store;
}

/* The entries of a root, each of which is looked at whole. */
static unsigned int entries_in(const char *name)
{
	struct cc_config config;
	struct cc_store *store = open_store(&config, name);
	unsigned int count = 0;
	enum cmn_status status = cc_store_walk(store, true, visit, &count);

	CU_ASSERT_TRUE(status == CMN_OK || status == CMN_MISS);
	cc_store_close(store);
	return count;
}

static bool is_in(const char *name, const char *source)
{
	struct cc_config config;
	struct cc_store *store = open_store(&config, name);
	struct cc_entry *entry = NULL;
	OWNED(cc_key_release) struct cc_key key;
	bool found;

	make_key(&key, source);
	found = cc_store_get(store, &key, NULL, SIZE_MAX, &entry, NULL) == CMN_OK;
	if (found)
		cc_entry_unref(entry);
	cc_store_close(store);
	return found;
}

static unsigned int leftovers;

static int count_leftover(const char *path, const struct stat *info, int kind, struct FTW *place)
{
	(void)info;
	if (kind == FTW_F && strncmp(path + place->base, ".tmp-", 5) == 0)
		leftovers++;
	return 0;
}

/* Temporary files. */
static unsigned int leftovers_in(const char *name)
{
	leftovers = 0;
	(void)nftw(unit_path(name), count_leftover, 16, FTW_PHYS);	/* it may not be there */
	return leftovers;
}

static bool exists(const char *name)
{
	return access(unit_path(name), F_OK) == 0;
}

/* As stats.txt has it. */
static uint64_t counted(const char *name, enum cc_counter counter)
{
	struct cc_totals *totals;
	enum cmn_status status = cc_totals_load(unit_path(name), &totals);
	uint64_t count;

	CU_ASSERT_TRUE_FATAL(status == CMN_OK || status == CMN_MISS);
	count = totals->counters[counter];
	free(totals);
	return count;
}

static void expect_dir(struct cc_cache *cache, const char *path)
{
	char *dir = cc_cache_dir(cache);

	if (path)
		CU_ASSERT_PTR_NOT_NULL_FATAL(dir);
	if (path)
		CU_ASSERT_STRING_EQUAL(dir, path);
	if (!path)
		CU_ASSERT_PTR_NULL(dir);
	free(dir);
}

TEST(what_is_set_can_be_read)
{
	struct cc_cache *cache = open_cache(true);

	CU_ASSERT_TRUE(cc_cache_persistent(cache));
	CU_ASSERT_EQUAL(cc_cache_capacity(cache), UINT64_C(8) << 30);
	expect_dir(cache, unit_path("one"));
	CU_ASSERT_EQUAL(cc_cache_set_capacity(cache, 12345), CMN_OK);
	CU_ASSERT_EQUAL(cc_cache_set_dir(cache, unit_path("two")), CMN_OK);
	CU_ASSERT_EQUAL(cc_cache_capacity(cache), 12345);
	expect_dir(cache, unit_path("two"));
	CU_ASSERT_EQUAL(cc_cache_set_persistent(cache, false), CMN_OK);
	CU_ASSERT_FALSE(cc_cache_persistent(cache));
	CU_ASSERT_EQUAL(cc_cache_capacity(cache), 12345);
	expect_dir(cache, NULL);
	CU_ASSERT_EQUAL(cc_cache_set_capacity(cache, 0), CMN_OK);
	CU_ASSERT_EQUAL(cc_cache_set_persistent(cache, true), CMN_OK);
	CU_ASSERT_EQUAL(cc_cache_capacity(cache), 0);
	expect_dir(cache, unit_path("two"));
	CU_ASSERT_EQUAL(cc_cache_set_dir(cache, NULL), CMN_OK);
	expect_dir(cache, unit_path("one"));
	/* What was loaded is still what was loaded. */
	CU_ASSERT_EQUAL(cc_cache_config(cache)->max_size, UINT64_C(8) << 30);
	CU_ASSERT_STRING_EQUAL(cc_cache_config(cache)->dir, unit_path("one"));
	cc_cache_close(cache);
	CU_ASSERT_FALSE(exists("one"));
	CU_ASSERT_FALSE(exists("two"));
}

TEST(a_relative_directory_is_one_of_the_moment)
{
	OWNED(owned_cc_cache_close) struct cc_cache *cache = open_cache(false);

	CU_ASSERT_EQUAL(cc_cache_set_dir(cache, "two"), CMN_OK);
	expect_dir(cache, unit_path("two"));
	CU_ASSERT_EQUAL(chdir("/"), 0);
	CU_ASSERT_EQUAL(look_up(cache, "a"), CC_ORIGIN_BUILT);
	CU_ASSERT_EQUAL(chdir(unit_dir()), 0);
	CU_ASSERT_TRUE(is_in("two", "a"));
}

TEST(a_directory_is_made_by_the_first_store_for_its_owner_alone)
{
	OWNED(owned_cc_cache_close) struct cc_cache *cache = open_cache(false);
	struct stat info;

	CU_ASSERT_EQUAL(cc_cache_set_dir(cache, unit_path("deep/two")), CMN_OK);
	CU_ASSERT_FALSE(exists("deep"));
	CU_ASSERT_EQUAL(look_up(cache, "a"), CC_ORIGIN_BUILT);
	CU_ASSERT_EQUAL_FATAL(stat("deep/two", &info), 0);
	CU_ASSERT_EQUAL(info.st_mode & 07777, 0700);
	CU_ASSERT_FALSE(exists("one"));
}

TEST(switched_off_it_neither_reads_nor_writes)
{
	OWNED(owned_cc_cache_close) struct cc_cache *cache = open_cache(false);

	CU_ASSERT_EQUAL(look_up(cache, "a"), CC_ORIGIN_BUILT);
	CU_ASSERT_EQUAL(cc_cache_set_persistent(cache, false), CMN_OK);
	CU_ASSERT_EQUAL(entries_in("one"), 1);
	CU_ASSERT_EQUAL(look_up(cache, "a"), CC_ORIGIN_BUILT);
	CU_ASSERT_EQUAL(look_up(cache, "b"), CC_ORIGIN_BUILT);
	CU_ASSERT_EQUAL(entries_in("one"), 1);
	CU_ASSERT_EQUAL(cc_cache_set_persistent(cache, true), CMN_OK);
	CU_ASSERT_EQUAL(look_up(cache, "a"), CC_ORIGIN_DISK);
	CU_ASSERT_EQUAL(look_up(cache, "b"), CC_ORIGIN_BUILT);
	CU_ASSERT_EQUAL(entries_in("one"), 2);
}

TEST(a_directory_set_while_it_is_off_is_used_when_it_is_on)
{
	OWNED(owned_cc_cache_close) struct cc_cache *cache = open_cache(false);

	CU_ASSERT_EQUAL(cc_cache_set_persistent(cache, false), CMN_OK);
	CU_ASSERT_EQUAL(cc_cache_set_dir(cache, unit_path("two")), CMN_OK);
	expect_dir(cache, NULL);
	CU_ASSERT_EQUAL(look_up(cache, "a"), CC_ORIGIN_BUILT);
	CU_ASSERT_EQUAL(cc_cache_set_persistent(cache, true), CMN_OK);
	CU_ASSERT_EQUAL(look_up(cache, "b"), CC_ORIGIN_BUILT);
	CU_ASSERT_FALSE(exists("one"));
	CU_ASSERT_EQUAL(entries_in("two"), 1);
}

TEST(each_directory_has_its_own_entries)
{
	OWNED(owned_cc_cache_close) struct cc_cache *cache = open_cache(false);

	CU_ASSERT_EQUAL(look_up(cache, "a"), CC_ORIGIN_BUILT);
	CU_ASSERT_EQUAL(cc_cache_set_dir(cache, unit_path("two")), CMN_OK);
	CU_ASSERT_EQUAL(look_up(cache, "a"), CC_ORIGIN_BUILT);
	CU_ASSERT_EQUAL(look_up(cache, "b"), CC_ORIGIN_BUILT);
	CU_ASSERT_EQUAL(cc_cache_set_dir(cache, NULL), CMN_OK);
	CU_ASSERT_EQUAL(look_up(cache, "a"), CC_ORIGIN_DISK);
	CU_ASSERT_EQUAL(look_up(cache, "b"), CC_ORIGIN_BUILT);
	CU_ASSERT_EQUAL(look_up(cache, "c"), CC_ORIGIN_BUILT);
	CU_ASSERT_EQUAL(cc_cache_set_dir(cache, unit_path("two")), CMN_OK);
	CU_ASSERT_EQUAL(look_up(cache, "b"), CC_ORIGIN_DISK);
	CU_ASSERT_EQUAL(entries_in("one"), 3);
	CU_ASSERT_EQUAL(entries_in("two"), 2);
	CU_ASSERT_FALSE(is_in("two", "c"));
}

TEST(the_memory_level_stays_when_the_directory_changes)
{
	OWNED(owned_cc_cache_close) struct cc_cache *cache = open_cache(true);

	CU_ASSERT_EQUAL(look_up(cache, "a"), CC_ORIGIN_BUILT);
	CU_ASSERT_EQUAL(cc_cache_set_dir(cache, unit_path("two")), CMN_OK);
	CU_ASSERT_EQUAL(look_up(cache, "a"), CC_ORIGIN_MEMORY);
	CU_ASSERT_EQUAL(cc_cache_set_persistent(cache, false), CMN_OK);
	CU_ASSERT_EQUAL(look_up(cache, "a"), CC_ORIGIN_MEMORY);
	CU_ASSERT_TRUE(is_in("one", "a"));
	CU_ASSERT_EQUAL(entries_in("two"), 0);
}

static uint64_t bytes_of;

static int add_bytes(const char *path, const struct stat *info, int kind, struct FTW *place)
{
	(void)place;
	if (kind == FTW_F && (strstr(path, ".bin") || strstr(path, ".src")))
		bytes_of += (uint64_t)info->st_size;
	return 0;
}

static uint64_t bytes_in(const char *name)
{
	bytes_of = 0;
	CU_ASSERT_EQUAL(nftw(unit_path(name), add_bytes, 16, FTW_PHYS), 0);
	return bytes_of;
}

/* As much at each as a share of its build's time allows. */
TEST(a_lower_capacity_evicts_at_the_next_stores)
{
	OWNED(owned_cc_cache_close) struct cc_cache *cache = open_cache(false);
	uint64_t capacity;
	char source[32];

	for (int i = 0; i < 20; i++) {
		(void)snprintf(source, sizeof(source), "source %d", i);
		(void)look_up(cache, source);
	}
	CU_ASSERT_EQUAL(entries_in("one"), 20);
	capacity = bytes_in("one") / 2;
	CU_ASSERT_EQUAL(cc_cache_set_capacity(cache, capacity), CMN_OK);
	CU_ASSERT_EQUAL(entries_in("one"), 20);
	for (int i = 0; i < 20 && bytes_in("one") > capacity; i++) {
		(void)snprintf(source, sizeof(source), "one more %d", i);
		(void)look_up(cache, source);
	}
	CU_ASSERT_TRUE(bytes_in("one") <= capacity);
	CU_ASSERT_TRUE(entries_in("one") < 20);
	/* Without a bound it grows again. */
	CU_ASSERT_EQUAL(cc_cache_set_capacity(cache, 0), CMN_OK);
	for (int i = 0; i < 20; i++) {
		(void)snprintf(source, sizeof(source), "source %d", i);
		(void)look_up(cache, source);
	}
	CU_ASSERT_TRUE(entries_in("one") >= 20);
}

static void count_misses(struct cc_cache *cache, unsigned int times)
{
	OWNED(cc_key_release) struct cc_key key;
	const struct cc_unkept_build bypass = { .key = &key, .bypass = "some-reason" };

	make_key(&key, "counted");
	for (unsigned int i = 0; i < times; i++)
		cc_cache_count_miss(cache, &key, 1);
	cc_cache_count_unkept(cache, &bypass);
}

TEST(counts_belong_to_the_directory_of_their_time)
{
	OWNED(owned_cc_cache_close) struct cc_cache *cache = open_cache(true);

	count_misses(cache, 3);
	(void)look_up(cache, "a");
	CU_ASSERT_EQUAL(cc_cache_set_dir(cache, unit_path("two")), CMN_OK);
	CU_ASSERT_EQUAL(counted("one", CC_MISSES), 3);
	CU_ASSERT_EQUAL(counted("one", CC_STORES), 1);
	count_misses(cache, 5);
	CU_ASSERT_EQUAL(cc_cache_set_persistent(cache, false), CMN_OK);
	CU_ASSERT_EQUAL(counted("two", CC_MISSES), 5);
	CU_ASSERT_EQUAL(counted("two", CC_STORES), 0);
	/* These are nobody's. */
	count_misses(cache, 7);
	CU_ASSERT_EQUAL(cc_cache_set_dir(cache, unit_path("three")), CMN_OK);
	CU_ASSERT_EQUAL(cc_cache_set_dir(cache, unit_path("two")), CMN_OK);
	CU_ASSERT_EQUAL(cc_cache_set_persistent(cache, true), CMN_OK);
	count_misses(cache, 11);
	CU_ASSERT_EQUAL(counted("one", CC_MISSES), 3);
	CU_ASSERT_EQUAL(counted("two", CC_MISSES), 16);
	CU_ASSERT_FALSE(exists("three"));
}

static void expect_untouched(struct cc_cache *cache)
{
	expect_dir(cache, unit_path("one"));
	CU_ASSERT_TRUE(cc_cache_persistent(cache));
	CU_ASSERT_EQUAL(cc_cache_capacity(cache), UINT64_C(8) << 30);
	CU_ASSERT_EQUAL(look_up(cache, "a"), CC_ORIGIN_DISK);
}

TEST(a_directory_that_cannot_be_trusted_is_refused)
{
	struct cc_cache *cache;
	char *longest;

	CU_ASSERT_EQUAL(setenv("CKCACHE_LOG", "none", 1), 0);
	cache = open_cache(false);
	CU_ASSERT_EQUAL(unsetenv("CKCACHE_LOG"), 0);
	(void)look_up(cache, "a");
	unit_write("file", "where a directory should be");
	CU_ASSERT_EQUAL(mkdir("open", 0700), 0);
	CU_ASSERT_EQUAL(chmod("open", 0777), 0);
	CU_ASSERT_EQUAL(cc_cache_set_dir(cache, unit_path("open")), CMN_ERR_ACCESS);
	expect_untouched(cache);
	CU_ASSERT_EQUAL(cc_cache_set_dir(cache, unit_path("file")), CMN_ERR_ACCESS);
	expect_untouched(cache);
	CU_ASSERT_EQUAL(cc_cache_set_dir(cache, ""), CMN_ERR_INVALID);
	expect_untouched(cache);
	longest = malloc(5000);
	CU_ASSERT_PTR_NOT_NULL_FATAL(longest);
	memset(longest, 'x', 4999);
	longest[0] = '/';
	longest[4999] = '\0';
	CU_ASSERT_EQUAL(cc_cache_set_dir(cache, longest), CMN_ERR_INVALID);
	free(longest);
	expect_untouched(cache);
	if (geteuid() == 0) {
		CU_ASSERT_EQUAL(mkdir("foreign", 0700), 0);
		CU_ASSERT_EQUAL(chown("foreign", OTHER_USER, OTHER_USER), 0);
		CU_ASSERT_EQUAL(cc_cache_set_dir(cache, unit_path("foreign")), CMN_ERR_ACCESS);
		expect_untouched(cache);
	}
	/* Also while it is off, and when it is switched on again in a bad place. */
	CU_ASSERT_EQUAL(cc_cache_set_persistent(cache, false), CMN_OK);
	CU_ASSERT_EQUAL(cc_cache_set_dir(cache, unit_path("open")), CMN_ERR_ACCESS);
	CU_ASSERT_EQUAL(chmod("one", 0777), 0);
	CU_ASSERT_EQUAL(cc_cache_set_persistent(cache, true), CMN_ERR_ACCESS);
	CU_ASSERT_FALSE(cc_cache_persistent(cache));
	CU_ASSERT_EQUAL(look_up(cache, "a"), CC_ORIGIN_BUILT);
	CU_ASSERT_EQUAL(chmod("one", 0700), 0);
	CU_ASSERT_EQUAL(cc_cache_set_persistent(cache, true), CMN_OK);
	expect_untouched(cache);
	cc_cache_close(cache);
	CU_ASSERT_EQUAL(entries_in("one"), 1);
}

TEST(a_program_can_choose_a_good_directory_for_a_bad_one)
{
	struct cc_cache *cache;

	CU_ASSERT_EQUAL(mkdir("one", 0700), 0);
	CU_ASSERT_EQUAL(chmod("one", 0777), 0);
	CU_ASSERT_EQUAL(setenv("CKCACHE_LOG", "none", 1), 0);
	cache = open_cache(false);
	CU_ASSERT_EQUAL(unsetenv("CKCACHE_LOG"), 0);
	expect_dir(cache, NULL);
	CU_ASSERT_EQUAL(cc_cache_set_capacity(cache, UINT64_C(1) << 20), CMN_OK);
	CU_ASSERT_EQUAL(cc_cache_set_persistent(cache, true), CMN_ERR_ACCESS);
	CU_ASSERT_EQUAL(cc_cache_set_dir(cache, unit_path("two")), CMN_OK);
	CU_ASSERT_EQUAL(look_up(cache, "a"), CC_ORIGIN_BUILT);
	CU_ASSERT_EQUAL(cc_cache_capacity(cache), UINT64_C(1) << 20);
	CU_ASSERT_EQUAL(cc_cache_set_dir(cache, NULL), CMN_ERR_ACCESS);
	expect_dir(cache, unit_path("two"));
	cc_cache_close(cache);
	CU_ASSERT_EQUAL(entries_in("two"), 1);
}

TEST(without_any_directory_there_is_none_to_switch_on)
{
	struct cc_config config = { .persistent = true, .in_mem = true, .max_size = 1000 };
	OWNED(owned_cc_cache_close) struct cc_cache *cache = NULL;

	CU_ASSERT_EQUAL_FATAL(cc_cache_open_with(&config, &cache), CMN_OK);
	CU_ASSERT_EQUAL(cc_cache_set_persistent(cache, true), CMN_ERR_INVALID);
	CU_ASSERT_EQUAL(cc_cache_set_dir(cache, NULL), CMN_ERR_INVALID);
	CU_ASSERT_EQUAL(cc_cache_set_dir(cache, unit_path("two")), CMN_OK);
	expect_dir(cache, unit_path("two"));
}

TEST(what_the_user_switched_off_stays_off)
{
	struct cc_cache *cache;

	CU_ASSERT_EQUAL(setenv("CKCACHE_PERSISTENT", "0", 1), 0);
	cache = open_cache(true);
	CU_ASSERT_EQUAL(unsetenv("CKCACHE_PERSISTENT"), 0);
	CU_ASSERT_FALSE(cc_cache_persistent(cache));
	CU_ASSERT_EQUAL(cc_cache_set_persistent(cache, true), CMN_ERR_ACCESS);
	CU_ASSERT_EQUAL(cc_cache_set_dir(cache, unit_path("two")), CMN_ERR_ACCESS);
	CU_ASSERT_EQUAL(cc_cache_set_dir(cache, NULL), CMN_ERR_ACCESS);
	CU_ASSERT_EQUAL(cc_cache_set_capacity(cache, 1 << 20), CMN_OK);
	CU_ASSERT_EQUAL(cc_cache_set_persistent(cache, false), CMN_OK);
	CU_ASSERT_FALSE(cc_cache_persistent(cache));
	expect_dir(cache, NULL);
	CU_ASSERT_EQUAL(look_up(cache, "a"), CC_ORIGIN_BUILT);
	CU_ASSERT_EQUAL(look_up(cache, "a"), CC_ORIGIN_MEMORY);
	cc_cache_close(cache);
	CU_ASSERT_FALSE(exists("one"));
	CU_ASSERT_FALSE(exists("two"));
}

TEST(a_cache_that_is_only_read_writes_in_no_directory)
{
	struct cc_cache *cache = open_cache(false);
	struct cc_key key;

	(void)look_up(cache, "a");
	cc_cache_close(cache);
	CU_ASSERT_EQUAL(setenv("CKCACHE_READ_ONLY", "1", 1), 0);
	cache = open_cache(false);
	CU_ASSERT_EQUAL(unsetenv("CKCACHE_READ_ONLY"), 0);
	CU_ASSERT_EQUAL(cc_cache_set_dir(cache, unit_path("two")), CMN_OK);
	CU_ASSERT_EQUAL(look_up(cache, "a"), CC_ORIGIN_BUILT);
	count_misses(cache, 3);
	CU_ASSERT_EQUAL(cc_cache_set_capacity(cache, 1), CMN_OK);
	CU_ASSERT_EQUAL(cc_cache_set_persistent(cache, false), CMN_OK);
	CU_ASSERT_EQUAL(cc_cache_set_persistent(cache, true), CMN_OK);
	CU_ASSERT_EQUAL(cc_cache_set_dir(cache, NULL), CMN_OK);
	CU_ASSERT_EQUAL(look_up(cache, "a"), CC_ORIGIN_DISK);
	CU_ASSERT_EQUAL(look_up(cache, "b"), CC_ORIGIN_BUILT);
	make_key(&key, "a");
	CU_ASSERT_EQUAL(cc_cache_remove(cache, &key), CMN_ERR_ACCESS);
	cc_key_release(&key);
	cc_cache_close(cache);
	CU_ASSERT_FALSE(exists("two"));
	CU_ASSERT_EQUAL(entries_in("one"), 1);
	CU_ASSERT_EQUAL(counted("one", CC_MISSES), 0);
}

TEST(a_configuration_that_disables_it_opens_nothing)
{
	struct cc_config config = { .disable = true, .persistent = true };
	struct cc_cache *cache = NULL;

	config.dir = strdup(unit_path("one"));
	CU_ASSERT_EQUAL(cc_cache_open_with(&config, &cache), CMN_MISS);
	CU_ASSERT_PTR_NULL(cache);
	CU_ASSERT_PTR_NULL(config.dir);
}

/* A build that changes the directory, and another process that wants the same. */
struct changing {
	struct cc_cache *cache;
	const char *to;
	const struct cc_key *key;
	int turn;		/* of another process, in one/ after the change */
};

static enum cmn_status change_and_build(void *ctx, struct cc_entry **ret)
{
	struct changing *changing = ctx;

	CU_ASSERT_EQUAL(cc_cache_set_dir(changing->cache, unit_path(changing->to)), CMN_OK);
	changing->turn = build_turn_of_another(unit_path("one"), cc_key_view(changing->key), 0);
	/* Another look-up meanwhile is one in the new directory. */
	CU_ASSERT_EQUAL(look_up(changing->cache, "another"), CC_ORIGIN_BUILT);
	count_misses(changing->cache, 1);
	return make_entry("image", ret);
}

TEST(a_build_ends_where_it_began)
{
	OWNED(owned_cc_cache_close) struct cc_cache *cache = open_cache(false);
	struct cc_entry *entry = NULL;
	enum cc_origin origin;
	struct cc_key key;
	struct changing changing = { .cache = cache, .to = "two", .key = &key };

	make_key(&key, "image");
	CU_ASSERT_EQUAL_FATAL(cc_cache_get_or_build(cache, &key, change_and_build, &changing,
						    &entry, &origin), CMN_OK);
	cc_entry_unref(entry);
	CU_ASSERT_EQUAL(changing.turn, CC_BUILD_ALONE);
	CU_ASSERT_EQUAL(build_turn_of_another(unit_path("one"), cc_key_view(&key), 0), CC_BUILD_OWN);
	cc_key_release(&key);
	CU_ASSERT_TRUE(is_in("one", "image"));
	CU_ASSERT_EQUAL(counted("one", CC_STORES), 1);
	CU_ASSERT_EQUAL(leftovers_in("one"), 0);
	CU_ASSERT_FALSE(is_in("two", "image"));
	CU_ASSERT_TRUE(is_in("two", "another"));
	CU_ASSERT_EQUAL(leftovers_in("two"), 0);
	CU_ASSERT_EQUAL(counted("two", CC_STORES), 1);
}

/* A build that waits until it is told to end. */
struct slow {
	struct cc_cache *cache;
	pthread_barrier_t begun, end;
};

static enum cmn_status build_slowly(void *ctx, struct cc_entry **ret)
{
	struct slow *slow = ctx;

	(void)pthread_barrier_wait(&slow->begun);
	(void)pthread_barrier_wait(&slow->end);
	return make_entry("slow", ret);
}

static void *run_slowly(void *ctx)
{
	struct slow *slow = ctx;
	struct cc_entry *entry = NULL;
	enum cc_origin origin;
	OWNED(cc_key_release) struct cc_key key;

	make_key(&key, "slow");
	CU_ASSERT_EQUAL(cc_cache_get_or_build(slow->cache, &key, build_slowly, slow, &entry, &origin), CMN_OK);
	cc_entry_unref(entry);
	return NULL;
}

static void start_slow(struct slow *slow, struct cc_cache *cache, pthread_t *ret)
{
	slow->cache = cache;
	CU_ASSERT_EQUAL_FATAL(pthread_barrier_init(&slow->begun, NULL, 2), 0);
	CU_ASSERT_EQUAL_FATAL(pthread_barrier_init(&slow->end, NULL, 2), 0);
	CU_ASSERT_EQUAL_FATAL(pthread_create(ret, NULL, run_slowly, slow), 0);
	(void)pthread_barrier_wait(&slow->begun);
}

static void end_slow(struct slow *slow, pthread_t thread)
{
	(void)pthread_barrier_wait(&slow->end);
	CU_ASSERT_EQUAL(pthread_join(thread, NULL), 0);
	(void)pthread_barrier_destroy(&slow->begun);
	(void)pthread_barrier_destroy(&slow->end);
}

TEST(a_change_does_not_wait_for_who_is_inside)
{
	OWNED(owned_cc_cache_close) struct cc_cache *cache = open_cache(false);
	struct slow slow;
	pthread_t thread;

	(void)look_up(cache, "a");
	start_slow(&slow, cache, &thread);
	count_misses(cache, 3);
	CU_ASSERT_EQUAL(cc_cache_set_dir(cache, unit_path("two")), CMN_OK);
	CU_ASSERT_TRUE(is_in("one", "a"));
	CU_ASSERT_EQUAL(counted("one", CC_MISSES), 3);
	CU_ASSERT_EQUAL(cc_cache_set_dir(cache, unit_path("three")), CMN_OK);
	end_slow(&slow, thread);
	CU_ASSERT_TRUE(is_in("one", "slow"));
	CU_ASSERT_EQUAL(entries_in("two") + entries_in("three"), 0);
}

/* A build in one/ that another process wants meanwhile. */
struct wanted {
	const struct cc_key *key;
	int turn;
};

static enum cmn_status build_wanted(void *ctx, struct cc_entry **ret)
{
	struct wanted *wanted = ctx;

	wanted->turn = build_turn_of_another(unit_path("one"), cc_key_view(wanted->key), 0);
	return make_entry("wanted", ret);
}

static bool others_wait_for_its_builds(struct cc_cache *cache)
{
	struct wanted wanted = { .turn = -1 };
	struct cc_entry *entry = NULL;
	enum cc_origin origin;
	OWNED(cc_key_release) struct cc_key key;

	make_key(&key, "wanted");
	wanted.key = &key;
	if (cc_cache_get_or_build(cache, &key, build_wanted, &wanted, &entry, &origin) != CMN_OK)
		return false;
	cc_entry_unref(entry);
	return wanted.turn == CC_BUILD_ALONE;
}

static int work_as_child(struct cc_cache *cache)
{
	cc_cache_fork_child(cache);
	if (look_up(cache, "two's") != CC_ORIGIN_DISK)
		return 1;
	if (!CHILD_HAS_THREADS)
		return cc_cache_set_dir(cache, unit_path("one")) != CMN_OK;
	if (look_up(cache, "child's") != CC_ORIGIN_BUILT)
		return 1;
	/* Its parent builds this, in one/: nobody may be waited for. */
	if (cc_cache_set_dir(cache, unit_path("one")) != CMN_OK ||
	    look_up(cache, "slow") != CC_ORIGIN_BUILT || !is_in("two", "child's"))
		return 2;
	if (!others_wait_for_its_builds(cache))
		return 5;
	if (cc_cache_set_dir(cache, unit_path("three")) != CMN_OK || look_up(cache, "child's") != CC_ORIGIN_BUILT)
		return 3;
	if (!is_in("one", "slow") || !is_in("three", "child's"))
		return 4;
	cc_cache_close(cache);
	return 0;
}

TEST(a_child_forked_in_between_has_levels_of_its_own)
{
	OWNED(owned_cc_cache_close) struct cc_cache *cache = open_cache(false);
	struct slow slow;
	pthread_t thread;
	pid_t child;

	start_slow(&slow, cache, &thread);
	CU_ASSERT_EQUAL(cc_cache_set_dir(cache, unit_path("two")), CMN_OK);
	(void)look_up(cache, "two's");
	cc_cache_fork_prepare(cache);
	child = fork();
	if (child == 0)
		_exit(work_as_child(cache));
	cc_cache_fork_parent(cache);
	CU_ASSERT(unit_ended_well(child));
	expect_dir(cache, unit_path("two"));
	end_slow(&slow, thread);
	CU_ASSERT_TRUE(is_in("one", "slow"));
	CU_ASSERT_EQUAL(look_up(cache, "child's") == CC_ORIGIN_DISK, CHILD_HAS_THREADS);
	CU_ASSERT_EQUAL(leftovers_in("one") + leftovers_in("two") + leftovers_in("three"), 0);
}

/* A process that is forked when it has taken a lock, and ends at once, with the lock. */
static struct {
	struct cc_cache *cache;
	atomic_uint locks;
	unsigned int at;
	atomic_bool reached;
	int ready[2];		/* the child's number comes through it */
} forking;

WRAPPED(int, flock, (int fd, int operation))
{
	int result = __real_flock(fd, operation);

	if (!forking.cache || result < 0 || !(operation & LOCK_EX) ||
	    atomic_fetch_add(&forking.locks, 1) + 1 != forking.at)
		return result;
	atomic_store(&forking.reached, true);
	for (;;)
		(void)pause();
}

static void *fork_when_locked(void *arg)
{
	pid_t pid;

	(void)arg;
	while (!atomic_load(&forking.reached))
		(void)sched_yield();
	cc_cache_fork_prepare(forking.cache);
	if (fork() > 0)
		_exit(0);
	cc_cache_fork_child(forking.cache);
	pid = getpid();
	if (write(forking.ready[1], &pid, sizeof(pid)) == (ssize_t)sizeof(pid))
		(void)pause();
	_exit(1);
}

static int check_free(const char *path, const struct stat *info, int type, struct FTW *place)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	(void)info;
	(void)type;
	(void)place;
	CU_ASSERT_TRUE(fd >= 0);
	CU_ASSERT_EQUAL(__real_flock(fd, LOCK_EX | LOCK_NB), 0);
	(void)close(fd);
	return 0;
}

/* Returns the child's number; 0: it did not take so many locks. */
static pid_t store_and_fork(unsigned int at)
{
	pid_t owner, child = 0;

	CU_ASSERT_EQUAL_FATAL(pipe(forking.ready), 0);
	owner = fork();
	CU_ASSERT_FATAL(owner >= 0);
	if (owner == 0) {
		struct cc_cache *cache = open_cache(false);
		pthread_t thread;

		(void)close(forking.ready[0]);
		forking.at = at;
		forking.cache = cache;
		if (pthread_create(&thread, NULL, fork_when_locked, NULL) != 0)
			_exit(1);
		(void)look_up(cache, "forking");
		count_misses(cache, 1);
		_exit(0);
	}
	(void)close(forking.ready[1]);
	CU_ASSERT(unit_ended_well(owner));
	if (read(forking.ready[0], &child, sizeof(child)) != (ssize_t)sizeof(child))
		child = 0;
	(void)close(forking.ready[0]);
	return child;
}

/* The entry directory, and the root before and after the entry is written. */
TEST(a_child_keeps_no_lock_of_a_dead_parent)
{
	unsigned int at = 1;
	pid_t child;

	if (!CHILD_HAS_THREADS)
		return;
	while ((child = store_and_fork(at)) > 0) {
		CU_ASSERT_EQUAL(nftw(unit_path("one"), check_free, 16, FTW_PHYS), 0);
		CU_ASSERT_EQUAL(kill(child, SIGKILL), 0);
		CU_ASSERT_EQUAL_FATAL(system("rm -rf one"), 0);
		at++;
	}
	CU_ASSERT_EQUAL_FATAL(system("rm -rf one"), 0);
	CU_ASSERT_TRUE(at > 3);
}

struct crowd {
	struct cc_cache *cache;
	atomic_bool end;
	bool switches;		/* off and on, too */
	pthread_barrier_t start;
};

static void *use_cache(void *ctx)
{
	struct crowd *crowd = ctx;
	unsigned int seed = (unsigned int)(uintptr_t)&seed;
	char source[32];

	(void)pthread_barrier_wait(&crowd->start);
	for (int i = 0; i < ROUNDS; i++) {
		/* Each key at least once, in an order of one's own. */
		seed = seed * 1103515245 + 12345;
		(void)snprintf(source, sizeof(source), "source %u", i < KEYS ? (unsigned int)i : seed / 65536 % KEYS);
		(void)look_up(crowd->cache, source);
		count_misses(crowd->cache, 1);
	}
	return NULL;
}

static void *change_cache(void *ctx)
{
	static const char *const names[] = { "one", "two", "three" };
	struct crowd *crowd = ctx;
	unsigned int turn = 0;

	(void)pthread_barrier_wait(&crowd->start);
	while (!atomic_load(&crowd->end)) {
		char *dir = cc_cache_dir(crowd->cache);

		free(dir);
		CU_ASSERT_EQUAL(cc_cache_set_dir(crowd->cache, unit_path(names[turn % 3])), CMN_OK);
		if (turn % 4 == 0)
			CU_ASSERT_EQUAL(cc_cache_set_capacity(crowd->cache, turn % 8 ? 0 : 1 << 30), CMN_OK);
		if (crowd->switches && turn % 2)
			CU_ASSERT_EQUAL(cc_cache_set_persistent(crowd->cache, turn / 2 % 2), CMN_OK);
		turn++;
	}
	return NULL;
}

static void *change_capacity(void *ctx)
{
	struct crowd *crowd = ctx;

	(void)pthread_barrier_wait(&crowd->start);
	for (uint64_t i = 0; i < CHANGES; i++) {
		CU_ASSERT_EQUAL(cc_cache_set_capacity(crowd->cache, i), CMN_OK);
		CU_ASSERT_EQUAL(cc_cache_capacity(crowd->cache), i);
	}
	atomic_store(&crowd->end, true);
	return NULL;
}

TEST(what_two_threads_set_is_set)
{
	struct crowd crowd = { .cache = open_cache(true) };
	pthread_t thread;

	CU_ASSERT_EQUAL_FATAL(pthread_barrier_init(&crowd.start, NULL, 2), 0);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, change_capacity, &crowd), 0);
	(void)pthread_barrier_wait(&crowd.start);
	for (unsigned int i = 0; !atomic_load(&crowd.end); i++) {
		const char *dir = unit_path(i % 2 ? "one" : "two");

		CU_ASSERT_EQUAL(cc_cache_set_dir(crowd.cache, dir), CMN_OK);
		expect_dir(crowd.cache, dir);
	}
	CU_ASSERT_EQUAL(pthread_join(thread, NULL), 0);
	(void)pthread_barrier_destroy(&crowd.start);
	cc_cache_close(crowd.cache);
}

/* Each count is in one root, but what was counted while the level was off. */
static void check_counts(bool switches)
{
	uint64_t all = counted("one", CC_MISSES) + counted("two", CC_MISSES) +
		       counted("three", CC_MISSES);

	CU_ASSERT_TRUE(all <= THREADS * ROUNDS);
	/* A root whose lock stayed taken for half a second would lose some. */
	CU_ASSERT_TRUE(switches || all >= THREADS * ROUNDS * 9 / 10);
}

/* Eight threads use the cache, two change it. */
static void run_crowd(bool in_mem, bool switches)
{
	struct crowd crowd = { .cache = open_cache(in_mem), .switches = switches };
	pthread_t users[THREADS], changers[2];

	CU_ASSERT_EQUAL_FATAL(pthread_barrier_init(&crowd.start, NULL, THREADS + 2), 0);
	for (int i = 0; i < THREADS; i++)
		CU_ASSERT_EQUAL_FATAL(pthread_create(&users[i], NULL, use_cache, &crowd), 0);
	for (int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL_FATAL(pthread_create(&changers[i], NULL, change_cache, &crowd), 0);
	for (int i = 0; i < THREADS; i++)
		CU_ASSERT_EQUAL(pthread_join(users[i], NULL), 0);
	atomic_store(&crowd.end, true);
	for (int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL(pthread_join(changers[i], NULL), 0);
	(void)pthread_barrier_destroy(&crowd.start);
	/* Before it is closed. Each entry that is there is whole. */
	CU_ASSERT_TRUE(entries_in("one") + entries_in("two") + entries_in("three") >= (switches ? 0 : KEYS));
	for (int i = 0; i < KEYS && !switches; i++) {
		char source[32];

		(void)snprintf(source, sizeof(source), "source %d", i);
		CU_ASSERT_TRUE(is_in("one", source) || is_in("two", source) || is_in("three", source));
	}
	cc_cache_close(crowd.cache);
	CU_ASSERT_EQUAL(leftovers_in("one") + leftovers_in("two") + leftovers_in("three"), 0);
	check_counts(switches);
}

TEST(nothing_is_lost_while_directories_change)
{
	run_crowd(false, false);
}

TEST(threads_that_share_memory_lose_nothing_either)
{
	run_crowd(true, false);
}

TEST(it_may_be_switched_while_others_build)
{
	run_crowd(false, true);
}

TEST(a_privileged_programs_directory_is_not_its_callers_choice)
{
	OWNED(owned_cc_cache_close) struct cc_cache *cache = open_cache(false);

	privileged = true;
	CU_ASSERT_TRUE(cc_cache_set_dir(cache, "two") < 0);
	CU_ASSERT_EQUAL(cc_cache_set_dir(cache, unit_path("two")), CMN_OK);
	privileged = false;
	CU_ASSERT_EQUAL(cc_cache_set_dir(cache, "two"), CMN_OK);
}

TEST(switched_off_no_tier_is_looked_up)
{
	struct cc_cache *cache = open_cache(false);

	CU_ASSERT_EQUAL(look_up(cache, "a"), CC_ORIGIN_BUILT);
	cc_cache_close(cache);
	for (int off = 0; off < 2; off++) {
		CU_ASSERT_EQUAL(setenv("CKCACHE_DIR", unit_path("two"), 1), 0);
		CU_ASSERT_EQUAL(setenv("CKCACHE_READ_ONLY_DIRS", unit_path("one"), 1), 0);
		CU_ASSERT_EQUAL(setenv("CKCACHE_PERSISTENT", off ? "0" : "1", 1), 0);
		CU_ASSERT_EQUAL_FATAL(cc_cache_open(&cache), CMN_OK);
		CU_ASSERT_EQUAL(look_up(cache, "a"), off ? CC_ORIGIN_BUILT : CC_ORIGIN_DISK);
		cc_cache_close(cache);
	}
	CU_ASSERT_EQUAL(unsetenv("CKCACHE_PERSISTENT"), 0);
}

TEST(of_no_call_a_thread_or_a_descriptor_stays)
{
	const unsigned int threads = unit_count_in("/proc/self/task"), files = unit_count_in("/proc/self/fd");
	struct cc_recipe recipe = { 0 };
	struct cc_entry *entry = NULL;
	struct cc_cache *cache;
	enum cc_origin origin;
	OWNED(cc_key_release) struct cc_key key;

	CU_ASSERT_EQUAL(setenv("CKCACHE_BUILD_WAIT", "0", 1), 0);
	cache = open_cache(false);
	make_key(&key, "a");
	recipe.key = cc_key_view(&key);
	for (int call = 0; call <= 10; call++) {
		switch (call) {
		case 0: CU_ASSERT_EQUAL(look_up(cache, "a"), CC_ORIGIN_BUILT); break;
		case 1: cc_cache_count_miss(cache, &key, 1); break;
		case 2: CU_ASSERT_EQUAL_FATAL(cc_cache_get(cache, &key, &entry, &origin), CMN_OK); break;
		case 3: cc_cache_count_hit(cache, &key, origin, entry, 1); break;
		case 4: cc_cache_put(cache, &key, entry); break;
		case 5: CU_ASSERT_TRUE(cc_cache_put_recipe(cache, &recipe)); break;
		case 6: cc_cache_reject(cache, &key, entry); break;
		case 7: CU_ASSERT_EQUAL(cc_cache_remove(cache, &key), CMN_OK); break;
		case 8: CU_ASSERT_EQUAL(cc_cache_set_dir(cache, unit_path("two")), CMN_OK); break;
		case 9: CU_ASSERT_EQUAL(look_up(cache, "b"), CC_ORIGIN_BUILT); break;
		case 10: cc_cache_close(cache); break;
		}
		CU_ASSERT_TRUE(unit_count_in("/proc/self/task") <= threads);	/* an earlier test's may be at its end */
		CU_ASSERT_EQUAL(unit_count_in("/proc/self/fd"), files);
	}
	cc_entry_unref(entry);
	CU_ASSERT_EQUAL(unsetenv("CKCACHE_BUILD_WAIT"), 0);
}

/* Where there is no place for it, it says so, unless nobody wants one. */
TEST(a_missing_directory_is_told)
{
	int saved = dup(STDERR_FILENO), file = open("log", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	struct cc_cache *cache = NULL;

	CU_ASSERT_FATAL(saved >= 0 && file >= 0);
	for (int off = 0; off < 2; off++) {
		struct stat info;

		CU_ASSERT_EQUAL(ftruncate(file, 0), 0);
		CU_ASSERT_EQUAL(clearenv(), 0);
		CU_ASSERT_EQUAL(setenv("CKCACHE_LOG", "warning", 1), 0);
		CU_ASSERT_EQUAL(setenv("CKCACHE_PERSISTENT", off ? "0" : "1", 1), 0);
		CU_ASSERT_FATAL(dup2(file, STDERR_FILENO) >= 0);
		cmn_log_take_stderr();
		CU_ASSERT_EQUAL(cc_cache_open(&cache), CMN_OK);
		cc_cache_close(cache);
		CU_ASSERT_FATAL(dup2(saved, STDERR_FILENO) >= 0);
		CU_ASSERT_EQUAL(fstat(file, &info), 0);
		CU_ASSERT_EQUAL(info.st_size > 0, !off);
	}
	CU_ASSERT_EQUAL(unsetenv("CKCACHE_PERSISTENT"), 0);
	(void)close(saved);
	(void)close(file);
}
