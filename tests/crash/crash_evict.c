/* SPDX-License-Identifier: MIT */
/* crash_evict: evictions and the account, cut at every point. */
#include "cachecore/disk/space/account.h"
#include "cachecore/disk/space/days.h"
#include "cachecore/disk/space/evict.h"
#include "common/clock.h"
#include "common/file.h"
#include "tests/crash/bench.h"
#include "tests/crash/effort.h"
#include "tests/support/unit.h"

#define NS_PER_DAY (UINT64_C(86400) * 1000000000)
#define ENTRIES 16

static struct bench bench;

static int open_root(void)
{
	int fd = open(bench.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	CU_ASSERT_TRUE_FATAL(fd >= 0);
	return fd;
}

static uint64_t total(void)
{
	uint64_t bytes = 0;
	int fd = open_root();

	CU_ASSERT_EQUAL(cc_account_count(fd, &bytes, NULL), CMN_OK);
	(void)close(fd);
	return bytes;
}

/* The higher the number, the later it was used. */
static void put_entries(unsigned int count)
{
	uint64_t now = cmn_clock_realtime();

	for (unsigned int id = 0; id < count; id++) {
		bench_put(&bench, id, 0);
		bench_set_access(&bench, id, now - NS_PER_DAY + id * UINT64_C(1000000000));
	}
}

/* What is gone now need not be found; what is still there must be, whenever it is cut. */
static unsigned int forget_what_is_gone(void)
{
	unsigned int left = 0;

	for (unsigned int id = 0; id < BENCH_KEYS; id++) {
		if (bench_get(&bench, id))
			left++;
		else
			bench_forget(&bench, id);
	}
	return left;
}

TEST(by_size)
{
	unsigned int left;

	bench_open(&bench, "eviction", 0);
	put_entries(ENTRIES);
	bench_sync(&bench);
	bench.config.max_size = total() - 1;
	CU_ASSERT_EQUAL(cc_store_clean(bench.store, NULL), CMN_OK);
	left = forget_what_is_gone();
	CU_ASSERT(left > 0 && left < ENTRIES);
	bench_close(&bench, &effort);
}

/* On each of the last days. */
static void use_for_days(unsigned int count)
{
	uint64_t now = cmn_clock_realtime();
	struct cc_days days;
	int fd = open_root();

	while (count--)
		(void)cc_days_note(fd, now - count * NS_PER_DAY, UINT64_MAX, &days);
	(void)close(fd);
}

TEST(by_age)
{
	bench_open(&bench, "eviction_by_age", 0);
	put_entries(6);
	for (unsigned int id = 0; id < 3; id++)
		bench_set_access(&bench, id, 1);
	use_for_days(100);
	bench_sync(&bench);
	CU_ASSERT_EQUAL(cc_store_clean(bench.store, NULL), CMN_OK);
	CU_ASSERT_EQUAL(forget_what_is_gone(), 3);
	bench_close(&bench, &effort);
}

TEST(by_a_store_over_the_bound)
{
	bench_open(&bench, "store_and_eviction", 0);
	put_entries(8);
	bench_sync(&bench);
	bench.config.max_size = total() + 10;
	bench_put(&bench, 8, 0);
	CU_ASSERT_FALSE(bench_get(&bench, 0));
	(void)forget_what_is_gone();
	bench_close(&bench, &effort);
}

TEST(with_nothing_on_disk)
{
	bench_open(&bench, "unsynced_eviction", 0);
	put_entries(5);
	bench.config.max_size = total() - 1;
	CU_ASSERT_EQUAL(cc_store_clean(bench.store, NULL), CMN_OK);
	bench_put(&bench, 0, 1);
	bench_close(&bench, &effort);
}

static void make_file(int dir_fd, const char *name, const char *text)
{
	struct cmn_view view = cmn_view_of(text);

	CU_ASSERT_EQUAL(cmn_file_publish(dir_fd, name, &view, 1), CMN_OK);
}

TEST(of_what_dead_writers_left)
{
	int fd;

	bench_open(&bench, "leftovers", 0);
	put_entries(3);
	fd = bench_open_entry_dir(&bench, 1);
	make_file(fd, ".tmp-9-9", "half a .bin");
	make_file(fd, "7.bin", "a .src never came");
	(void)close(fd);
	fd = bench_open_entry_dir(&bench, 2);
	CU_ASSERT_EQUAL(unlinkat(fd, "0.src", 0), 0);
	(void)close(fd);
	fd = open_root();
	make_file(fd, ".tmp-9-9", "half an account");
	CU_ASSERT_EQUAL(mkdirat(fd, "44444444444444444444444444444444", 0700), 0);
	(void)close(fd);
	bench_sync(&bench);
	bench_forget(&bench, 2);
	CU_ASSERT_EQUAL(cc_store_clean(bench.store, NULL), CMN_OK);
	bench_close(&bench, &effort);
}

/* The next store counts. */
TEST(of_a_damaged_account)
{
	int fd;

	bench_open(&bench, "account", 0);
	put_entries(3);
	fd = open_root();
	make_file(fd, CC_ACCOUNT_NAME, "many");
	(void)close(fd);
	bench_sync(&bench);
	bench_put(&bench, 3, 0);
	bench_remove(&bench, 3);
	bench_close(&bench, &effort);
}
