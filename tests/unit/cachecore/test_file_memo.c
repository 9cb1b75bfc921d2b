/* SPDX-License-Identifier: MIT */
/*
 * test_file_memo: when a hash is remembered, when it is not, and files that change while
 * they are read. The linker leads the calls of the clock and of the file system to the
 * functions below, so that a file is as old, and where, as a test wants it.
 */
#include "cachecore/file_memo.h"

#include <linux/magic.h>
#include <sys/vfs.h>

#include "tests/support/file_hash.h"
#include "tests/support/clock.h"
#include "tests/support/unit.h"
#include "tests/support/wrap.h"

#define DISK 0xef53	/* ext4's number; no file system in memory has it */
#define SECOND UINT64_C(1000000000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)

static uint64_t clock_ns;	/* what time it is */
static uint64_t other_inode;	/* added to each file's */
static int64_t file_system;	/* -1: it cannot be told */
static unsigned int opened;
static void (*before_open)(void);	/* once */
static void (*before_read)(void);	/* once */
static int read_error;			/* once */

uint64_t test_clock(clockid_t id)
{
	return id == CLOCK_REALTIME ? clock_ns : machine_clock(id);
}

WRAPPED(int, fstatfs, (int fd, struct statfs *ret))
{
	(void)fd;
	*ret = (struct statfs){ .f_type = (__fsword_t)file_system };
	return file_system < 0 ? -1 : 0;
}

static void run_once(void (**what)(void))
{
	void (*now)(void) = *what;

	*what = NULL;
	if (now)
		now();
}

WRAPPED(int, open, (const char *path, int flags, ...))
{
	run_once(&before_open);
	opened++;
	return __real_open(path, flags);
}

WRAPPED(ssize_t, pread, (int fd, void *data, size_t len, off_t offset))
{
	run_once(&before_read);
	if (read_error) {
		errno = read_error;
		read_error = 0;
		return errno == ENODATA ? 0 : -1;	/* its end, which no error is */
	}
	return __real_pread(fd, data, len, offset);
}

WRAPPED(int, stat, (const char *path, struct stat *ret))
{
	int result = __real_stat(path, ret);

	ret->st_ino += other_inode;
	return result;
}

WRAPPED(int, fstat, (int fd, struct stat *ret))
{
	int result = __real_fstat(fd, ret);

	ret->st_ino += other_inode;
	return result;
}

static struct cc_file_memo *memo;

static struct cc_file_identity identity_of(const char *path)
{
	struct stat info;

	CU_ASSERT_EQUAL_FATAL(stat(path, &info), 0);
	return cc_file_identity_of(&info);
}

static void set_mtime(const char *path, uint64_t ns)
{
	struct timespec times[2] = { { 0, UTIME_OMIT },
				     { (time_t)(ns / SECOND), (long)(ns % SECOND) } };

	CU_ASSERT_EQUAL_FATAL(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* A memo, and a file that was last changed so long ago, on a disk, by somebody else than root. */
static void begin(uint64_t age)
{
	cc_file_memo_free(memo);
	memo = cc_file_memo_new();
	CU_ASSERT_PTR_NOT_NULL_FATAL(memo);
	unit_write("a.h", "one");
	CU_ASSERT_EQUAL_FATAL(chmod("a.h", 0644), 0);
	CU_ASSERT_EQUAL_FATAL(chown("a.h", getuid(), (gid_t)-1), 0);
	set_mtime("a.h", 1000 * SECOND);
	clock_ns = identity_of("a.h").ctime_ns + age;
	other_inode = 0;
	file_system = DISK;
	opened = 0;
	before_open = before_read = NULL;
	read_error = 0;
}

AFTER_EACH
{
	cc_file_memo_free(memo);
	memo = NULL;
	other_inode = 0;
	before_open = before_read = NULL;
}

/* The hash that the memo gives, or that of nothing. */
static bool gives(const char *text)
{
	struct cmn_hash hash, want = cmn_hash_of(text, strlen(text));
	uint64_t size;

	return file_hash(memo, "a.h", &size, &hash) == CMN_OK && size == strlen(text) &&
	       cmn_hash_equal(&hash, &want);
}

/* Whether a second question does without opening the file. */
static bool is_remembered(void)
{
	unsigned int before;

	CU_ASSERT(gives("one"));
	before = opened;
	CU_ASSERT(gives("one"));
	return opened == before;
}

TEST(each_part_of_an_identity_counts)
{
	const struct cc_file_identity one = { 1, 2, 3, 4, 5 };
	struct cc_file_identity others[] = { one, one, one, one, one };

	CU_ASSERT(cc_file_identity_equal(&one, &one));
	others[0].device++;
	others[1].inode++;
	others[2].size++;
	others[3].mtime_ns++;
	others[4].ctime_ns++;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		CU_ASSERT_FALSE(cc_file_identity_equal(&one, &others[i]));
}

TEST(an_identity_is_to_the_nanosecond)
{
	struct stat info;

	begin(0);
	set_mtime("a.h", 7 * SECOND + 13);
	CU_ASSERT_EQUAL_FATAL(stat("a.h", &info), 0);
	CU_ASSERT_EQUAL(identity_of("a.h").mtime_ns, 7 * SECOND + 13);
	CU_ASSERT_EQUAL(identity_of("a.h").ctime_ns,
			(uint64_t)info.st_ctim.tv_sec * SECOND + (uint64_t)info.st_ctim.tv_nsec);
	CU_ASSERT_EQUAL(identity_of("a.h").device, info.st_dev);
	CU_ASSERT_EQUAL(identity_of("a.h").inode, info.st_ino);
	CU_ASSERT_EQUAL(identity_of("a.h").size, 3);
}

TEST(an_old_file_is_read_once)
{
	struct cmn_hash hash = cmn_hash_of("one", 3), wrong = cmn_hash_of("two", 3), got;
	struct cc_file_identity identity;
	struct stat info;

	begin(2 * HOUR);
	CU_ASSERT(is_remembered());
	identity = identity_of("a.h");
	opened = 0;
	CU_ASSERT_EQUAL(cc_file_memo_hash_same(memo, "a.h", &identity, &got), CMN_OK);
	CU_ASSERT(cmn_hash_equal(&got, &hash));
	CU_ASSERT(cc_file_memo_holds(memo, "a.h", 3, &hash, &info));
	CU_ASSERT_FALSE(cc_file_memo_holds(memo, "a.h", 3, &wrong, &info));
	CU_ASSERT_FALSE(cc_file_memo_holds(memo, "a.h", 4, &hash, &info));
	CU_ASSERT_EQUAL(opened, 0);
	/* Without a memo it is read each time, and the answers are the same. */
	CU_ASSERT(cc_file_memo_holds(NULL, "a.h", 3, &hash, &info));
	CU_ASSERT_FALSE(cc_file_memo_holds(NULL, "a.h", 3, &wrong, &info));
	CU_ASSERT_EQUAL(opened, 2);
}

/* Also where size and mtime are as before. */
TEST(a_change_is_seen_and_remembered_anew)
{
	struct stat before, after;

	begin(2 * HOUR);
	CU_ASSERT(is_remembered());
	CU_ASSERT_EQUAL_FATAL(stat("a.h", &before), 0);
	do {	/* the file system's clock is coarse */
		unit_write("a.h", "two");
		set_mtime("a.h", 1000 * SECOND);
		CU_ASSERT_EQUAL_FATAL(stat("a.h", &after), 0);
	} while (after.st_ctim.tv_sec == before.st_ctim.tv_sec &&
		 after.st_ctim.tv_nsec == before.st_ctim.tv_nsec);
	clock_ns = identity_of("a.h").ctime_ns + 2 * HOUR;
	opened = 0;
	CU_ASSERT(gives("two"));
	CU_ASSERT(gives("two"));
	CU_ASSERT_EQUAL(opened, 1);
}

TEST(another_file_of_the_name_is_another)
{
	begin(2 * HOUR);
	CU_ASSERT(is_remembered());
	other_inode = 1;
	opened = 0;
	CU_ASSERT(gives("one"));
	CU_ASSERT_EQUAL(opened, 1);
}

/* It could change again without another time, by whoever has it mapped. */
TEST(a_young_file_is_read_each_time)
{
	begin(0);
	CU_ASSERT_FALSE(is_remembered());
	clock_ns += HOUR - 1;
	CU_ASSERT_FALSE(is_remembered());
	CU_ASSERT_EQUAL_FATAL(chmod("a.h", 0444), 0);
	clock_ns = identity_of("a.h").ctime_ns + HOUR - 1;
	CU_ASSERT_FALSE(is_remembered());
	clock_ns += 1;
	CU_ASSERT(is_remembered());
}

/* Where what is written by a mapping leaves the times as they are, or nobody knows. */
TEST(a_file_in_memory_is_read_each_time)
{
	static const int64_t others[] = { TMPFS_MAGIC, RAMFS_MAGIC, HUGETLBFS_MAGIC, OVERLAYFS_SUPER_MAGIC,
				       NFS_SUPER_MAGIC, -1 };
	static const int64_t disks[] = { EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
				      F2FS_SUPER_MAGIC, SQUASHFS_MAGIC };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		begin(100 * HOUR);
		file_system = others[i];
		CU_ASSERT_FALSE(is_remembered());
	}
	for (size_t i = 0; i < sizeof(disks) / sizeof(disks[0]); i++) {
		begin(HOUR);
		file_system = disks[i];
		CU_ASSERT(is_remembered());
	}
}

TEST(the_memo_does_not_grow_for_ever)
{
	begin(2 * HOUR);
	CU_ASSERT(is_remembered());
	for (other_inode = 1; other_inode < 16384; other_inode++)
		CU_ASSERT(gives("one"));
	opened = 0;
	other_inode = 0;
	CU_ASSERT(gives("one"));
	CU_ASSERT_EQUAL(opened, 0);
	other_inode = 16384;
	CU_ASSERT(gives("one"));
	other_inode = 1;
	CU_ASSERT(gives("one"));
	CU_ASSERT_EQUAL(opened, 2);
}

static void shrink(void)
{
	CU_ASSERT_EQUAL(truncate("a.h", 1), 0);
}

static void grow(void)
{
	CU_ASSERT_EQUAL(truncate("a.h", 9), 0);
}

static void rewrite(void)
{
	unit_write("a.h", "two");
	set_mtime("a.h", 1001 * SECOND);
}

static void replace(void)
{
	CU_ASSERT_EQUAL(rename("b.h", "a.h"), 0);
}

TEST(what_changes_while_it_is_read_is_no_content)
{
	static void (*const changes[])(void) = { shrink, grow };
	struct cc_file_identity identity;
	struct cmn_hash hash;
	uint64_t size;

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		begin(2 * HOUR);
		before_read = changes[i];
		CU_ASSERT_EQUAL(file_hash(memo, "a.h", &size, &hash), CMN_STALE);
	}
	/* Of the same size: its hash is not what the identity had, and is not remembered. */
	begin(2 * HOUR);
	identity = identity_of("a.h");
	before_read = rewrite;
	CU_ASSERT_EQUAL(cc_file_memo_hash_same(memo, "a.h", &identity, &hash), CMN_STALE);
	opened = 0;
	CU_ASSERT(gives("two"));
	CU_ASSERT_EQUAL(opened, 1);
	/* Files of special systems have less than they say, or more. */
	begin(2 * HOUR);
	read_error = ENODATA;
	CU_ASSERT_EQUAL(file_hash(memo, "a.h", &size, &hash), CMN_STALE);
	CU_ASSERT_EQUAL(file_hash(memo, "/proc/self/limits", &size, &hash), CMN_STALE);
}

TEST(the_same_file_is_known_by_its_identity)
{
	struct cc_file_identity identity;
	struct cmn_hash hash, want = cmn_hash_of("one", 3);

	begin(2 * HOUR);
	identity = identity_of("a.h");
	CU_ASSERT_EQUAL(cc_file_memo_hash_same(memo, "a.h", &identity, &hash), CMN_OK);
	CU_ASSERT(cmn_hash_equal(&hash, &want));
	/* The same content is another file all the same. */
	identity.mtime_ns++;
	CU_ASSERT_EQUAL(cc_file_memo_hash_same(memo, "a.h", &identity, &hash), CMN_STALE);
	CU_ASSERT_EQUAL(cc_file_memo_hash_same(NULL, "a.h", &identity, &hash), CMN_STALE);
	/* Replaced when it had been looked at and was not open yet. */
	identity.mtime_ns--;
	unit_write("b.h", "two");
	before_open = replace;
	CU_ASSERT_EQUAL(cc_file_memo_hash_same(NULL, "a.h", &identity, &hash), CMN_STALE);
	CU_ASSERT_EQUAL(unlink("a.h"), 0);
	CU_ASSERT_EQUAL(cc_file_memo_hash_same(memo, "a.h", &identity, &hash), CMN_STALE);
}

TEST(errors_of_reading_are_told)
{
	struct cmn_hash hash;
	uint64_t size;

	begin(2 * HOUR);
	read_error = EIO;
	CU_ASSERT_EQUAL(file_hash(memo, "a.h", &size, &hash), CMN_ERR_IO);
	read_error = EINTR;
	CU_ASSERT(gives("one"));
}

/* A driver goes on reading where it was; and nothing is read where the times would tell. */
TEST(an_open_file_is_hashed_where_its_times_do_not_tell)
{
	struct cmn_hash hash, want = cmn_hash_of("one", 3);
	struct stat info;
	char byte;
	int fd;

	begin(2 * HOUR);
	fd = open("a.h", O_RDONLY);
	CU_ASSERT_EQUAL_FATAL(fstat(fd, &info), 0);
	CU_ASSERT_EQUAL(cc_file_memo_hash_open(fd, &info, &hash), CMN_MISS);
	file_system = TMPFS_MAGIC;
	CU_ASSERT_EQUAL(cc_file_memo_hash_open(fd, &info, &hash), CMN_OK);
	CU_ASSERT(cmn_hash_equal(&hash, &want));
	CU_ASSERT_EQUAL(read(fd, &byte, 1), 1);
	CU_ASSERT_EQUAL(byte, 'o');
	file_system = DISK;
	clock_ns -= 2 * HOUR;
	CU_ASSERT_EQUAL(cc_file_memo_hash_open(fd, &info, &hash), CMN_OK);
	CU_ASSERT(cmn_hash_equal(&hash, &want));
	read_error = EIO;
	CU_ASSERT_EQUAL(cc_file_memo_hash_open(fd, &info, &hash), CMN_ERR_IO);
	CU_ASSERT_EQUAL(close(fd), 0);
}

TEST(every_byte_is_hashed)
{
	struct cmn_hash one, two;
	char text[5001];
	uint64_t size;

	begin(0);
	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	unit_write("a.h", text);
	CU_ASSERT_EQUAL(file_hash(NULL, "a.h", &size, &one), CMN_OK);
	CU_ASSERT_EQUAL(size, 5000);
	text[4999] = 'b';
	unit_write("a.h", text);
	CU_ASSERT_EQUAL(file_hash(NULL, "a.h", &size, &two), CMN_OK);
	CU_ASSERT_FALSE(cmn_hash_equal(&one, &two));
}

TEST(what_is_no_file_is_not_opened)
{
	struct cmn_hash hash = { { 0 } };
	struct stat info;
	uint64_t size;

	begin(0);
	CU_ASSERT_EQUAL(mkfifo("fifo", 0600), 0);
	CU_ASSERT_EQUAL(file_hash(memo, "fifo", &size, &hash), CMN_ERR_ACCESS);
	CU_ASSERT_FALSE(cc_file_memo_holds(memo, "fifo", 0, &hash, &info));
	CU_ASSERT_EQUAL(file_hash(memo, ".", &size, &hash), CMN_STALE);
	CU_ASSERT_EQUAL(file_hash(memo, "/dev/null", &size, &hash), CMN_ERR_ACCESS);
	CU_ASSERT_EQUAL(file_hash(memo, "none.h", &size, &hash), CMN_MISS);
	CU_ASSERT_EQUAL(truncate("a.h", (off_t)CC_MANIFEST_MAX_FILE + 1), 0);
	CU_ASSERT_EQUAL(file_hash(memo, "a.h", &size, &hash), CMN_ERR_TOO_LARGE);
	CU_ASSERT_EQUAL(opened, 0);
	CU_ASSERT_EQUAL(truncate("a.h", 0), 0);
	CU_ASSERT(gives(""));
}
