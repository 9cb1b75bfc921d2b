/* SPDX-License-Identifier: MIT */
/* crash_store: stores, removals and access times, cut at every point. */
#include "common/clock.h"
#include "tests/crash/bench.h"
#include "tests/crash/effort.h"
#include "tests/support/unit.h"

#define NS_PER_DAY (UINT64_C(86400) * 1000000000)

static struct bench bench;

TEST(first_store_in_no_root)
{
	bench_open(&bench, "first_store", 0);
	bench_put(&bench, 0, 0);
	bench_close(&bench, &effort);
}

/* The second has its first two levels in common with the first. */
TEST(a_second_entry)
{
	bench_open(&bench, "second_store", 0);
	bench_put(&bench, 1, 0);
	bench_put(&bench, 5, 0);
	bench_sync(&bench);
	bench_put(&bench, 2, 0);
	bench_close(&bench, &effort);
}

TEST(the_same_key_again)
{
	bench_open(&bench, "replacing_store", 0);
	bench_put(&bench, 0, 0);
	bench_put(&bench, 1, 0);
	bench_sync(&bench);
	bench_put(&bench, 0, 1);
	bench_close(&bench, &effort);
}

TEST(the_same_key_thrice_with_nothing_on_disk)
{
	bench_open(&bench, "replacing_stores", 0);
	for (unsigned int v = 0; v < 3; v++)
		bench_put(&bench, 0, v);
	bench_close(&bench, &effort);
}

TEST(several_entries_with_nothing_on_disk)
{
	bench_open(&bench, "several_stores", 0);
	for (unsigned int id = 0; id < 4; id++)
		bench_put(&bench, id, 0);
	bench_put(&bench, 1, 1);
	bench_close(&bench, &effort);
}

/* Two states of a header are two entries of one key: each is a hit beside its own alone. */
TEST(an_entry_with_a_manifest)
{
	bench_open(&bench, "store_with_manifest", 0);
	bench.headers = true;
	bench_put(&bench, 1, 0);
	bench_sync(&bench);
	bench_put(&bench, 1, 1);
	bench_put(&bench, 2, 0);
	bench_close(&bench, &effort);
}

/* The oldest state's number is used again, for files of the same names. */
TEST(an_entry_dir_that_is_full)
{
	uint64_t now = cmn_clock_realtime();
	int fd;

	bench_open(&bench, "full_entry_dir", 0);
	bench.headers = true;
	for (unsigned int v = 0; v < CC_ENTRY_DIR_VARIANTS; v++)
		bench_put(&bench, 1, v);
	fd = bench_open_entry_dir(&bench, 1);
	cc_entry_dir_note_use(fd, NULL, 3, now - NS_PER_DAY);
	(void)close(fd);
	bench_sync(&bench);
	bench.kept[1][3] = false;
	bench.full = true;
	bench_put(&bench, 1, CC_ENTRY_DIR_VARIANTS);
	CU_ASSERT_TRUE(bench_get(&bench, 1));
	bench_set_header(3);
	CU_ASSERT_FALSE(bench_get(&bench, 1));
	bench_close(&bench, &effort);
}

TEST(a_removal)
{
	bench_open(&bench, "removal", 0);
	bench_put(&bench, 0, 0);
	bench_put(&bench, 1, 0);
	bench_sync(&bench);
	bench_remove(&bench, 0);
	bench_close(&bench, &effort);
}

TEST(a_removal_and_a_store_of_the_same)
{
	bench_open(&bench, "removal_and_store", 0);
	bench_put(&bench, 0, 0);
	bench_sync(&bench);
	bench_remove(&bench, 0);
	bench_put(&bench, 0, 1);
	bench_close(&bench, &effort);
}

static void damage(unsigned int id, const char *name)
{
	int fd = bench_open_entry_dir(&bench, id);
	int file = openat(fd, name, O_WRONLY | O_CLOEXEC);

	CU_ASSERT_EQUAL(pwrite(file, "damage", 6, 100), 6);
	(void)close(file);
	(void)close(fd);
	bench.stored[id][0] = false;
}

TEST(removals_of_damaged_entries)
{
	bench_open(&bench, "damaged", 0);
	for (unsigned int id = 0; id < 3; id++)
		bench_put(&bench, id, 0);
	damage(0, "0.bin");
	damage(1, "0.src");
	bench_sync(&bench);
	CU_ASSERT_FALSE(bench_get(&bench, 0));
	CU_ASSERT_FALSE(bench_get(&bench, 1));
	bench_close(&bench, &effort);
}
