/* SPDX-License-Identifier: MIT */
/* test_contents: a driver's file is read once by all processes, and again once it may be another. */
#include "cachecore/disk/contents.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "tests/support/clock.h"
#include "tests/support/unit.h"
#include "tests/support/wrap.h"

static uint64_t ahead;		/* ns, of the clock: what was made just now was made long ago */
uint64_t test_clock(clockid_t id)
{
	return machine_clock(id) + (id == CLOCK_REALTIME ? ahead : 0);
}

static int reads;		/* of the file's content */
WRAPPED(ssize_t, pread, (int fd, void *ret, size_t len, off_t offset))
{
	reads++;
	return __real_pread(fd, ret, len, offset);
}

static ino_t other_inode;	/* added to each file's */
WRAPPED(int, stat, (const char *path, struct stat *ret))
{
	int result = __real_stat(path, ret);

	ret->st_ino += other_inode;
	return result;
}

static char root[4096];
static struct cc_config config;

static void set_up(void)
{
	(void)snprintf(root, sizeof(root), "%s/root", unit_dir());
	CU_ASSERT_EQUAL(mkdir(root, 0700), 0);
	config = (struct cc_config){ .persistent = true, .dir = root };
	ahead = UINT64_C(3600000000000);
}

/* As another process. *ret_read: whether the file was read. */
static struct cmn_hash hash_anew(const char *path, bool *ret_read)
{
	struct cc_contents contents = { .config = &config };
	struct cmn_hash hash;

	reads = 0;
	CU_ASSERT_EQUAL(cc_contents_hash(&contents, path, &hash), CMN_OK);
	cc_contents_release(&contents);
	*ret_read = reads > 0;
	return hash;
}

static bool is_read(const char *path, const char *content)
{
	struct cmn_hash hash, want;
	bool read;

	hash = hash_anew(path, &read);
	unit_write("the-same", content);
	CU_ASSERT_EQUAL(cc_contents_hash(&(struct cc_contents){ 0 }, "the-same", &want), CMN_OK);
	CU_ASSERT(cmn_hash_equal(&hash, &want));
	return read;
}

/* An hour ago, as a package manager does: its ctime is now. */
static void write_as_installed(const char *path, const char *content)
{
	const struct timespec times[2] = { { 1000, 7 }, { 1000, 7 } };

	unit_write(path, content);
	CU_ASSERT_EQUAL(utimensat(AT_FDCWD, path, times, 0), 0);
}

TEST(a_file_is_read_once)
{
	set_up();
	write_as_installed("a", "one");
	CU_ASSERT(is_read("a", "one"));
	CU_ASSERT_FALSE(is_read("a\0what lies behind", "one"));
	/* Others have slots of their own. */
	write_as_installed("b", "two");
	CU_ASSERT(is_read("b", "two"));
	CU_ASSERT_FALSE(is_read("b", "two"));
	CU_ASSERT_FALSE(is_read("a", "one"));
}

/* With the same size, and the mtime that it had. */
TEST(a_file_that_was_replaced_or_written_is_read_again)
{
	static struct cc_contents contents = { .config = &config };

	set_up();
	write_as_installed("a", "one");
	CU_ASSERT(is_read("a", "one"));
	write_as_installed("new", "two");
	CU_ASSERT_EQUAL(rename("new", "a"), 0);
	CU_ASSERT(is_read("a", "two"));
	write_as_installed("a", "six");
	CU_ASSERT(is_read("a", "six"));
	CU_ASSERT_FALSE(is_read("a", "six"));
	/* Both made at once, by a coarse clock. */
	other_inode = 1;
	CU_ASSERT_NOT_EQUAL(cc_contents_hash(&contents, "a", &(struct cmn_hash){ 0 }), CMN_OK);
	other_inode = 0;
	CU_ASSERT_EQUAL(unlink("a"), 0);
	CU_ASSERT_NOT_EQUAL(cc_contents_hash(&(struct cc_contents){ .config = &config }, "a",
					     &(struct cmn_hash){ 0 }), CMN_OK);
}

TEST(what_may_change_and_keep_its_times_is_read_each_time)
{
	struct stat info;

	set_up();
	/* Changed just now, however long this takes. */
	ahead = 0 - UINT64_C(60000000000);
	write_as_installed("a", "one");
	CU_ASSERT(is_read("a", "one"));
	CU_ASSERT(is_read("a", "one"));
	ahead = UINT64_C(3600000000000);
	CU_ASSERT(is_read("a", "one"));
	CU_ASSERT_FALSE(is_read("a", "one"));
	/* As in an image that has one time for each file. */
	unit_write("b", "two");
	CU_ASSERT_EQUAL(stat("b", &info), 0);
	CU_ASSERT_EQUAL(info.st_mtim.tv_nsec, info.st_ctim.tv_nsec);
	CU_ASSERT(is_read("b", "two"));
	CU_ASSERT(is_read("b", "two"));
}

TEST(without_a_root_of_its_own_nothing_is_remembered)
{
	set_up();
	write_as_installed("a", "one");
	config.read_only = true;
	CU_ASSERT(is_read("a", "one"));
	CU_ASSERT(is_read("a", "one"));
	config.read_only = false;
	CU_ASSERT_EQUAL(chmod(root, 0777), 0);
	CU_ASSERT(is_read("a", "one"));
	CU_ASSERT(is_read("a", "one"));
	CU_ASSERT_EQUAL(rmdir(root), 0);
	CU_ASSERT(is_read("a", "one"));
	CU_ASSERT(access(root, F_OK) < 0);
	config.persistent = false;
	CU_ASSERT(is_read("a", "one"));
	config.dir = NULL;
	CU_ASSERT(is_read("a", "one"));
}

TEST(what_is_read_only_is_used)
{
	set_up();
	write_as_installed("a", "one");
	CU_ASSERT(is_read("a", "one"));
	config.read_only = true;
	CU_ASSERT_FALSE(is_read("a", "one"));
}

TEST(slot_that_is_damaged_or_anothers_counts_for_nothing)
{
	enum { SLOT = 48, SLOTS = 512 };

	set_up();
	write_as_installed("a", "one");
	CU_ASSERT(is_read("a", "one"));
	unit_repeat_last_slot("root/contents.dat", SLOT, SLOTS, -1);
	CU_ASSERT_FALSE(is_read("a", "one"));
	write_as_installed("b", "two");
	CU_ASSERT(is_read("b", "two"));
	unit_repeat_last_slot("root/contents.dat", SLOT, SLOTS, 20);
	CU_ASSERT(is_read("a", "one"));
	CU_ASSERT_FALSE(is_read("a", "one"));
	/* A file that is none. */
	unit_write("root/contents.dat", "damaged");
	CU_ASSERT(is_read("a", "one"));
	CU_ASSERT_EQUAL(unlink("root/contents.dat"), 0);
	CU_ASSERT_EQUAL(symlink("/etc/passwd", "root/contents.dat"), 0);
	CU_ASSERT(is_read("a", "one"));
}

/* Others of the group may write to it. */
TEST(a_groups_root_is_believed_by_those_who_share_it)
{
	set_up();
	write_as_installed("driver.so", "one");
	CU_ASSERT_EQUAL(chmod(root, 02770), 0);
	config.sharing = CC_SHARING_GROUP;
	CU_ASSERT_TRUE(is_read("driver.so", "one"));
	CU_ASSERT_FALSE(is_read("driver.so", "one"));
	config.sharing = CC_SHARING_NONE;
	CU_ASSERT_TRUE(is_read("driver.so", "one"));
	CU_ASSERT_TRUE(is_read("driver.so", "one"));
}
