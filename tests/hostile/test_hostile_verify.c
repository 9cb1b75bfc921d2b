/* SPDX-License-Identifier: MIT */
/* test_hostile_verify: what ckcache verify finds, corrects and, if asked, removes. */
#include "cachecore/disk/space/account.h"
#include "cachecore/disk/space/evict.h"
#include "tests/hostile/hostile.h"
#include "tests/support/unit.h"

static bool exists(const struct hostile *hostile, const char *relative)
{
	struct stat info;

	return lstat(hostile_path(hostile, relative), &info) == 0;
}

static const char *in_entry_dir(const struct hostile *hostile, const char *name)
{
	static char relative[CC_ENTRY_DIR_PATH_SIZE + 64];

	(void)snprintf(relative, sizeof(relative), "%s/%s", hostile->entry_dir, name);
	return relative;
}

/* What cache_size.txt says less what is there; INT64_MAX: it says nothing. */
static int64_t account_error(const struct hostile *hostile)
{
	int fd = open(hostile->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint64_t said, counted = 0;
	int64_t error = INT64_MAX;

	CU_ASSERT_TRUE_FATAL(fd >= 0);
	CU_ASSERT_EQUAL(cc_account_count(fd, &counted, NULL), CMN_OK);
	if (cc_number_file_read(fd, CC_ACCOUNT_NAME, &said) == CMN_OK)
		error = (int64_t)(said - counted);
	(void)close(fd);
	return error;
}

static void set_account(const struct hostile *hostile, const char *text)
{
	(void)unlink(hostile_path(hostile, CC_ACCOUNT_NAME));
	if (text)
		unit_write(hostile_path(hostile, CC_ACCOUNT_NAME), text);
}

TEST(a_wrong_account_is_corrected_and_is_no_damage)
{
	static const char *const texts[] = { "0\n", "5\n", "18446744073709551615\n", "x", NULL };
	struct hostile hostile;

	hostile_open(&hostile, "account");
	CU_ASSERT_EQUAL(account_error(&hostile), 0);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		set_account(&hostile, texts[i]);
		CU_ASSERT_NOT_EQUAL(account_error(&hostile), 0);
		CU_ASSERT_EQUAL(setenv("CKCACHE_READ_ONLY", "1", 1), 0);
		CU_ASSERT_EQUAL(hostile_tool(&hostile, "verify", NULL), 0);
		CU_ASSERT_EQUAL(unsetenv("CKCACHE_READ_ONLY"), 0);
		CU_ASSERT_NOT_EQUAL(account_error(&hostile), 0);
		CU_ASSERT_EQUAL(hostile_tool(&hostile, "verify", NULL), 0);
		CU_ASSERT_EQUAL(account_error(&hostile), 0);
	}
	CU_ASSERT_STRING_EQUAL(hostile_get(&hostile), HOSTILE_IMAGE);
	hostile_close(&hostile);
}

/* "Corrected" is true. */
TEST(a_directory_in_the_accounts_place_makes_way)
{
	struct hostile hostile;

	for (int i = 0; i < 2; i++) {
		hostile_open(&hostile, "directory");
		set_account(&hostile, NULL);
		CU_ASSERT_EQUAL(mkdir(hostile_path(&hostile, CC_ACCOUNT_NAME), 0700), 0);
		if (i)
			unit_write(hostile_path(&hostile, CC_ACCOUNT_NAME "/inner"), "theirs");
		CU_ASSERT_EQUAL(hostile_tool(&hostile, "verify", "--repair"), 0);
		CU_ASSERT_EQUAL(account_error(&hostile), 0);
		hostile_close(&hostile);
	}
}

static void damage(struct hostile *hostile, const char *name)
{
	const char *path = hostile_path(hostile, in_entry_dir(hostile, name));

	(void)unlink(path);
	unit_write(path, "damaged");
}

TEST(damage_is_found_and_removed_if_asked)
{
	static const char *const names[] = { "0.src", "0.bin" };
	struct hostile hostile;

	hostile_open(&hostile, "damage");
	for (int i = 0; i < 3; i++) {
		/* The third time, the .bin is gone as a whole. */
		if (i < 2)
			damage(&hostile, names[i]);
		else
			CU_ASSERT_EQUAL(unlink(hostile_path(&hostile, in_entry_dir(&hostile, "0.bin"))), 0);
		CU_ASSERT_EQUAL(hostile_tool(&hostile, "verify", NULL), 1);
		CU_ASSERT_TRUE(exists(&hostile, in_entry_dir(&hostile, "0.src")));
		CU_ASSERT_EQUAL(setenv("CKCACHE_READ_ONLY", "1", 1), 0);
		CU_ASSERT_EQUAL(hostile_tool(&hostile, "verify", "--repair"), 1);
		CU_ASSERT_EQUAL(unsetenv("CKCACHE_READ_ONLY"), 0);
		CU_ASSERT_TRUE(exists(&hostile, in_entry_dir(&hostile, "0.src")));
		CU_ASSERT_EQUAL(hostile_tool(&hostile, "verify", "--repair"), 0);
		CU_ASSERT_FALSE(exists(&hostile, hostile.entry_dir));
		CU_ASSERT_EQUAL(account_error(&hostile), 0);
		hostile_expect_healed(&hostile, "repaired");
		CU_ASSERT_EQUAL(hostile_tool(&hostile, "verify", NULL), 0);
	}
	hostile_close(&hostile);
}

TEST(what_cannot_be_removed_stays_damage)
{
	struct hostile hostile;

	hostile_open(&hostile, "stays");
	CU_ASSERT_EQUAL(unlink(hostile_path(&hostile, in_entry_dir(&hostile, "0.src"))), 0);
	CU_ASSERT_EQUAL(mkdir(hostile_path(&hostile, in_entry_dir(&hostile, "0.src")), 0700), 0);
	CU_ASSERT_EQUAL(hostile_tool(&hostile, "verify", "--repair"), 1);
	CU_ASSERT_TRUE(exists(&hostile, in_entry_dir(&hostile, "0.src")));
	hostile_expect_healed(&hostile, "beside a directory");
	hostile_close(&hostile);
}

TEST(repair_clears_what_dead_writers_left_and_evicts_nothing)
{
	static const char *const leftovers[] = { ".tmp-1-2-3", "7.bin", "8_access_time.txt" };
	const struct timespec old[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	struct hostile hostile;

	hostile_open(&hostile, "leftovers");
	for (size_t i = 0; i < 3; i++)
		unit_write(hostile_path(&hostile, in_entry_dir(&hostile, leftovers[i])), "half");
	unit_write(hostile_path(&hostile, ".tmp-4"), "half");
	/* Old enough to go, in an eviction. */
	CU_ASSERT_EQUAL(utimensat(AT_FDCWD, hostile_path(&hostile, in_entry_dir(&hostile, "0.bin")), old, 0), 0);
	CU_ASSERT_EQUAL(hostile_tool(&hostile, "verify", NULL), 0);
	CU_ASSERT_TRUE(exists(&hostile, in_entry_dir(&hostile, leftovers[0])));
	CU_ASSERT_EQUAL(hostile_tool(&hostile, "verify", "--repair"), 0);
	for (size_t i = 0; i < 3; i++)
		CU_ASSERT_FALSE(exists(&hostile, in_entry_dir(&hostile, leftovers[i])));
	CU_ASSERT_FALSE(exists(&hostile, ".tmp-4"));
	CU_ASSERT_TRUE(exists(&hostile, in_entry_dir(&hostile, "0.src")));
	CU_ASSERT_EQUAL(account_error(&hostile), 0);
	hostile_close(&hostile);
}
