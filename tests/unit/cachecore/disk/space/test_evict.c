/* SPDX-License-Identifier: MIT */
/* test_evict: what goes first, what stays, and what is cleared on the way. */
#include "cachecore/disk/space/evict.h"

#include <ftw.h>
#include <sys/wait.h>

#include "cachecore/disk/space/account.h"
#include "cachecore/disk/space/clean.h"
#include "cachecore/record/recorder.h"
#include "cachecore/disk/root.h"
#include "cachecore/disk/space/overhead.h"
#include "cachecore/disk/reuse.h"
#include "cachecore/disk/writer/recipes.h"
#include "cachecore/record/totals.h"
#include "cachecore/disk/store.h"
#include "common/clock.h"
#include "common/file.h"
#include "tests/support/no_locks.h"
#include "tests/support/owned.h"
#include "tests/support/touch.h"
#include "tests/support/used_days.h"
#include "tests/support/clock.h"
#include "tests/support/unit.h"
#include "tests/support/wrap.h"

/* A store with a few entries of equal size, made the same way each. */
struct bench {
	struct cc_config config;
	char root[4200];
	struct cc_store *store;
	int root_fd;
	uint64_t each;		/* bytes of one entry */
	uint64_t build_ns;	/* of entries that are put */
	size_t image;		/* their bytes; 0: 1000 */
	unsigned int calls;
};

static struct bench bench;

static void make_key(struct cc_key *key, unsigned int i)
{
	cc_key_init(key);
	cc_key_add_u64(key, CC_PART_IMAGE, "source", i);
}

/* evict_ns: what it may take to make room. */
static enum cmn_status put_within(unsigned int i, size_t len, uint64_t evict_ns)
{
	struct cc_entry *entry = cc_entry_new(bench.build_ns);
	enum cmn_status status;
	static char image[100000];
	OWNED(cc_key_release) struct cc_key key;

	memset(image, (int)i, len);
	make_key(&key, i);
	cc_entry_add(entry, CC_TAG_IMAGE, 0, image, len);
	CU_ASSERT_EQUAL_FATAL(cc_entry_finish(entry, NULL), CMN_OK);
	status = evict_ns == UINT64_MAX ? cc_store_put(bench.store, &key, entry)
					: cc_store_put_within(bench.store, &key, entry, UINT64_MAX, evict_ns);
	cc_entry_unref(entry);
	return status;
}

static enum cmn_status put(unsigned int i)
{
	return put_within(i, bench.image ? bench.image : 1000, UINT64_MAX);
}

/* Without using it. */
static bool has(unsigned int i)
{
	struct cc_entry *entry;
	OWNED(cc_key_release) struct cc_key key;
	bool found, read_only = bench.config.read_only;

	make_key(&key, i);
	bench.config.read_only = true;
	found = cc_store_get(bench.store, &key, NULL, SIZE_MAX, &entry, NULL) == CMN_OK;
	bench.config.read_only = read_only;
	if (found)
		cc_entry_unref(entry);
	return found;
}

static const char *entry_dir_of(unsigned int i)
{
	static char path[CC_ENTRY_DIR_PATH_SIZE];
	OWNED(cc_key_release) struct cc_key key;

	make_key(&key, i);
	cc_entry_dir_path(cc_key_view(&key), path);
	return path;
}

static int open_entry_dir(unsigned int i)
{
	int fd = -1;

	CU_ASSERT_EQUAL_FATAL(cc_entry_dir_open(bench.root_fd, entry_dir_of(i), &fd), CMN_OK);
	return fd;
}

/* As who writes to it, until the descriptor is closed. */
static int lock_entry_dir(unsigned int i)
{
	int fd = open_entry_dir(i);

	CU_ASSERT_EQUAL(cc_entry_dir_lock(fd, 0), CMN_OK);
	return fd;
}

/* What the account says that the entries take. */
static uint64_t account(void)
{
	uint64_t ret = 0;

	CU_ASSERT_EQUAL(cc_number_file_read(bench.root_fd, CC_ACCOUNT_NAME, &ret), CMN_OK);
	return ret;
}

static uint64_t counted(void)
{
	uint64_t ret = 0;

	CU_ASSERT_EQUAL(cc_account_count(bench.root_fd, &ret, NULL), CMN_OK);
	return ret;
}

static void set_access(unsigned int i, uint64_t ns)
{
	int fd = open_entry_dir(i);

	cc_entry_dir_note_use(fd, NULL, 0, ns);
	(void)close(fd);
}

/* The account agrees with what is there. */
static void close_bench(void)
{
	CU_ASSERT_EQUAL(counted(), account());
	(void)close(bench.root_fd);
	cc_store_close(bench.store);
}

/* Once more: instead of the last. */
static void open_bench(unsigned int entries)
{
	if (bench.store) {
		close_bench();
		unit_remove("root");
	}
	bench = (struct bench){ 0 };
	(void)snprintf(bench.root, sizeof(bench.root), "%s/root", unit_dir());
	CU_ASSERT_EQUAL_FATAL(mkdir(bench.root, 0700), 0);
	bench.config.dir = bench.root;
	bench.config.max_device_image_size = 1 << 20;
	CU_ASSERT_EQUAL_FATAL(cc_store_open(&bench.config, NULL, &bench.store), CMN_OK);
	bench.root_fd = open(bench.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CU_ASSERT_TRUE_FATAL(bench.root_fd >= 0);
	used_days("root", 40);
	for (unsigned int i = 0; i < entries; i++) {
		CU_ASSERT_EQUAL_FATAL(put(i), CMN_OK);
		set_access(i, cmn_clock_realtime());
	}
	if (entries)
		bench.each = counted() / entries;
}

/* The bound that leaves entries so much, where the rest takes what it does, or a quarter up to 2 MiB. */
static uint64_t bound_for(uint64_t bytes)
{
	uint64_t others = cc_overhead_bytes(bench.root_fd), least = UINT64_C(2) << 20;

	least = bytes / 3 < least ? bytes / 3 : least;
	return bytes + (others > least ? others : least);
}

/* The path of a name in the entry's directory, from unit_dir. */
static const char *entry_dir_file(unsigned int i, const char *name)
{
	static char path[CC_ENTRY_DIR_PATH_SIZE + 300];

	(void)snprintf(path, sizeof(path), "root/%s/%s", entry_dir_of(i), name);
	return path;
}

static bool there(const char *path)
{
	struct stat info;

	return lstat(path, &info) == 0;
}

/* Clocks that a test sets: the time, 0: the machine's; and the days by which that of the day is ahead. It begins at noon. */
static uint64_t monotonic, to_noon;
static int64_t days_ahead;
uint64_t test_clock(clockid_t id)
{
	if (id == CLOCK_REALTIME)
		return machine_clock(id) + to_noon + (uint64_t)days_ahead * NS_PER_DAY;
	return id == CLOCK_MONOTONIC && monotonic ? monotonic : machine_clock(id);
}

static unsigned int count_left(unsigned int entries)
{
	unsigned int left = 0;

	for (unsigned int i = 0; i < entries; i++)
		left += has(i);
	return left;
}

/* Of the first entries, these are there, and '-' those that are not: "0-2". */
static void check_left(const char *wanted)
{
	char left[16] = "";

	for (unsigned int i = 0; wanted[i]; i++)
		left[i] = has(i) ? (char)('0' + i) : '-';
	CU_ASSERT_STRING_EQUAL(left, wanted);
}

/* As a process that finds it. */
static void use(unsigned int i)
{
	struct cc_store_place place = { .n = 0 };

	memcpy(place.entry_dir, entry_dir_of(i), sizeof(place.entry_dir));
	touch_place(bench.store, &place);
}

BEFORE_EACH
{
	has_no_locks = false;
	monotonic = 0;
	days_ahead = 0;
	to_noon = NS_PER_DAY - (machine_clock(CLOCK_REALTIME) + NS_PER_DAY / 2) % NS_PER_DAY;
	bench.store = NULL;
}

AFTER_EACH
{
	if (bench.store)
		close_bench();
}

TEST(evicts_least_recently_used_until_half_is_left)
{
	uint64_t now = cmn_clock_realtime();

	open_bench(10);
	for (unsigned int i = 0; i < 10; i++)
		set_access(i, now - (i * 7 % 10) * 1000000);
	bench.config.max_size = bound_for(bench.each * 10 - 1);
	CU_ASSERT_EQUAL(cc_clean(bench.root_fd, &bench.config, NULL), CMN_OK);
	/* i * 7 % 10 is the rank by age: 4 of 10 fit into just under a half. */
	for (unsigned int i = 0; i < 10; i++)
		CU_ASSERT_EQUAL(has(i), i * 7 % 10 < 4);
}

/* However shortly before the others were used, too. */
TEST(keeps_what_was_used_last)
{
	open_bench(4);
	use(0);
	bench.config.max_size = bound_for(bench.each * 4 - 1);
	CU_ASSERT_EQUAL(cc_clean(bench.root_fd, &bench.config, NULL), CMN_OK);
	check_left("0---");
}

/* What the bound is to a single entry, where nothing is evicted: nothing. */
TEST(without_eviction_an_entry_may_be_over_half_of_the_bound)
{
	open_bench(0);
	bench.image = 90000;
	bench.config.max_size = 100000;
	CU_ASSERT_EQUAL(put(1), CMN_ERR_TOO_LARGE);
	bench.config.eviction_disable = true;
	CU_ASSERT_EQUAL(put(1), CMN_OK);
	CU_ASSERT_EQUAL(put(2), CMN_OK);
	check_left("-12");
}

/* One that takes most of the root fits, too, while there is room: it displaces nothing. */
TEST(without_an_order_an_entry_may_take_most_of_the_root)
{
	open_bench(0);
	bench.image = 90000;
	bench.config.eviction_order = CC_EVICTION_NONE;
	bench.config.max_size = 200000;
	CU_ASSERT_EQUAL(put(1), CMN_OK);
	CU_ASSERT_EQUAL(put(2), CMN_ERR_TOO_LARGE);
	CU_ASSERT_TRUE(has(1));
}

TEST(keeps_all_within_the_bound)
{
	open_bench(4);
	bench.config.max_size = bound_for(bench.each * 4);
	bench.config.threshold_days = 1;
	CU_ASSERT_EQUAL(cc_clean(bench.root_fd, &bench.config, NULL), CMN_OK);
	bench.config.max_size = 0;
	CU_ASSERT_EQUAL(cc_clean(bench.root_fd, &bench.config, NULL), CMN_OK);
	check_left("0123");
}

TEST(evicts_what_was_not_used_for_days)
{
	uint64_t now = cmn_clock_realtime();

	open_bench(3);
	bench.config.threshold_days = 30;
	set_access(0, now - 31 * NS_PER_DAY);
	set_access(1, now - 29 * NS_PER_DAY);
	CU_ASSERT_EQUAL(cc_store_clean(bench.store, NULL), CMN_OK);
	check_left("-12");
	CU_ASSERT_FALSE(there(entry_dir_file(0, "")));
	bench.config.threshold_days = UINT64_MAX;
	CU_ASSERT_EQUAL(cc_store_clean(bench.store, NULL), CMN_OK);
	CU_ASSERT_TRUE(has(1));
}

/* Days before 1970 there are none. */
static int64_t to_1970(void)
{
	return -(int64_t)(machine_clock(CLOCK_REALTIME) / NS_PER_DAY);
}

static size_t days_of_use(void)
{
	struct cc_days days;

	cc_days_load(&days, bench.root_fd);
	return days.count;
}

TEST(a_process_with_a_wrong_clock_ages_nothing)
{
	/* With 32 bits there are days until 2038. */
	const int64_t wrong[] = { 200, to_1970() + 1, sizeof(time_t) > 4 ? 20000 : 4000, -31, to_1970() };

	open_bench(3);
	bench.config.threshold_days = 30;
	for (unsigned int i = 0; i < 5; i++) {
		days_ahead = wrong[i];
		CU_ASSERT_EQUAL(put(3 + i), CMN_OK);
		use(0);
		CU_ASSERT_EQUAL(cc_store_clean(bench.store, NULL), CMN_OK);
		days_ahead = 0;
		use(1);
		CU_ASSERT_EQUAL(cc_store_clean(bench.store, NULL), CMN_OK);
		CU_ASSERT_EQUAL(count_left(4 + i), 4 + i);
	}
}

/* As of two hosts, or of a container and its host. */
TEST(clocks_that_take_turns_age_nothing)
{
	open_bench(2);
	bench.config.threshold_days = 1;
	for (unsigned int i = 0; i < 100; i++) {
		days_ahead = i % 2 ? 200 : 0;
		use(i % 2);
		CU_ASSERT_EQUAL(cc_store_clean(bench.store, NULL), CMN_OK);
	}
	CU_ASSERT_EQUAL(days_of_use(), 41);
	CU_ASSERT_EQUAL(count_left(2), 2);
}

TEST(age_counts_the_days_on_which_the_cache_was_used)
{
	open_bench(3);
	bench.config.threshold_days = 3;
	/* Nobody uses it for a year; then on every second day. */
	for (unsigned int i = 0; i < 4; i++) {
		days_ahead = 365 + 2 * i;
		CU_ASSERT_EQUAL(cc_store_clean(bench.store, NULL), CMN_OK);
		CU_ASSERT_TRUE(has(1));
		use(0);
		use(0);
		if (i == 1)
			use(2);
	}
	CU_ASSERT_EQUAL(cc_store_clean(bench.store, NULL), CMN_OK);
	check_left("0-2");
}

/* As after an update: what is not known is not old. */
TEST(days_that_nobody_noted_age_nothing)
{
	open_bench(2);
	bench.config.threshold_days = 3;
	CU_ASSERT_EQUAL(unlink("root/" CC_DAYS_NAME), 0);
	set_access(0, 5);
	for (unsigned int i = 0; i < 4; i++) {
		CU_ASSERT_EQUAL(cc_store_clean(bench.store, NULL), CMN_OK);
		CU_ASSERT_TRUE(has(0));
		days_ahead = i;
		use(1);
	}
	CU_ASSERT_EQUAL(cc_store_clean(bench.store, NULL), CMN_OK);
	CU_ASSERT_FALSE(has(0));
	/* Damage is not known either, nor is a line that was cut. */
	unit_write("root/" CC_DAYS_NAME, "1\n2\n3\n4\nx\n5\n");
	CU_ASSERT_EQUAL(days_of_use(), 4);
	unit_write("root/" CC_DAYS_NAME, "1\n2\n3");
	CU_ASSERT_EQUAL(days_of_use(), 2);
}

/* It is the last one that is known: what was used on it counts as much. */
TEST(a_day_that_cannot_be_noted_is_none)
{
	struct cc_days days;
	int other;

	open_bench(1);
	unit_write("root/" CC_DAYS_NAME, "100\n300\n");
	other = open(bench.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CU_ASSERT_EQUAL(cmn_file_lock(other, 0), CMN_OK);
	CU_ASSERT_EQUAL(cc_days_note(bench.root_fd, 400 * NS_PER_DAY + 5, 0, &days), 300 * NS_PER_DAY + 5);
	CU_ASSERT_EQUAL(days_of_use(), 2);
	cc_root_unlock(other);
}

static int held = -1;		/* has the root's lock, until somebody waits for it */

WRAPPED(int, nanosleep, (const struct timespec *pause, struct timespec *left))
{
	if (held < 0)
		return __real_nanosleep(pause, left);
	cc_root_unlock(held);
	held = -1;
	return 0;
}

TEST(a_clean_up_waits_for_the_roots_lock)
{
	open_bench(2);
	unit_write("root/" CC_ACCOUNT_NAME, "1\n");
	held = open(bench.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CU_ASSERT_EQUAL(cmn_file_lock(held, 0), CMN_OK);
	CU_ASSERT_EQUAL(cc_store_clean(bench.store, NULL), CMN_OK);
	CU_ASSERT_EQUAL(held, -1);
}

TEST(a_bounded_number_of_days_is_noted)
{
	struct cc_days days;

	open_bench(1);
	used_days("root", CC_DAYS_MAX);
	cc_days_load(&days, bench.root_fd);
	for (unsigned int i = 1; i < 4; i++) {
		days_ahead = i;
		use(0);
	}
	CU_ASSERT_EQUAL(days_of_use(), CC_DAYS_MAX);
	CU_ASSERT_EQUAL(cc_days_since(&days, days.all[0] * NS_PER_DAY), CC_DAYS_MAX - 1);
	cc_days_load(&days, bench.root_fd);
	CU_ASSERT_EQUAL(days.all[CC_DAYS_MAX - 1], cmn_clock_realtime() / NS_PER_DAY);
	CU_ASSERT_EQUAL(days.all[0], days.all[CC_DAYS_MAX - 1] + 1 - CC_DAYS_MAX);
}

TEST(the_last_use_counts_whatever_clock_it_has)
{
	open_bench(6);
	set_access(2, 1);	/* long ago: nobody noted that day */
	days_ahead = to_1970() + 1;
	for (unsigned int i = 3; i < 6; i++)
		use(i);
	days_ahead = 0;
	bench.config.max_size = bound_for(bench.each * 6 - 1);
	CU_ASSERT_EQUAL(cc_store_clean(bench.store, NULL), CMN_OK);
	check_left("----45");
}

/* As in a copy whose files have new times. */
TEST(a_day_that_is_not_known_comes_after_the_one_before_it)
{
	struct cc_days days = { .all = { 100, 30000, 200, 300 }, .count = 4 };

	CU_ASSERT_EQUAL(cc_days_since(&days, 99 * NS_PER_DAY), 4);
	CU_ASSERT_EQUAL(cc_days_since(&days, 150 * NS_PER_DAY), 3);
	CU_ASSERT_EQUAL(cc_days_since(&days, 250 * NS_PER_DAY), 2);
	CU_ASSERT_EQUAL(cc_days_since(&days, 400 * NS_PER_DAY), 1);
	CU_ASSERT_TRUE(cc_days_rank(&days, 250 * NS_PER_DAY) > cc_days_rank(&days, 30000 * NS_PER_DAY));
	CU_ASSERT_TRUE(cc_days_rank(&days, 250 * NS_PER_DAY) < cc_days_rank(&days, 250 * NS_PER_DAY + 2));
	CU_ASSERT_TRUE(cc_days_rank(&days, 400 * NS_PER_DAY) < cc_days_rank(&days, 300 * NS_PER_DAY));
	CU_ASSERT_TRUE(cc_days_rank(&days, 98 * NS_PER_DAY) < cc_days_rank(&days, 99 * NS_PER_DAY));
}

TEST(disabled_it_clears_and_counts_only)
{
	open_bench(4);
	bench.config.eviction_disable = true;
	bench.config.max_size = bench.each * 4 - 1;
	bench.config.threshold_days = 1;
	for (unsigned int i = 0; i < 4; i++)
		set_access(i, 5);
	CU_ASSERT_EQUAL(cc_number_file_write(bench.root_fd, CC_ACCOUNT_NAME, 1), CMN_OK);
	CU_ASSERT_EQUAL(put(4), CMN_OK);
	CU_ASSERT_EQUAL(cc_store_clean(bench.store, NULL), CMN_OK);
	check_left("01234");
}

/* The number is counted again, and bounds the store again. */
TEST(an_account_that_is_a_directory_makes_way)
{
	for (int i = 0; i < 2; i++) {
		open_bench(6);
		CU_ASSERT_EQUAL(unlink("root/" CC_ACCOUNT_NAME), 0);
		CU_ASSERT_EQUAL(mkdir("root/" CC_ACCOUNT_NAME, 0700), 0);
		if (i)
			unit_write("root/" CC_ACCOUNT_NAME "/inner", "theirs");
		bench.config.max_size = bench.each * 3;
		CU_ASSERT_EQUAL(put(100), CMN_OK);
		CU_ASSERT_TRUE(has(100));
		CU_ASSERT_FALSE(has(0) && has(1) && has(2));
	}
}

static uint64_t on_disk;

static int add_blocks(const char *path, const struct stat *info, int kind, struct FTW *where)
{
	(void)path;
	(void)kind;
	(void)where;
	on_disk += (uint64_t)info->st_blocks * 512;
	return 0;
}

/* All that the root takes, as du counts it. */
static uint64_t disk_use(void)
{
	on_disk = 0;
	CU_ASSERT_EQUAL(nftw("root", add_blocks, 16, FTW_PHYS), 0);
	return on_disk;
}

/* Whatever a root has, also what later versions add to it. */
TEST(everything_counts)
{
	struct cc_recipe recipe = { .directory = cmn_view_of("/") };
	struct cmn_buffer encoded;
	char words[CC_REUSE_WORDS_SIZE];
	OWNED(cc_key_release) struct cc_key key;
	uint64_t total;

	open_bench(1);
	make_key(&key, 3);
	recipe.key = cc_key_view(&key);
	CU_ASSERT_EQUAL_FATAL(cc_recipe_encode(&recipe, &encoded), CMN_OK);
	CU_ASSERT_EQUAL(cc_recipes_put(bench.root, cmn_buffer_view(&encoded)), CMN_OK);
	cmn_buffer_release(&encoded);
	cc_recorder_note_cleared(bench.root);
	CU_ASSERT_EQUAL(cc_totals_fold(bench.root_fd, UINT64_MAX), CMN_OK);	/* into stats.txt and the old log */
	cc_recorder_note_cleared(bench.root);
	CU_ASSERT_TRUE(cc_reuse_is_likely(bench.root, cc_key_view(&key), 1, 1, words));
	total = account() + cc_overhead_bytes(bench.root_fd);
	CU_ASSERT_TRUE(disk_use() <= total);
	/* Files that are smaller than their file system would have them: an empty block each. */
	CU_ASSERT_TRUE(total <= disk_use() + UINT64_C(16) * 4096);
}

/* The root's other files do not push the entries out for good. */
TEST(large_files_of_its_own_go_where_the_bound_is_small)
{
	static const size_t sizes[] = { 1 << 20, 60000 }, bounds[] = { 400000, 100000 };
	static char text[1 << 20];

	memset(text, 'h', sizeof(text));
	open_bench(2);
	for (unsigned int i = 0; i < 2; i++) {
		unit_write_bytes("root/" CC_EVENTS_OLD_NAME, text, sizes[i]);
		bench.config.max_size = bounds[i];
		CU_ASSERT_EQUAL(put(2 + i), CMN_OK);
		CU_ASSERT_TRUE(has(2 + i));
		CU_ASSERT_EQUAL(access("root/" CC_EVENTS_OLD_NAME, F_OK), -1);
		CU_ASSERT_TRUE(disk_use() <= bench.config.max_size);
	}
}

/* What others add or remove while the tree is counted is in both, or in none. */
TEST(a_count_never_lowers_the_account_below_what_is_there)
{
	struct cc_account_mark mark;
	uint64_t total = 0, there;
	int fd;

	open_bench(3);
	there = bench.each * 3;
	/* Its inode stays in use: within one tick of the clock, another file of that number would be the same. */
	fd = open("root/" CC_ACCOUNT_NAME, O_RDONLY | O_CLOEXEC);
	cc_account_mark(bench.root_fd, &mark);
	CU_ASSERT_TRUE(fd >= 0 && mark.known && mark.total == there);
	/* One removed before it was counted, another stored behind the count's back. */
	CU_ASSERT_EQUAL(cc_account_add(bench.root_fd, -(int64_t)bench.each, 0), CMN_OK);
	CU_ASSERT_EQUAL(cc_account_add(bench.root_fd, (int64_t)bench.each, 0), CMN_OK);
	CU_ASSERT_EQUAL(cc_account_correct(bench.root_fd, &mark, bench.each * 2, false, 0, &total), CMN_OK);
	CU_ASSERT_EQUAL(total, there);
	(void)close(fd);
	/* Nobody was at it. */
	CU_ASSERT_EQUAL(cc_number_file_write(bench.root_fd, CC_ACCOUNT_NAME, there + 1000), CMN_OK);
	cc_account_mark(bench.root_fd, &mark);
	CU_ASSERT_EQUAL(cc_account_correct(bench.root_fd, &mark, there, true, 0, &total), CMN_OK);
	CU_ASSERT_EQUAL(total, there + 1000);
	CU_ASSERT_EQUAL(cc_account_correct(bench.root_fd, &mark, there, false, 0, &total), CMN_OK);
	CU_ASSERT_EQUAL(total, there);
}

static void *add_in_thread(void *arg)
{
	return put(1) == CMN_OK ? arg : NULL;
}

/* What an eviction meanwhile did not find would be stored without being counted. */
TEST(who_waits_for_a_directory_has_reserved_nothing)
{
	uint64_t before;
	pthread_t thread;
	void *done = NULL;
	int fd;

	open_bench(2);
	fd = lock_entry_dir(1);
	before = account();
	/* Its patience never ends. */
	monotonic = machine_clock(CLOCK_MONOTONIC);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, add_in_thread, &bench), 0);
	for (int i = 0; i < 40; i++) {
		CU_ASSERT_EQUAL(usleep(5000), 0);
		CU_ASSERT_EQUAL(account(), before);
	}
	(void)close(fd);
	CU_ASSERT_EQUAL(pthread_join(thread, &done), 0);
	CU_ASSERT_PTR_EQUAL(done, &bench);
}

TEST(leaves_an_entry_dir_that_somebody_writes_to)
{
	int fd;

	open_bench(2);
	bench.config.threshold_days = 1;
	set_access(0, 5);
	set_access(1, 5);
	fd = lock_entry_dir(0);
	CU_ASSERT_EQUAL(cc_store_clean(bench.store, NULL), CMN_OK);
	(void)close(fd);
	check_left("0-");
}

/* It would be stored without being counted. */
TEST(what_somebody_is_to_write_stays_in_the_account)
{
	uint64_t before;
	int fd;

	open_bench(3);
	fd = lock_entry_dir(0);
	CU_ASSERT_EQUAL(cc_account_add(bench.root_fd, (int64_t)bench.each, 0), CMN_OK);
	before = account();
	CU_ASSERT_EQUAL(cc_store_clean(bench.store, NULL), CMN_OK);
	CU_ASSERT_EQUAL(before, account());
	/* Killed instead: nobody is at it, and it is corrected. */
	(void)close(fd);
	CU_ASSERT_EQUAL(cc_store_clean(bench.store, NULL), CMN_OK);
}

/* Between the search and the removals. */
static void use_the_first(void *ctx)
{
	(void)ctx;
	if (bench.calls++ == 2)
		set_access(0, cmn_clock_realtime());
}

TEST(what_was_used_since_it_was_looked_at_stays)
{
	const struct cc_clean_watch watch = { .show = use_the_first };

	open_bench(2);
	bench.config.threshold_days = 1;
	set_access(0, 5);
	set_access(1, 5);
	CU_ASSERT_EQUAL(cc_clean(bench.root_fd, &bench.config, &watch), CMN_OK);
	check_left("0-");
}

/* Who is to replace cache_size.txt has the root's lock while it writes. */
TEST(a_living_writers_file_in_the_root_stays)
{
	int fd;

	open_bench(1);
	fd = open("root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CU_ASSERT_EQUAL(cmn_file_lock(fd, 0), CMN_OK);
	unit_write("root/.tmp-9-9", "12");
	CU_ASSERT_EQUAL(cc_clean(bench.root_fd, &bench.config, NULL), CMN_BUSY);
	CU_ASSERT_TRUE(there("root/.tmp-9-9"));
	(void)close(fd);
	CU_ASSERT_EQUAL(cc_clean(bench.root_fd, &bench.config, NULL), CMN_OK);
	CU_ASSERT_FALSE(there("root/.tmp-9-9"));
}

/* Many in one entry directory, too: the account is right at the end. */
TEST(all_that_is_too_old_goes)
{
	char name[32];

	open_bench(100);
	for (unsigned int n = 1; n < CC_ENTRY_DIR_VARIANTS; n++) {
		(void)snprintf(name, sizeof(name), "%u.src", n);
		unit_write(entry_dir_file(0, name), "too old");
	}
	for (unsigned int i = 0; i < 90; i++)
		set_access(i, 5);
	bench.config.threshold_days = 1;
	CU_ASSERT_EQUAL(cc_clean(bench.root_fd, &bench.config, NULL), CMN_OK);
	CU_ASSERT_EQUAL(count_left(100), 10);
	CU_ASSERT_FALSE(there(entry_dir_file(0, "")));
}

/* After each store, whatever it stores; and what was stored last is there. */
TEST(the_bound_holds_for_stores_of_many_sizes)
{
	uint64_t chance = 1;

	open_bench(2);
	bench.config.max_size = bound_for(400000);
	for (unsigned int i = 2; i < 200; i++) {
		chance = chance * UINT64_C(6364136223846793005) + 1442695040888963407;
		bench.image = 1 + (chance >> 33) % (i % 7 ? 20000 : 100000);
		CU_ASSERT_EQUAL(put(i), CMN_OK);
		CU_ASSERT_TRUE(has(i));
		CU_ASSERT_TRUE(disk_use() <= bench.config.max_size);
	}
	CU_ASSERT_TRUE(count_left(200) > 5);
}

/* Of a directory that has more names than are listed, as without chance: what was used lately stays. */
TEST(what_is_used_survives_what_is_not)
{
	/* At the end half of them are used: once in some thousand runs all that an eviction looks at is. */
	enum { ENTRIES = 600, USED = 100, NEW = 200 };
	uint64_t now = cmn_clock_realtime();
	unsigned int used = 0, unused = 0, gone;

	open_bench(ENTRIES);
	for (unsigned int i = 0; i < ENTRIES; i++)
		set_access(i, now - (i % (ENTRIES / USED) ? 3600 : 1) * UINT64_C(1000000000));
	bench.config.max_size = bound_for(bench.each * ENTRIES);
	for (unsigned int i = 0; i < NEW; i++)
		CU_ASSERT_EQUAL(put(ENTRIES + i), CMN_OK);
	for (unsigned int i = 0; i < ENTRIES; i++)
		*(i % (ENTRIES / USED) ? &unused : &used) += has(i);
	gone = ENTRIES + NEW - count_left(ENTRIES + NEW);
	CU_ASSERT_TRUE(gone > NEW / 2 && gone <= NEW);
	CU_ASSERT_TRUE(used >= USED * 98 / 100);
	CU_ASSERT_TRUE(ENTRIES - USED - unused >= gone * 98 / 100);
}

/* Each looks at what the other one has reserved, too. */
TEST(two_processes_that_store_stay_within_the_bound)
{
	int status, running = 2;
	pid_t children[2];

	open_bench(2);
	bench.config.max_size = bound_for(bench.each * 20);
	/* Neither's patience ends: each waits for the other one's locks, however busy the machine is. */
	monotonic = machine_clock(CLOCK_MONOTONIC);
	for (unsigned int c = 0; c < 2; c++) {
		children[c] = fork();
		CU_ASSERT_TRUE_FATAL(children[c] >= 0);
		if (children[c])
			continue;
		status = 0;
		for (unsigned int i = 0; i < 150; i++) {
			bench.image = 500 + i * 37 % 9000;
			status |= put(1000 * (c + 1) + i) != CMN_OK;
		}
		_exit(status);
	}
	while (running) {
		/* A walk would see what goes and what comes in its place. */
		CU_ASSERT_TRUE(account() <= bench.config.max_size);
		for (unsigned int c = 0; c < 2; c++) {
			if (children[c] && waitpid(children[c], &status, WNOHANG) == children[c]) {
				CU_ASSERT_EQUAL(status, 0);
				children[c] = 0;
				running--;
			}
		}
	}
	CU_ASSERT_TRUE(disk_use() <= bench.config.max_size);
}

static enum cmn_status put_at_once(unsigned int i)
{
	return put_within(i, 5, 0);
}

/* One goes each time, so that it gets better. */
TEST(who_has_no_time_removes_one_and_stores_nothing_that_does_not_fit)
{
	unsigned int left;

	open_bench(10);
	bench.config.max_size = bound_for(bench.each * 6);
	for (left = 9; left > 6; left--) {
		CU_ASSERT_EQUAL(put_at_once(100), CMN_ERR_TOO_LARGE);
		CU_ASSERT_EQUAL(count_left(10), left);
	}
	CU_ASSERT_EQUAL(put_at_once(100), CMN_ERR_TOO_LARGE);
	CU_ASSERT_EQUAL(put_at_once(100), CMN_OK);
	CU_ASSERT_TRUE(has(100));
	CU_ASSERT_EQUAL(count_left(10), 5);
}

TEST(a_lost_account_is_counted_by_who_stores)
{
	open_bench(4);
	bench.config.max_size = bound_for(bench.each * 8);
	CU_ASSERT_EQUAL(unlink("root/" CC_ACCOUNT_NAME), 0);
	CU_ASSERT_EQUAL(cc_account_add(bench.root_fd, 1000, 0), CMN_OK);
	CU_ASSERT_FALSE(there("root/" CC_ACCOUNT_NAME));
	CU_ASSERT_EQUAL(put(4), CMN_OK);
	CU_ASSERT_EQUAL(count_left(5), 5);
}

/* As where somebody removes directories, or died when it had reserved what it never wrote. */
TEST(a_number_that_is_too_high_is_counted_again_where_little_is_left)
{
	open_bench(3);
	bench.config.max_size = bound_for(bench.each * 8);
	CU_ASSERT_EQUAL(cc_number_file_write(bench.root_fd, CC_ACCOUNT_NAME, bench.config.max_size), CMN_OK);
	CU_ASSERT_EQUAL(put(3), CMN_OK);
	CU_ASSERT_TRUE(has(3));
	CU_ASSERT_EQUAL(counted(), account());
}

TEST(a_small_root_is_counted_however_late_it_is)
{
	open_bench(4);
	bench.config.max_size = bound_for(bench.each * 8);
	CU_ASSERT_EQUAL(unlink("root/" CC_ACCOUNT_NAME), 0);
	CU_ASSERT_EQUAL(put_at_once(4), CMN_OK);
	CU_ASSERT_EQUAL(count_left(5), 5);
	CU_ASSERT_EQUAL(counted(), account());
}

/* Until somebody counts: the root takes no more than it did. */
TEST(a_root_that_nobody_has_time_to_count_counts_as_full)
{
	open_bench(80);
	bench.config.max_size = bound_for(bench.each * 160);
	CU_ASSERT_EQUAL(unlink("root/" CC_ACCOUNT_NAME), 0);
	for (unsigned int i = 80; i < 84; i++)
		CU_ASSERT_TRUE(put_at_once(i) >= CMN_ERR_TOO_LARGE);
	CU_ASSERT_TRUE(count_left(84) <= 80);
	CU_ASSERT_TRUE(disk_use() <= bench.config.max_size);
	CU_ASSERT_EQUAL(cc_store_clean(bench.store, NULL), CMN_OK);
	CU_ASSERT_EQUAL(put_at_once(9), CMN_OK);
}

/* Nobody needs the number: it is not made up. */
TEST(a_lost_account_stays_lost_without_a_bound)
{
	open_bench(2);
	CU_ASSERT_EQUAL(unlink("root/" CC_ACCOUNT_NAME), 0);
	CU_ASSERT_EQUAL(put(2), CMN_OK);
	CU_ASSERT_FALSE(there("root/" CC_ACCOUNT_NAME));
	CU_ASSERT_EQUAL(cc_store_clean(bench.store, NULL), CMN_OK);
}

/* A few at each store, as they come by chance. */
TEST(stores_remove_what_is_too_old)
{
	open_bench(8);
	bench.config.threshold_days = 30;
	for (unsigned int i = 0; i < 4; i++)
		set_access(i, 5);
	for (unsigned int i = 0; i < 400 && count_left(4); i++)
		CU_ASSERT_EQUAL(put(8), CMN_OK);
	CU_ASSERT_EQUAL(count_left(9), 5);
}

/* Full, and order none: nothing is added and nothing goes, but what is too old. */
TEST(a_full_root_without_an_order_takes_nothing_more)
{
	uint64_t before;

	open_bench(4);
	bench.config.eviction_order = CC_EVICTION_NONE;
	bench.config.max_size = bound_for(bench.each * 4 + bench.each / 2);
	before = account();
	CU_ASSERT_EQUAL(put(100), CMN_ERR_TOO_LARGE);
	CU_ASSERT_EQUAL(before, account());
	/* The bound became smaller. */
	bench.config.max_size = bench.each * 2;
	CU_ASSERT_EQUAL(cc_store_clean(bench.store, NULL), CMN_OK);
	CU_ASSERT_EQUAL(count_left(4), 4);
	CU_ASSERT_FALSE(has(100));
	/* Age makes room. */
	bench.config.max_size = bound_for(bench.each * 4 + bench.each / 2);
	bench.config.threshold_days = 30;
	set_access(1, cmn_clock_realtime() - 31 * NS_PER_DAY);
	CU_ASSERT_EQUAL(put(100), CMN_OK);
	CU_ASSERT_FALSE(has(1));
	CU_ASSERT_TRUE(has(100));
}

static uint64_t rank_of(unsigned int i)
{
	struct cc_ranking ranking;
	char path[CC_ENTRY_DIR_PATH_SIZE] = "";
	struct cc_candidate one;
	int fd = open_entry_dir(i);

	cc_ranking_load(&ranking, bench.root_fd, &bench.config);
	cc_candidate_look(&ranking, path, fd, 0, &one);
	(void)close(fd);
	return one.rank;
}

TEST(by_cost_what_is_older_larger_or_damaged_goes_before_its_like)
{
	uint64_t now = cmn_clock_realtime();

	open_bench(0);
	bench.config.eviction_order = CC_EVICTION_COST;
	for (unsigned int i = 0; i < 4; i++) {
		/* A hundred times the bytes for twice the time. */
		bench.image = i == 2 ? 100000 : 1000;
		bench.build_ns = UINT64_C(1000000000) << (i == 2);
		CU_ASSERT_EQUAL(put(i), CMN_OK);
		set_access(i, now - (i == 1 ? 100 : 3) * UINT64_C(1000000000));
	}
	CU_ASSERT_TRUE(rank_of(1) < rank_of(0));
	CU_ASSERT_TRUE(rank_of(2) < rank_of(0));
	CU_ASSERT_EQUAL(truncate(entry_dir_file(0, "0.bin"), 1), 0);
	CU_ASSERT_EQUAL(rank_of(0), 1);	/* before all others, but not as if it were too old */
	CU_ASSERT_EQUAL(cc_store_clean(bench.store, NULL), CMN_OK);
}

TEST(clears_leftovers_and_nothing_else)
{
	static const char entry_dir[] = "root/00000000000000000000000000000000/"
				   "11111111111111111111111111111111/"
				   "22222222222222222222222222222222/"
				   "33333333333333333333333333333333/";
	static const char *const foreign[] = { "root/README", "root/notes/0.src",
					       "root/0123/.tmp-1-1", "outside/0.src" };
	char path[400];

	open_bench(1);
	for (int i = 0; i < 4; i++)
		unit_write(foreign[i], "not ours");
	unit_write("root/.tmp-9-9", "half an account");
	(void)snprintf(path, sizeof(path), "%s0.bin", entry_dir);
	unit_write(path, "a .src never came");
	(void)snprintf(path, sizeof(path), "%s.tmp-9-9", entry_dir);
	unit_write(path, "half a .bin");
	CU_ASSERT_EQUAL(mkdir("root/44444444444444444444444444444444", 0700), 0);
	CU_ASSERT_EQUAL(symlink("../outside", "root/55555555555555555555555555555555"), 0);
	CU_ASSERT_EQUAL(cc_store_clean(bench.store, NULL), CMN_OK);
	for (int i = 0; i < 4; i++)
		CU_ASSERT_TRUE(there(foreign[i]));
	CU_ASSERT_FALSE(there("root/.tmp-9-9"));
	CU_ASSERT_FALSE(there("root/00000000000000000000000000000000"));
	CU_ASSERT_FALSE(there("root/44444444444444444444444444444444"));
	CU_ASSERT_TRUE(has(0));
}

TEST(clears_leftovers_beside_an_entry)
{
	static const char *const leftovers[] = { ".tmp-9-9", "3_access_time.txt", "5.bin" };

	for (unsigned int i = 0; i < 3; i++) {
		open_bench(1);
		unit_write(entry_dir_file(0, leftovers[i]), "5\n");
		CU_ASSERT_EQUAL(cc_store_clean(bench.store, NULL), CMN_OK);
		CU_ASSERT_FALSE(there(entry_dir_file(0, leftovers[i])));
		CU_ASSERT_TRUE(has(0));
	}
}

/* Who writes it cannot show that it lives. */
TEST(half_an_entry_stays_where_there_are_no_locks)
{
	open_bench(1);
	unit_write(entry_dir_file(0, "5.bin"), "its .src is to come");
	has_no_locks = true;
	CU_ASSERT_EQUAL(cc_store_clean(bench.store, NULL), CMN_OK);
	has_no_locks = false;
	CU_ASSERT_TRUE(there(entry_dir_file(0, "5.bin")));
	CU_ASSERT_EQUAL(cc_store_clean(bench.store, NULL), CMN_OK);
	CU_ASSERT_FALSE(there(entry_dir_file(0, "5.bin")));
}

/* Only age tells it from a dead one's then. */
TEST(a_clock_that_is_ahead_takes_no_writers_file)
{
	const struct timespec old[2] = { { .tv_sec = 1000000000 }, { .tv_sec = 1000000000 } };

	open_bench(1);
	unit_write(entry_dir_file(0, ".tmp-9-9"), "half an entry");
	days_ahead = 200;
	has_no_locks = true;
	CU_ASSERT_EQUAL(cc_store_clean(bench.store, NULL), CMN_OK);
	CU_ASSERT_TRUE(there(entry_dir_file(0, ".tmp-9-9")));
	CU_ASSERT_EQUAL(utimensat(AT_FDCWD, entry_dir_file(0, ".tmp-9-9"), old, 0), 0);
	CU_ASSERT_EQUAL(cc_store_clean(bench.store, NULL), CMN_OK);
	CU_ASSERT_FALSE(there(entry_dir_file(0, ".tmp-9-9")));
	has_no_locks = false;
}

TEST(evicts_where_there_are_no_locks)
{
	open_bench(2);
	set_access(0, 5);
	bench.config.threshold_days = 1;
	has_no_locks = true;
	CU_ASSERT_EQUAL(cc_clean(bench.root_fd, &bench.config, NULL), CMN_OK);
	check_left("-1");
	has_no_locks = false;
}

struct causes {
	unsigned int by_size, by_age;
};

static void count_cause(void *ctx, enum cc_removal_cause cause, uint64_t time_ns, uint64_t entry_dir)
{
	struct causes *causes = ctx;

	(void)time_ns;
	(void)entry_dir;
	causes->by_size += cause == CC_REMOVED_BY_SIZE;
	causes->by_age += cause == CC_REMOVED_BY_AGE;
}

static void skip_part(void *ctx, const struct cmn_hash *hash, struct cmn_view outline)
{
	(void)ctx;
	(void)hash;
	(void)outline;
}

static void skip_event(void *ctx, const struct cc_event_record *event)
{
	(void)ctx;
	(void)event;
}

TEST(the_log_tells_what_was_too_old_from_what_was_too_much)
{
	struct causes causes = { 0, 0 };
	const struct cc_events_reader reader = { skip_part, skip_event, count_cause, &causes };

	open_bench(5);
	bench.config.threshold_days = 1;
	set_access(0, 5);
	CU_ASSERT_EQUAL(cc_clean(bench.root_fd, &bench.config, NULL), CMN_OK);
	CU_ASSERT_EQUAL(cc_events_read(bench.root, CMN_FILE_TRUSTED, &reader), CMN_OK);
	CU_ASSERT_TRUE(causes.by_age == 1 && causes.by_size == 0);
	bench.config.max_size = bound_for(bench.each * 4 - 1);
	CU_ASSERT_EQUAL(cc_clean(bench.root_fd, &bench.config, NULL), CMN_OK);
	causes = (struct causes){ 0, 0 };
	CU_ASSERT_EQUAL(cc_events_read(bench.root, CMN_FILE_TRUSTED, &reader), CMN_OK);
	/* In a small root the older part of the log goes, too. */
	CU_ASSERT_TRUE(causes.by_age <= 1 && causes.by_size >= 2);
}

TEST(a_reader_keeps_what_it_opened)
{
	struct cc_entry *entry;
	struct cmn_view view;
	OWNED(cc_key_release) struct cc_key key;

	open_bench(1);
	make_key(&key, 0);
	CU_ASSERT_EQUAL_FATAL(cc_store_get(bench.store, &key, NULL, SIZE_MAX, &entry, NULL), CMN_OK);
	set_access(0, 5);
	bench.config.threshold_days = 1;
	CU_ASSERT_EQUAL(cc_store_clean(bench.store, NULL), CMN_OK);
	CU_ASSERT_FALSE(has(0));
	CU_ASSERT_TRUE(cc_entry_find(entry, CC_TAG_IMAGE, 0, &view));
	CU_ASSERT_EQUAL(view.len, 1000);
	cc_entry_unref(entry);
}

TEST(by_cost_what_saves_least_goes_first)
{
	uint64_t now = cmn_clock_realtime();

	open_bench(0);
	/* The first four took a second each to build, the others a millisecond. */
	for (unsigned int i = 0; i < 8; i++) {
		bench.build_ns = i < 4 ? 1000000000 : 1000000;
		CU_ASSERT_EQUAL(put(i), CMN_OK);
		set_access(i, now - (i < 4 ? 100 : 1) * UINT64_C(1000000000));
	}
	bench.each = counted();
	bench.config.max_size = bench.each - 1;
	CU_ASSERT_EQUAL(cc_number_file_write(bench.root_fd, CC_ACCOUNT_NAME, bench.each), CMN_OK);
	bench.config.eviction_order = CC_EVICTION_COST;
	CU_ASSERT_EQUAL(cc_store_clean(bench.store, NULL), CMN_OK);
	/* Just under a half stays. */
	CU_ASSERT_EQUAL(count_left(4), 3);
	CU_ASSERT_EQUAL(count_left(8), 3);
	/* What was not used for days goes all the same. */
	for (unsigned int i = 0; i < 4; i++) {
		if (has(i))
			set_access(i, 5);
	}
	bench.config.threshold_days = 30;
	CU_ASSERT_EQUAL(cc_store_clean(bench.store, NULL), CMN_OK);
	CU_ASSERT_EQUAL(count_left(8), 0);
}

TEST(by_cost_what_was_built_at_once_stays_within_the_bound)
{
	open_bench(4);
	bench.config.eviction_order = CC_EVICTION_COST;
	bench.config.max_size = bound_for(bench.each * 8);
	CU_ASSERT_EQUAL(cc_clean(bench.root_fd, &bench.config, NULL), CMN_OK);
	CU_ASSERT_EQUAL(count_left(4), 4);
}
