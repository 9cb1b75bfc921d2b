/* SPDX-License-Identifier: MIT */
/* account: sums that are lost, too large or too small, and what a count sees of others. */
#include "cachecore/disk/space/account.h"

#include <sys/file.h>

#include "cachecore/disk/root.h"
#include "common/file.h"
#include "common/listing.h"
#include "tests/support/no_locks.h"
#include "tests/support/unit.h"
#include "tests/support/wrap.h"

#define GIB (UINT64_C(1) << 30)
#define BOUND (64 * GIB)

static bool cannot_be_listed, is_removed;

WRAPPED(bool, cmn_listing_open, (struct cmn_listing *listing, int dir_fd, const char *path))
{
	return !cannot_be_listed && __real_cmn_listing_open(listing, dir_fd, path);
}

/* Of the entry directory that is looked at. */
WRAPPED(enum cmn_status, cc_entry_dir_scan, (int entry_dir_fd, struct cc_entry_dir_scan *ret))
{
	return is_removed ? CMN_MISS : __real_cc_entry_dir_scan(entry_dir_fd, ret);
}

static int root_fd;

BEFORE_EACH
{
	CU_ASSERT_EQUAL_FATAL(mkdir("root", 0700), 0);
	root_fd = open("root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CU_ASSERT_FATAL(root_fd >= 0);
}

AFTER_EACH
{
	has_no_locks = cannot_be_listed = is_removed = false;
	(void)close(root_fd);
}

static void set_number(uint64_t value)
{
	CU_ASSERT_EQUAL_FATAL(cc_number_file_write(root_fd, CC_ACCOUNT_NAME, value), CMN_OK);
}

static uint64_t number(void)
{
	uint64_t value = 77;

	CU_ASSERT_EQUAL(cc_number_file_read(root_fd, CC_ACCOUNT_NAME, &value), CMN_OK);
	return value;
}

TEST(differences_stop_at_the_ends)
{
	set_number(10);
	CU_ASSERT_EQUAL(cc_account_add(root_fd, -20, 0), CMN_OK);
	CU_ASSERT_EQUAL(number(), 0);
	set_number(UINT64_MAX - 1);
	CU_ASSERT_EQUAL(cc_account_add(root_fd, 5, 0), CMN_OK);
	CU_ASSERT_EQUAL(number(), UINT64_MAX);
	CU_ASSERT_EQUAL(cc_account_add(root_fd, -5, 0), CMN_OK);
	CU_ASSERT_EQUAL(number(), UINT64_MAX - 5);
}

TEST(is_kept_where_there_are_no_locks)
{
	set_number(10);
	has_no_locks = true;
	CU_ASSERT_EQUAL(cc_account_add(root_fd, 5, 0), CMN_OK);
	CU_ASSERT_EQUAL(number(), 15);
}

TEST(a_lost_number_is_no_number)
{
	uint64_t total = 77;

	/* A new root has none, and nothing to be counted. */
	CU_ASSERT_EQUAL(cc_account_sum(root_fd, 5, BOUND, &total), CMN_OK);
	CU_ASSERT_EQUAL(total, 5);
	CU_ASSERT_EQUAL_FATAL(mkdirat(root_fd, "0123456789abcdef0123456789abcdef", 0700), 0);
	CU_ASSERT_EQUAL(cc_account_sum(root_fd, 5, BOUND, &total), CMN_MISS);
	CU_ASSERT_EQUAL(cc_account_sum(root_fd, 5, UINT64_MAX, &total), CMN_MISS);
}

TEST(a_root_that_cannot_be_listed_may_have_entries)
{
	uint64_t total = 77;

	cannot_be_listed = true;
	CU_ASSERT_EQUAL(cc_account_sum(root_fd, 5, BOUND, &total), CMN_MISS);
	CU_ASSERT_EQUAL(total, 77);
}

/* The number that a count leaves which others changed meanwhile. */
static uint64_t corrected(uint64_t before, uint64_t now, uint64_t counted, bool busy)
{
	struct cc_account_mark mark;
	uint64_t total = 77;

	set_number(before);
	cc_account_mark(root_fd, &mark);
	set_number(now);
	mark.inode = 0;		/* another file, whatever number it got */
	CU_ASSERT_EQUAL(cc_account_correct(root_fd, &mark, counted, busy, 0, &total), CMN_OK);
	CU_ASSERT_EQUAL(total, number());
	return total;
}

TEST(a_number_that_changed_meanwhile_is_corrected_by_what_is_sure)
{
	/* Never below what was counted. */
	CU_ASSERT_EQUAL(corrected(10, 20, 1000, false), 1000);
	CU_ASSERT_EQUAL(corrected(10, 20, 1000, true), 1000);
	/* What was added meanwhile may not have been counted. */
	CU_ASSERT_EQUAL(corrected(0, 8 * GIB, 0, false), 8 * GIB);
	/* What nobody removes within a count was never there. */
	CU_ASSERT_EQUAL(corrected(8 * GIB, 8 * GIB, 0, false), GIB);
	CU_ASSERT_EQUAL(corrected(100, 100, 0, false), 100);
	/* Unless somebody writes, whose bytes are in the number only. */
	CU_ASSERT_EQUAL(corrected(8 * GIB, 8 * GIB, 0, true), 8 * GIB);
}

TEST(a_number_has_changed_where_anything_of_its_file_has)
{
	struct cc_account_mark mark;
	uint64_t total;

	for (int field = 0; field < 4; field++) {
		set_number(8 * GIB);
		cc_account_mark(root_fd, &mark);
		mark.inode += field == 1;
		mark.changed_ns += field == 2;
		mark.total -= field == 3;
		CU_ASSERT_EQUAL(cc_account_correct(root_fd, &mark, 0, false, 0, &total), CMN_OK);
		CU_ASSERT_EQUAL(total, field ? GIB + (field == 3) : 0);
	}
}

static int make_entry_dir(void)
{
	struct cmn_hash hashes[CC_PART_COUNT] = { 0 };
	char path[CC_ENTRY_DIR_PATH_SIZE];
	int fd = -1;

	cc_entry_dir_path_by(hashes, path);
	CU_ASSERT_EQUAL_FATAL(cc_entry_dir_make(root_fd, path, 0700, &fd), CMN_OK);
	return fd;
}

static void make_file(int entry_dir_fd, const char *name)
{
	int fd = openat(entry_dir_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL(write(fd, "some bytes", 10), 10);
	(void)close(fd);
}

static void make_entry(int entry_dir_fd, unsigned int n)
{
	char name[CC_ENTRY_DIR_NAME_SIZE];

	cc_entry_dir_name(CC_ENTRY_DIR_SRC, n, name);
	make_file(entry_dir_fd, name);
	cc_entry_dir_name(CC_ENTRY_DIR_BIN, n, name);
	make_file(entry_dir_fd, name);
}

static uint64_t count(bool *ret_busy)
{
	uint64_t total = 77;

	CU_ASSERT_EQUAL(cc_account_count(root_fd, &total, ret_busy), CMN_OK);
	return total;
}

TEST(each_state_of_an_entry_counts)
{
	int entry_dir_fd = make_entry_dir();
	uint64_t one, both;
	bool busy = true;

	make_entry(entry_dir_fd, 0);
	one = count(&busy);
	CU_ASSERT_FALSE(busy);
	CU_ASSERT_TRUE(one > 0);
	CU_ASSERT_EQUAL(one, cc_entry_dir_bytes(entry_dir_fd, 0));
	/* Half of one is swept without being counted. */
	make_file(entry_dir_fd, "7.bin");
	CU_ASSERT_EQUAL(count(NULL), one);
	make_entry(entry_dir_fd, 5);
	both = count(NULL);
	CU_ASSERT_TRUE(both > one);
	CU_ASSERT_EQUAL(both, cc_entry_dir_bytes(entry_dir_fd, 0) + cc_entry_dir_bytes(entry_dir_fd, 5));
	/* Removed after it was listed. */
	is_removed = true;
	CU_ASSERT_EQUAL(count(NULL), 0);
	(void)close(entry_dir_fd);
}

TEST(a_count_sees_who_writes_and_what_the_dead_left)
{
	int entry_dir_fd = make_entry_dir();
	bool busy = true;

	make_entry(entry_dir_fd, 0);
	(void)count(&busy);
	CU_ASSERT_FALSE(busy);
	CU_ASSERT_EQUAL_FATAL(flock(entry_dir_fd, LOCK_EX | LOCK_NB), 0);
	(void)count(&busy);
	CU_ASSERT_TRUE(busy);
	CU_ASSERT_EQUAL(flock(entry_dir_fd, LOCK_UN), 0);
	make_file(entry_dir_fd, CMN_FILE_TEMPORARY_PREFIX "1-2-3");
	(void)count(&busy);
	CU_ASSERT_TRUE(busy);
	(void)close(entry_dir_fd);
}

TEST(only_a_file_of_one_number_is_a_number)
{
	uint64_t value = 77;

	unit_write_bytes("root/number", "12\n", 3);
	CU_ASSERT_EQUAL(cc_number_file_read(root_fd, "number", &value), CMN_OK);
	CU_ASSERT_EQUAL(value, 12);
	value = 77;
	CU_ASSERT_EQUAL_FATAL(symlinkat("number", root_fd, "link"), 0);
	CU_ASSERT_NOT_EQUAL(cc_number_file_read(root_fd, "link", &value), CMN_OK);
	unit_write_bytes("root/number", "1\0" "2\n", 4);
	CU_ASSERT_EQUAL(cc_number_file_read(root_fd, "number", &value), CMN_ERR_CORRUPT);
	CU_ASSERT_EQUAL(value, 77);
}
