/* SPDX-License-Identifier: MIT */
/*
 * test_mapped_file: a file that is written to through a shared mapping, which leaves its
 * times as they are, is not taken for what it was. The linker leads the calls of the clock
 * to the function below, so that a file is as old as a test wants it.
 */
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>

#include "cachecore/file_memo.h"
#include "tests/support/file_hash.h"
#include "tests/support/clock.h"
#include "tests/support/unit.h"

#define SECOND UINT64_C(1000000000)
#define DAY (86400 * SECOND)
#define NOBODY 65534
#define SIZE 4096

static uint64_t later_ns;

uint64_t test_clock(clockid_t id)
{
	return id == CLOCK_REALTIME ? machine_clock(id) + later_ns : machine_clock(id);
}

struct mapped {
	char path[256];
	char *text;
	struct cc_file_memo *memo;
};

/* A file of one page below the directory, mapped; false: it is none of that kind. */
static bool begin(struct mapped *mapped, const char *directory, long kind)
{
	const struct timespec old[2] = { { 1000, 0 }, { 1000, 0 } };
	struct statfs system;
	int fd;

	if (statfs(directory, &system) != 0 || system.f_type != kind)
		return false;
	(void)snprintf(mapped->path, sizeof(mapped->path), "%s/ckcache-mapped-XXXXXX", directory);
	fd = mkstemp(mapped->path);
	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL_FATAL(ftruncate(fd, SIZE), 0);
	CU_ASSERT_EQUAL_FATAL(fchmod(fd, 0644), 0);
	mapped->text = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CU_ASSERT_FATAL(mapped->text != MAP_FAILED);
	memset(mapped->text, 'a', SIZE);
	CU_ASSERT_EQUAL_FATAL(futimens(fd, old), 0);
	CU_ASSERT_EQUAL(close(fd), 0);
	mapped->memo = cc_file_memo_new();
	CU_ASSERT_PTR_NOT_NULL_FATAL(mapped->memo);
	return true;
}

static void end(struct mapped *mapped)
{
	cc_file_memo_free(mapped->memo);
	CU_ASSERT_EQUAL(munmap(mapped->text, SIZE), 0);
	CU_ASSERT_EQUAL(unlink(mapped->path), 0);
	later_ns = 0;
}

static struct cmn_hash hash_of(struct mapped *mapped)
{
	struct cmn_hash hash = { { 0 } };
	uint64_t size;

	CU_ASSERT_EQUAL(file_hash(mapped->memo, mapped->path, &size, &hash), CMN_OK);
	return hash;
}

/* Who owns the file is told that somebody has it open for writing, and relies on nothing. */
static void expect_refused(struct mapped *mapped)
{
	for (int i = 0; i < 3; i++) {
		struct cmn_hash hash;
		uint64_t size;

		CU_ASSERT_EQUAL(file_hash(mapped->memo, mapped->path, &size, &hash), CMN_STALE);
		mapped->text[17]++;
	}
}

/* Two questions with a write between, by a user whom the kernel does not tell. */
static void expect_seen(struct mapped *mapped, uid_t user)
{
	const uid_t before = geteuid();

	for (int i = 0; i < 3; i++) {
		struct cmn_hash first, second;

		CU_ASSERT_EQUAL_FATAL(seteuid(user), 0);
		first = hash_of(mapped);
		mapped->text[17]++;
		second = hash_of(mapped);
		CU_ASSERT_EQUAL_FATAL(seteuid(before), 0);
		CU_ASSERT_FALSE(cmn_hash_equal(&first, &second));
	}
}

static void expect_seen_by_all(struct mapped *mapped)
{
	expect_refused(mapped);
	if (geteuid() == 0)
		expect_seen(mapped, NOBODY);
}

TEST(in_memory_at_any_age)
{
	struct mapped mapped;

	if (!begin(&mapped, "/dev/shm", TMPFS_MAGIC))
		return;
	later_ns = 2 * DAY;
	expect_seen_by_all(&mapped);
	end(&mapped);
}

static const char *const disks[] = { "/var/tmp", "/tmp", "." };

/* The page waits to be stored, and another write to it changes no time. */
TEST(on_a_disk_while_it_is_young)
{
	struct mapped mapped;

	for (size_t i = 0; i < sizeof(disks) / sizeof(disks[0]); i++) {
		if (!begin(&mapped, disks[i], EXT4_SUPER_MAGIC))
			continue;
		later_ns = 30 * SECOND;
		expect_seen_by_all(&mapped);
		end(&mapped);
		return;
	}
}

/* The first write to a page that was stored changes its times. */
TEST(on_a_disk_after_it_was_stored)
{
	struct cmn_hash first, second;
	struct mapped mapped;

	for (size_t i = 0; i < sizeof(disks) / sizeof(disks[0]); i++) {
		if (!begin(&mapped, disks[i], EXT4_SUPER_MAGIC))
			continue;
		CU_ASSERT_EQUAL(msync(mapped.text, SIZE, MS_SYNC), 0);
		later_ns = 2 * DAY;
		first = hash_of(&mapped);
		mapped.text[17]++;
		second = hash_of(&mapped);
		CU_ASSERT_FALSE(cmn_hash_equal(&first, &second));
		end(&mapped);
		return;
	}
}
