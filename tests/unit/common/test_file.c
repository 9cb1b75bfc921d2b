/* SPDX-License-Identifier: MIT */
/* file: bounded reads, whole writes, atomic publication, locks. */
#include "common/clock.h"
#include "common/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/unit.h"

static unsigned int count_files(void)
{
	unsigned int count = 0;
	struct dirent *entry;
	DIR *dir = opendir(".");

	CU_ASSERT_PTR_NOT_NULL_FATAL(dir);
	while ((entry = readdir(dir)))
		count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	(void)closedir(dir);
	return count;
}

static void check_content(const char *path, const char *expected)
{
	struct cmn_buffer got;

	CU_ASSERT_EQUAL_FATAL(cmn_file_read(AT_FDCWD, path, 1000, false, &got), CMN_OK);
	CU_ASSERT_TRUE(cmn_view_equal(cmn_buffer_view(&got), cmn_view_of(expected)));
	cmn_buffer_release(&got);
}

TEST(reads_a_file_up_to_its_bound)
{
	struct cmn_buffer got;

	unit_write("file", "12345");
	check_content("file", "12345");
	CU_ASSERT_EQUAL(cmn_file_read(AT_FDCWD, "file", 5, false, &got), CMN_OK);
	CU_ASSERT_EQUAL(got.len, 5);
	cmn_buffer_release(&got);
	CU_ASSERT_EQUAL(cmn_file_read(AT_FDCWD, "file", 4, false, &got), CMN_ERR_TOO_LARGE);
	CU_ASSERT_PTR_NULL(got.data);
}

TEST(reads_an_empty_file)
{
	unit_write("empty", "");
	check_content("empty", "");
}

TEST(misses_what_is_not_there)
{
	struct cmn_buffer got;

	unit_write("file", "x");
	CU_ASSERT_EQUAL(cmn_file_read(AT_FDCWD, "none", 10, true, &got), CMN_MISS);
	CU_ASSERT_EQUAL(cmn_file_read(AT_FDCWD, "file/none", 10, true, &got), CMN_MISS);
}

TEST(reads_regular_files_only)
{
	struct cmn_buffer got;

	CU_ASSERT_EQUAL_FATAL(mkfifo("fifo", 0600), 0);
	CU_ASSERT_EQUAL_FATAL(mkdir("dir", 0700), 0);
	CU_ASSERT_EQUAL(cmn_file_read(AT_FDCWD, "fifo", 10, false, &got), CMN_ERR_ACCESS);
	CU_ASSERT_EQUAL(cmn_file_read(AT_FDCWD, "dir", 10, false, &got), CMN_ERR_ACCESS);
	CU_ASSERT_EQUAL(cmn_file_read(AT_FDCWD, "/dev/zero", 10, false, &got), CMN_ERR_ACCESS);
}

TEST(follows_links_only_when_asked)
{
	struct cmn_buffer got;

	unit_write("file", "x");
	CU_ASSERT_EQUAL_FATAL(symlink("file", "link"), 0);
	CU_ASSERT_EQUAL(cmn_file_read(AT_FDCWD, "link", 10, false, &got), CMN_ERR_ACCESS);
	CU_ASSERT_EQUAL(cmn_file_read(AT_FDCWD, "link", 10, true, &got), CMN_OK);
	cmn_buffer_release(&got);
}

TEST(reads_into_the_room_of_a_buffer)
{
	struct cmn_buffer buf = { 0 };
	const uint8_t *data;

	unit_write("file", "12345");
	unit_write("short", "abc");
	unit_write("empty", "");
	CU_ASSERT_TRUE_FATAL(cmn_buffer_reserve(&buf, 1000));
	data = buf.data;
	cmn_buffer_append_text(&buf, "what it held");
	CU_ASSERT_EQUAL(cmn_file_read_into(AT_FDCWD, "file", 1000, false, NULL, &buf), CMN_OK);
	CU_ASSERT_PTR_EQUAL(buf.data, data);
	CU_ASSERT_TRUE(cmn_view_equal(cmn_buffer_view(&buf), cmn_view_of("12345")));
	CU_ASSERT_EQUAL(cmn_file_read_into(AT_FDCWD, "short", 1000, false, NULL, &buf), CMN_OK);
	CU_ASSERT_TRUE(cmn_view_equal(cmn_buffer_view(&buf), cmn_view_of("abc")));
	/* After a failure it can be used again. */
	CU_ASSERT_EQUAL(cmn_file_read_into(AT_FDCWD, "none", 1000, false, NULL, &buf), CMN_MISS);
	CU_ASSERT_EQUAL(cmn_file_read_into(AT_FDCWD, "file", 4, false, NULL, &buf),
			CMN_ERR_TOO_LARGE);
	CU_ASSERT_EQUAL(cmn_file_read_into(AT_FDCWD, "empty", 4, false, NULL, &buf), CMN_OK);
	CU_ASSERT_EQUAL(buf.len, 0);
	CU_ASSERT_PTR_EQUAL(buf.data, data);
	cmn_buffer_release(&buf);
}

TEST(a_file_larger_than_the_buffer_gets_more_room)
{
	struct cmn_buffer buf = { 0 };
	char text[3001];

	memset(text, 'x', 3000);
	text[3000] = '\0';
	unit_write("file", text);
	CU_ASSERT_TRUE_FATAL(cmn_buffer_reserve(&buf, 300));
	CU_ASSERT_EQUAL(cmn_file_read_into(AT_FDCWD, "file", 3000, false, NULL, &buf), CMN_OK);
	CU_ASSERT_TRUE(cmn_view_equal(cmn_buffer_view(&buf), cmn_view_of(text)));
	cmn_buffer_release(&buf);
}

TEST(reads_into_the_given_room_from_its_length_on)
{
	static char block[50000];
	struct cmn_room room = { cmn_slabs_new(), sizeof(block) + 1 };
	struct cmn_view view = { block, sizeof(block) };
	struct cmn_buffer buf = { 0 };
	struct cmn_slab *slab;

	CU_ASSERT_PTR_NOT_NULL_FATAL(room.slabs);
	memset(block, 'x', sizeof(block));
	unit_write_bytes("file", block, sizeof(block));
	unit_write("short", "abc");
	CU_ASSERT_EQUAL(cmn_file_read_into(AT_FDCWD, "file", 50000, false, &room, &buf), CMN_OK);
	CU_ASSERT_PTR_NULL(buf.slab);
	CU_ASSERT_TRUE(cmn_view_equal(cmn_buffer_view(&buf), view));
	cmn_buffer_release(&buf);
	room.from = sizeof(block);
	CU_ASSERT_EQUAL(cmn_file_read_into(AT_FDCWD, "file", 50000, false, &room, &buf), CMN_OK);
	CU_ASSERT_PTR_NOT_NULL(buf.slab);
	CU_ASSERT_TRUE(cmn_view_equal(cmn_buffer_view(&buf), view));
	/* Room that the buffer has comes first, whosever it is. */
	slab = buf.slab;
	CU_ASSERT_EQUAL(cmn_file_read_into(AT_FDCWD, "short", 50000, false, &room, &buf), CMN_OK);
	CU_ASSERT_PTR_EQUAL(buf.slab, slab);
	CU_ASSERT_TRUE(cmn_view_equal(cmn_buffer_view(&buf), cmn_view_of("abc")));
	cmn_buffer_release(&buf);
	cmn_slabs_free(room.slabs);
	room.slabs = NULL;
	CU_ASSERT_EQUAL(cmn_file_read_into(AT_FDCWD, "file", 50000, false, &room, &buf), CMN_OK);
	CU_ASSERT_PTR_NULL(buf.slab);
	CU_ASSERT_TRUE(cmn_view_equal(cmn_buffer_view(&buf), view));
	cmn_buffer_release(&buf);
}

TEST(publishes_whole_files_and_replaces_them)
{
	const struct cmn_view first[] = { cmn_view_of("one "), cmn_view_of(""), cmn_view_of("two") };
	const struct cmn_view second = cmn_view_of("three");
	struct stat info;

	CU_ASSERT_EQUAL(cmn_file_publish(AT_FDCWD, "file", first, 3), CMN_OK);
	check_content("file", "one two");
	CU_ASSERT_EQUAL(cmn_file_publish(AT_FDCWD, "file", &second, 1), CMN_OK);
	check_content("file", "three");
	CU_ASSERT_EQUAL(count_files(), 1);
	CU_ASSERT_EQUAL_FATAL(stat("file", &info), 0);
	CU_ASSERT_EQUAL(info.st_mode & 077, 0);
}

static enum cmn_status replace_as(uid_t user, int dir_fd, const char *text)
{
	const struct cmn_view view = cmn_view_of(text);
	enum cmn_status status;

	CU_ASSERT_EQUAL_FATAL(seteuid(user), 0);
	status = cmn_file_replace(dir_fd, "file", &view, 1);
	CU_ASSERT_EQUAL_FATAL(seteuid(0), 0);
	return status;
}

/* As a group's cache with the sticky bit has them: nobody may rename over another one's. */
TEST(replaces_anothers_file_in_place_where_it_may_not_be_renamed_over)
{
	const uid_t other = 61001;
	struct stat before, after;
	int dir_fd;

	if (geteuid() != 0) {
		(void)fprintf(stderr, "  not tried: only the superuser can be two users\n");
		return;
	}
	CU_ASSERT_EQUAL_FATAL(mkdir("sticky", 0700), 0);
	CU_ASSERT_EQUAL_FATAL(chmod("sticky", 01777), 0);
	dir_fd = open("sticky", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CU_ASSERT_TRUE_FATAL(dir_fd >= 0);
	CU_ASSERT_EQUAL(replace_as(0, dir_fd, "a long text\n"), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(stat("sticky/file", &before), 0);
	CU_ASSERT_EQUAL_FATAL(chmod("sticky/file", 0666), 0);
	CU_ASSERT_EQUAL(replace_as(other, dir_fd, "short\n"), CMN_OK);
	check_content("sticky/file", "short\n");
	CU_ASSERT_EQUAL_FATAL(stat("sticky/file", &after), 0);
	CU_ASSERT_EQUAL(after.st_ino, before.st_ino);
	/* Neither where it may not be written, nor a second name of something else. */
	CU_ASSERT_EQUAL_FATAL(chmod("sticky/file", 0644), 0);
	CU_ASSERT_EQUAL(replace_as(other, dir_fd, "no\n"), CMN_ERR_ACCESS);
	CU_ASSERT_EQUAL_FATAL(chmod("sticky/file", 0666), 0);
	CU_ASSERT_EQUAL_FATAL(link("sticky/file", "second"), 0);
	CU_ASSERT_EQUAL(replace_as(other, dir_fd, "no\n"), CMN_ERR_ACCESS);
	check_content("second", "short\n");
	CU_ASSERT_EQUAL(chdir("sticky"), 0);
	CU_ASSERT_EQUAL(count_files(), 1);
	CU_ASSERT_EQUAL(chdir(".."), 0);
	(void)close(dir_fd);
}

TEST(leaves_nothing_when_publishing_fails)
{
	const struct cmn_view view = cmn_view_of("text");

	CU_ASSERT_EQUAL_FATAL(mkdir("taken", 0700), 0);
	unit_write("taken/inside", "x");
	CU_ASSERT_NOT_EQUAL(cmn_file_publish(AT_FDCWD, "taken", &view, 1), CMN_OK);
	CU_ASSERT_EQUAL(count_files(), 1);
}

TEST(notices_a_short_write)
{
	static const char block[8192];
	const struct cmn_view view = { block, sizeof(block) };
	const struct rlimit small = { 4096, RLIM_INFINITY };
	struct rlimit old;
	enum cmn_status status;

	unit_write("file", "before");
	(void)signal(SIGXFSZ, SIG_IGN);
	CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_FSIZE, &old), 0);
	CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_FSIZE, &small), 0);
	status = cmn_file_publish(AT_FDCWD, "file", &view, 1);
	CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_FSIZE, &old), 0);
	(void)signal(SIGXFSZ, SIG_DFL);
	CU_ASSERT_EQUAL(status, CMN_ERR_TOO_LARGE);
	check_content("file", "before");
	CU_ASSERT_EQUAL(count_files(), 1);
}

TEST(tells_a_full_disk)
{
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

	CU_ASSERT_TRUE_FATAL(fd >= 0);
	CU_ASSERT_EQUAL(cmn_file_write_all(fd, "x", 1), CMN_ERR_NOSPACE);
	(void)close(fd);
}

TEST(makes_missing_directories_with_their_mode)
{
	struct stat info;

	CU_ASSERT_EQUAL(cmn_file_make_dirs("a/b/c", 0700), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(stat("a/b", &info), 0);
	CU_ASSERT_EQUAL(info.st_mode & 0777, 0700);
	CU_ASSERT_EQUAL_FATAL(chmod("a", 0750), 0);
	CU_ASSERT_EQUAL(cmn_file_make_dirs("a/b/c", 0700), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(stat("a", &info), 0);
	CU_ASSERT_EQUAL(info.st_mode & 0777, 0750);
	CU_ASSERT_EQUAL(cmn_file_make_dirs("d/e/", 0700), CMN_OK);
	CU_ASSERT_EQUAL(stat("d/e", &info), 0);
}

TEST(cannot_make_directories_below_a_file)
{
	unit_write("file", "x");
	CU_ASSERT_NOT_EQUAL(cmn_file_make_dirs("file/a", 0700), CMN_OK);
	CU_ASSERT_NOT_EQUAL(cmn_file_make_dirs("file/a/b", 0700), CMN_OK);
}

TEST(a_lock_excludes_and_ends_with_its_process)
{
	int go[2], fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), state;
	char byte;
	pid_t child;

	CU_ASSERT_EQUAL_FATAL(pipe(go), 0);
	child = fork();
	CU_ASSERT_TRUE_FATAL(child >= 0);
	if (child == 0) {
		int own = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (cmn_file_lock(own, 0) != CMN_OK || write(go[1], "x", 1) != 1)
			_exit(1);
		(void)pause();	/* until it is killed */
		_exit(1);
	}
	CU_ASSERT_EQUAL_FATAL(read(go[0], &byte, 1), 1);
	CU_ASSERT_EQUAL(cmn_file_lock(fd, 0), CMN_BUSY);
	CU_ASSERT_EQUAL(cmn_file_lock(fd, cmn_clock_monotonic() + 10000000), CMN_BUSY);
	CU_ASSERT_EQUAL_FATAL(kill(child, SIGKILL), 0);
	CU_ASSERT_EQUAL_FATAL(waitpid(child, &state, 0), child);
	CU_ASSERT_EQUAL(cmn_file_lock(fd, 0), CMN_OK);
	(void)close(fd);
	(void)close(go[0]);
	(void)close(go[1]);
}
