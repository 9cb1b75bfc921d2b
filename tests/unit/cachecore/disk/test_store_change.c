/* SPDX-License-Identifier: MIT */
/* store_change: single entries are removed or compressed otherwise, and the account stays exact. */
#include "cachecore/disk/store.h"

#include <sys/file.h>

#include "cachecore/disk/root.h"
#include "cachecore/disk/space/account.h"
#include "common/clock.h"
#include "tests/support/unit.h"

#define LEN ((size_t)100 << 10)

static struct {
	char root[4200];
	struct cc_config config;
	struct cc_store *store;
	struct cc_store_place place;	/* of the entry that was put last */
	int root_fd;
} bench;

static const struct cmn_log silent = { .level = CMN_LOG_NONE };

static void make_key(struct cc_key *key, const char *options)
{
	cc_key_init(key);
	cc_key_add_text(key, CC_PART_DEVICE, "device", "d");
	cc_key_add_text(key, CC_PART_OPTIONS, "options", options);
}

/* Of LEN bytes: text that shrinks, or noise. */
static uint8_t *payload(bool noise)
{
	static uint8_t bytes[LEN];
	uint32_t state = 1;

	for (size_t i = 0; i < LEN; i++) {
		state = state * 1664525 + 1013904223;
		bytes[i] = noise ? (uint8_t)(state >> 24) : "kernel void f(global int *a) "[i % 29];
	}
	return bytes;
}

static void put(const char *options, bool noise, size_t len)
{
	struct cc_entry *entry = cc_entry_new(1000);
	struct cc_key key;

	make_key(&key, options);
	CU_ASSERT_PTR_NOT_NULL_FATAL(entry);
	cc_entry_add(entry, CC_TAG_IMAGE, 0, payload(noise), len);
	CU_ASSERT_EQUAL_FATAL(cc_entry_finish(entry, NULL), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(cc_store_put(bench.store, &key, entry), CMN_OK);
	cc_entry_dir_path(cc_key_view(&key), bench.place.entry_dir);
	cc_entry_unref(entry);
	cc_key_release(&key);
	if (bench.root_fd < 0)
		bench.root_fd = open(bench.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Whether a look-up gives those bytes. */
static bool is_hit(const char *options, bool noise, size_t len)
{
	struct cc_entry *entry = NULL;
	struct cc_key key;
	struct cmn_view view;
	bool same;

	make_key(&key, options);
	same = cc_store_get(bench.store, &key, NULL, SIZE_MAX, &entry, NULL) == CMN_OK &&
	       cc_entry_find(entry, CC_TAG_IMAGE, 0, &view) && view.len == len &&
	       memcmp(view.data, payload(noise), len) == 0;
	cc_entry_unref(entry);
	cc_key_release(&key);
	return same;
}

static void check_account(void)
{
	uint64_t account = 1, counted = 2;
	bool busy = true;

	CU_ASSERT_EQUAL(cc_number_file_read(bench.root_fd, CC_ACCOUNT_NAME, &account), CMN_OK);
	CU_ASSERT_EQUAL(cc_account_count(bench.root_fd, &counted, &busy), CMN_OK);
	CU_ASSERT_EQUAL(account, counted);
	CU_ASSERT_FALSE(busy);
}

static struct stat stat_of(enum cc_entry_dir_file file)
{
	char path[CC_ENTRY_DIR_FILE_PATH_SIZE];
	struct stat info;

	(void)cc_entry_dir_file_path(bench.place.entry_dir, file, bench.place.n, path);
	CU_ASSERT_EQUAL_FATAL(fstatat(bench.root_fd, path, &info, 0), 0);
	return info;
}

static enum cmn_status recompress(int level, int64_t *ret_change)
{
	const struct cc_recompression how = { .level = level };

	return cc_store_recompress(bench.store, &bench.place, &how, ret_change);
}

/* 0: it is gone. */
static uint64_t last_use(void)
{
	int fd = openat(bench.root_fd, bench.place.entry_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint64_t ns = fd < 0 ? 0 : cc_entry_dir_used_ns(fd, NULL, bench.place.n);

	if (fd >= 0)
		(void)close(fd);
	return ns;
}

/* Holds the entry directory's lock. */
static int lock_entry_dir(void)
{
	int fd = openat(bench.root_fd, bench.place.entry_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	CU_ASSERT_EQUAL_FATAL(flock(fd, LOCK_EX), 0);
	return fd;
}

BEFORE_EACH
{
	memset(&bench, 0, sizeof(bench));
	bench.root_fd = -1;
	(void)snprintf(bench.root, sizeof(bench.root), "%s/root", unit_dir());
	bench.config = (struct cc_config){
		.dir = bench.root, .persistent = true, .max_size = UINT64_C(8) << 30,
		.max_device_image_size = UINT64_C(1) << 30, .compression = CC_COMPRESSION_NONE,
	};
	CU_ASSERT_EQUAL_FATAL(cc_store_open(&bench.config, &silent, &bench.store), CMN_OK);
}

AFTER_EACH
{
	cc_store_close(bench.store);
	if (bench.root_fd >= 0)
		(void)close(bench.root_fd);
}

TEST(discards_one_entry_alone)
{
	uint64_t freed;

	put("-a", false, LEN);
	put("-b", false, LEN);
	CU_ASSERT_EQUAL(cc_store_discard(bench.store, &bench.place, last_use(), &freed), CMN_OK);
	CU_ASSERT_TRUE(freed > LEN);
	CU_ASSERT_FALSE(is_hit("-b", false, LEN));
	CU_ASSERT_TRUE(is_hit("-a", false, LEN));
	check_account();
	/* With its directories. */
	CU_ASSERT_NOT_EQUAL(faccessat(bench.root_fd, bench.place.entry_dir, F_OK, 0), 0);
	CU_ASSERT_EQUAL(cc_store_discard(bench.store, &bench.place, last_use(), &freed), CMN_MISS);
	CU_ASSERT_EQUAL(freed, 0);
	check_account();
}

TEST(does_not_discard_what_was_used_meanwhile)
{
	uint64_t freed;

	put("-a", false, LEN);
	CU_ASSERT_EQUAL(cc_store_discard(bench.store, &bench.place, last_use() - 1, &freed), CMN_STALE);
	/* By a clock that is behind. */
	CU_ASSERT_EQUAL(cc_store_discard(bench.store, &bench.place, last_use() + 1, &freed), CMN_STALE);
	CU_ASSERT_EQUAL(freed, 0);
	CU_ASSERT_TRUE(is_hit("-a", false, LEN));
	CU_ASSERT_EQUAL(cc_store_discard(bench.store, &bench.place, last_use(), &freed), CMN_OK);
	check_account();
}

TEST(waits_for_no_writer_for_ever)
{
	int64_t change;
	uint64_t freed;
	int fd;

	put("-a", false, LEN);
	cc_store_set_patience(bench.store, 1000000);
	fd = lock_entry_dir();
	CU_ASSERT_EQUAL(cc_store_discard(bench.store, &bench.place, last_use(), &freed), CMN_BUSY);
	CU_ASSERT_EQUAL(recompress(6, &change), CMN_BUSY);
	CU_ASSERT_EQUAL(change, 0);
	(void)close(fd);
	CU_ASSERT_TRUE(is_hit("-a", false, LEN));
	check_account();
}

TEST(changes_nothing_that_is_read_only)
{
	const struct cc_recompression dry = { .level = 6, .dry_run = true };
	int64_t change;
	uint64_t freed;

	put("-a", false, LEN);
	bench.config.read_only = true;
	CU_ASSERT_EQUAL(cc_store_discard(bench.store, &bench.place, last_use(), &freed), CMN_ERR_ACCESS);
	CU_ASSERT_EQUAL(recompress(6, &change), CMN_ERR_ACCESS);
	CU_ASSERT_EQUAL(cc_store_recompress(bench.store, &bench.place, &dry, &change), CMN_OK);
	CU_ASSERT_TRUE(change < 0);
	CU_ASSERT_TRUE(is_hit("-a", false, LEN));
}

TEST(compresses_and_keeps_everything_else)
{
	const struct cc_recompression dry = { .level = 6, .dry_run = true };
	struct stat src, bin;
	int64_t expected, change;

	put("-a", false, LEN);
	src = stat_of(CC_ENTRY_DIR_SRC);
	bin = stat_of(CC_ENTRY_DIR_BIN);
	CU_ASSERT_EQUAL(cc_store_recompress(bench.store, &bench.place, &dry, &expected), CMN_OK);
	CU_ASSERT_EQUAL(stat_of(CC_ENTRY_DIR_BIN).st_ino, bin.st_ino);
	CU_ASSERT_EQUAL(recompress(6, &change), CMN_OK);
	CU_ASSERT_TRUE(stat_of(CC_ENTRY_DIR_BIN).st_size < (off_t)LEN / 10);
	CU_ASSERT_EQUAL(change, expected);
	CU_ASSERT_EQUAL(stat_of(CC_ENTRY_DIR_SRC).st_ino, src.st_ino);
	CU_ASSERT_EQUAL(stat_of(CC_ENTRY_DIR_SRC).st_mtim.tv_nsec, src.st_mtim.tv_nsec);
	CU_ASSERT_NOT_EQUAL(stat_of(CC_ENTRY_DIR_BIN).st_ino, bin.st_ino);
	CU_ASSERT_EQUAL(stat_of(CC_ENTRY_DIR_BIN).st_mtim.tv_sec, bin.st_mtim.tv_sec);
	CU_ASSERT_EQUAL(stat_of(CC_ENTRY_DIR_BIN).st_mtim.tv_nsec, bin.st_mtim.tv_nsec);
	CU_ASSERT_TRUE(is_hit("-a", false, LEN));
	CU_ASSERT_EQUAL(cc_store_judge(bench.store, &bench.place), CMN_OK);
	check_account();
	/* Once is enough. */
	bin = stat_of(CC_ENTRY_DIR_BIN);
	CU_ASSERT_EQUAL(recompress(6, &change), CMN_STALE);
	CU_ASSERT_EQUAL(recompress(1, &change), CMN_STALE);
	CU_ASSERT_EQUAL(stat_of(CC_ENTRY_DIR_BIN).st_ino, bin.st_ino);
}

TEST(makes_raw_again_what_is_to_be_raw)
{
	int64_t smaller, larger;

	put("-a", false, LEN);
	CU_ASSERT_EQUAL(recompress(9, &smaller), CMN_OK);
	CU_ASSERT_EQUAL(recompress(CC_COMPRESSION_NONE, &larger), CMN_OK);
	CU_ASSERT_EQUAL(larger, -smaller);
	CU_ASSERT_TRUE(is_hit("-a", false, LEN));
	check_account();
	CU_ASSERT_EQUAL(recompress(CC_COMPRESSION_NONE, &larger), CMN_STALE);
	CU_ASSERT_EQUAL(larger, 0);
}

/* As the layer does it: by the time that the driver takes to load it. */
TEST(compresses_automatically_only_for_slow_drivers)
{
	struct cc_recompression how = { .level = CC_COMPRESSION_AUTO };
	int64_t change;

	put("-a", false, LEN);
	CU_ASSERT_EQUAL(cc_store_recompress(bench.store, &bench.place, &how, &change), CMN_STALE);
	how.load_rate = 1000;
	CU_ASSERT_EQUAL(cc_store_recompress(bench.store, &bench.place, &how, &change), CMN_OK);
	CU_ASSERT_TRUE(change < 0);
	CU_ASSERT_EQUAL(cc_store_recompress(bench.store, &bench.place, &how, &change), CMN_STALE);
	how.load_rate = 0;
	CU_ASSERT_EQUAL(cc_store_recompress(bench.store, &bench.place, &how, &change), CMN_OK);
	CU_ASSERT_TRUE(change > 0);
	check_account();
}

TEST(leaves_what_gains_nothing)
{
	int64_t change;

	put("-noise", true, LEN);
	CU_ASSERT_EQUAL(recompress(9, &change), CMN_STALE);
	put("-small", false, 2000);	/* as many blocks either way */
	CU_ASSERT_EQUAL(recompress(9, &change), CMN_STALE);
	CU_ASSERT_TRUE(is_hit("-noise", true, LEN));
	CU_ASSERT_TRUE(is_hit("-small", false, 2000));
	check_account();
}

TEST(leaves_what_is_damaged)
{
	char path[CC_ENTRY_DIR_FILE_PATH_SIZE];
	int64_t change;
	struct stat before;
	int fd;

	put("-a", false, LEN);
	(void)cc_entry_dir_file_path(bench.place.entry_dir, CC_ENTRY_DIR_BIN, 0, path);
	fd = openat(bench.root_fd, path, O_WRONLY | O_CLOEXEC);
	CU_ASSERT_EQUAL_FATAL(pwrite(fd, "x", 1, 5000), 1);
	(void)close(fd);
	before = stat_of(CC_ENTRY_DIR_BIN);
	CU_ASSERT_EQUAL(recompress(6, &change), CMN_ERR_CORRUPT);
	CU_ASSERT_EQUAL(stat_of(CC_ENTRY_DIR_BIN).st_ino, before.st_ino);
	CU_ASSERT_EQUAL(stat_of(CC_ENTRY_DIR_BIN).st_mtim.tv_nsec, before.st_mtim.tv_nsec);
}

TEST(grows_within_the_bound_alone)
{
	int64_t change;

	bench.config.compression = 9;
	put("-a", false, LEN);
	bench.config.max_size = LEN / 2;
	CU_ASSERT_EQUAL(recompress(CC_COMPRESSION_NONE, &change), CMN_ERR_TOO_LARGE);
	CU_ASSERT_TRUE(is_hit("-a", false, LEN));
	check_account();
	bench.config.max_size = 0;
	CU_ASSERT_EQUAL(recompress(CC_COMPRESSION_NONE, &change), CMN_OK);
	check_account();
}

TEST(a_full_disk_leaves_the_old_file)
{
	int64_t change;

	bench.config.compression = 9;
	put("-a", false, LEN);
	unit_limit_files(LEN / 2);
	CU_ASSERT_TRUE(recompress(CC_COMPRESSION_NONE, &change) < 0);
	unit_limit_files(RLIM_INFINITY);
	CU_ASSERT_EQUAL(change, 0);
	CU_ASSERT_TRUE(is_hit("-a", false, LEN));
	check_account();
}

/* Children that are killed at any time: the entry is always whole, and never less is accounted than is there. */
TEST(killed_at_any_time_the_entry_is_whole)
{
	uint64_t account, counted;
	int64_t change;

	put("-a", false, LEN);
	for (unsigned int i = 0; i < 40; i++) {
		pid_t child = fork();

		if (child == 0) {
			for (int level = 9;; level = 9 - level)	/* 9 and none in turn */
				(void)!recompress(level, &change);
		}
		(void)usleep(500 + i * 137 % 3000);
		(void)kill(child, SIGKILL);
		CU_ASSERT_EQUAL(waitpid(child, NULL, 0), child);
		CU_ASSERT_TRUE(is_hit("-a", false, LEN));
		CU_ASSERT_EQUAL(cc_number_file_read(bench.root_fd, CC_ACCOUNT_NAME, &account), CMN_OK);
		CU_ASSERT_EQUAL(cc_account_count(bench.root_fd, &counted, NULL), CMN_OK);
		CU_ASSERT_TRUE(account >= counted);
	}
	CU_ASSERT_EQUAL(cc_store_clean(bench.store, NULL), CMN_OK);
	check_account();
	CU_ASSERT_TRUE(is_hit("-a", false, LEN));
}

/* Processes that compress, decompress, remove and store the same entry: never wrong bytes, and an exact account. */
TEST(many_at_once_agree_on_the_account)
{
	pid_t children[4];
	int status;

	put("-a", false, LEN);
	/* Who waits in vain for the root's lock leaves the account too high. */
	cc_store_set_patience(bench.store, UINT64_C(3600000000000));
	for (size_t i = 0; i < 4; i++) {
		children[i] = fork();
		if (children[i] != 0)
			continue;
		for (int round = 0; round < 60; round++) {
			int64_t change;
			uint64_t freed;

			if (i < 2)
				(void)!recompress(i ? 9 : CC_COMPRESSION_NONE, &change);
			else if (i == 2)
				put("-a", false, LEN);
			else if (round % 7 == 0)
				(void)!cc_store_discard(bench.store, &bench.place, last_use(), &freed);
		}
		_exit(0);
	}
	for (size_t i = 0; i < 4; i++) {
		CU_ASSERT_EQUAL(waitpid(children[i], &status, 0), children[i]);
		CU_ASSERT_EQUAL(status, 0);
	}
	put("-a", false, LEN);
	CU_ASSERT_TRUE(is_hit("-a", false, LEN));
	check_account();
}
