/* SPDX-License-Identifier: MIT */
/* crash_store: stores, removals and access times, cut at every point. */
#include "common/clock.h"
#include "tests/crash/bench.h"
#include "tests/crash/effort.h"
#include "tests/support/touch.h"
#include "tests/support/unit.h"

#define NS_PER_DAY (UINT64_C(86400) * 1000000000)

static struct effort effort;
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
TEST(a_leaf_that_is_full)
{
	uint64_t now = cmn_clock_realtime();
	char name[CC_LEAF_NAME_SIZE], text[32];
	int fd, file, len;

	bench_open(&bench, "full_leaf", 0);
	bench.headers = true;
	for (unsigned int v = 0; v < CC_LEAF_VARIANTS; v++)
		bench_put(&bench, 1, v);
	fd = bench_open_leaf(&bench, 1);
	cc_leaf_name(CC_LEAF_ACCESS, 3, name);
	file = openat(fd, name, O_WRONLY | O_TRUNC | O_CLOEXEC);
	len = snprintf(text, sizeof(text), "%llu\n", (unsigned long long)(now - NS_PER_DAY));
	CU_ASSERT_EQUAL(write(file, text, (size_t)len), len);
	(void)close(file);
	(void)close(fd);
	bench_sync(&bench);
	bench.kept[1][3] = false;
	bench.full = true;
	bench_put(&bench, 1, CC_LEAF_VARIANTS);
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
	int fd = bench_open_leaf(&bench, id);
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

static void touch(unsigned int id)
{
	struct cc_store_place place = { .n = 0 };
	struct cc_key key;

	bench_key(&key, id);
	cc_leaf_path(cc_key_view(&key), place.leaf);
	cc_key_release(&key);
	touch_place(bench.store, &place);
}

/* In place over an old number; over a longer one, which is cut; and where there is none. */
TEST(touches)
{
	uint64_t now = cmn_clock_realtime();
	int fd;

	bench_open(&bench, "touch", 0);
	for (unsigned int id = 0; id < 3; id++)
		bench_put(&bench, id, 0);
	bench_set_access(&bench, 0, now - NS_PER_DAY);
	bench_set_access(&bench, 1, UINT64_MAX);
	fd = bench_open_leaf(&bench, 2);
	CU_ASSERT_EQUAL(unlinkat(fd, "0_access_time.txt", 0), 0);
	(void)close(fd);
	bench_sync(&bench);
	for (unsigned int id = 0; id < 3; id++)
		touch(id);
	CU_ASSERT(bench.tape.count >= bench.durable + 6);
	bench_close(&bench, &effort);
}

int main(int argc, char **argv)
{
	effort = effort_of(argc, argv);
	return unit_run(NULL);
}
