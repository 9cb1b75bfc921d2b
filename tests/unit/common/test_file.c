/* SPDX-License-Identifier: MIT */
/* file: bounded reads, whole writes, atomic publication, locks. */
#include "common/clock.h"
#include "common/file.h"

#include <dirent.h>
#include <grp.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "tests/support/no_locks.h"
#include "tests/support/owned.h"
#include "tests/support/unit.h"
#include "tests/support/wrap.h"

/* What goes wrong next, and what else happens in the process meanwhile. */
static struct {
	bool shrinks;		/* a file, while it is read */
	bool short_write;	/* the next one writes a byte */
	int write_error;	/* of the next write, without a signal */
	int open_error;		/* of the next file that is opened */
	int close_error;	/* of the next file of ours that was written */
	bool not_cut;		/* a file, that is too long */
	long type;		/* 0, or the file system's */
} next;

WRAPPED(ssize_t, read, (int fd, void *data, size_t len))
{
	return next.shrinks ? 0 : __real_read(fd, data, len);
}

WRAPPED(ssize_t, write, (int fd, const void *data, size_t len))
{
	if (next.write_error) {
		errno = next.write_error;
		next.write_error = 0;
		return -1;
	}
	if (next.short_write)
		len = 1;
	next.short_write = false;
	return __real_write(fd, data, len);
}

int __real_openat(int dir_fd, const char *path, int flags, ...);
int __wrap_openat(int dir_fd, const char *path, int flags, mode_t mode);
int __wrap_openat(int dir_fd, const char *path, int flags, mode_t mode)
{
	if (next.open_error) {
		errno = next.open_error;
		next.open_error = 0;
		return -1;
	}
	return __real_openat(dir_fd, path, flags, mode);
}

WRAPPED(int, close, (int fd))
{
	int result = __real_close(fd);

	if (next.close_error && fd >= CMN_FILE_FIRST_NUMBER) {
		errno = next.close_error;
		next.close_error = 0;
		return -1;
	}
	return result;
}

WRAPPED(int, ftruncate, (int fd, off_t len))
{
	return next.not_cut ? -1 : __real_ftruncate(fd, len);
}

WRAPPED(int, fstatfs, (int fd, struct statfs *ret))
{
	int result = __real_fstatfs(fd, ret);

	if (next.type)
		ret->f_type = next.type;
	return result;
}

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
	OWNED(cmn_buffer_release) struct cmn_buffer got;

	CU_ASSERT_EQUAL_FATAL(cmn_file_read(AT_FDCWD, path, 1000, false, &got), CMN_OK);
	CU_ASSERT_TRUE(cmn_view_equal(cmn_buffer_view(&got), cmn_view_of(expected)));
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

/* Such files have a size of 0, or of a page. */
TEST(reads_what_the_kernel_shows_to_its_end)
{
	struct cmn_buffer got;
	char text[4096];
	FILE *file = fopen("/proc/self/auxv", "re");
	size_t len;

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	len = fread(text, 1, sizeof(text), file);
	(void)fclose(file);
	CU_ASSERT_EQUAL_FATAL(cmn_file_read_shown("/proc/self/auxv", 1 << 20, &got), CMN_OK);
	CU_ASSERT_TRUE(got.len > 0 && got.len >= len && memcmp(got.data, text, len) == 0);
	cmn_buffer_release(&got);
	CU_ASSERT_EQUAL(cmn_file_read_shown("/proc/self/auxv", len - 1, &got), CMN_ERR_TOO_LARGE);
	CU_ASSERT_PTR_NULL(got.data);
	unit_write("file", "12345");
	CU_ASSERT_EQUAL_FATAL(cmn_file_read_shown("file", 5, &got), CMN_OK);
	CU_ASSERT_TRUE(cmn_view_equal(cmn_buffer_view(&got), cmn_view_of("12345")));
	cmn_buffer_release(&got);
	CU_ASSERT_EQUAL(cmn_file_read_shown("none", 5, &got), CMN_MISS);
	CU_ASSERT_EQUAL(cmn_file_read_shown(".", 5, &got), CMN_ERR_ACCESS);
	CU_ASSERT_EQUAL(cmn_file_read_shown("/dev/zero", 5, &got), CMN_ERR_ACCESS);
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
	OWNED(cmn_buffer_release) struct cmn_buffer got;

	unit_write("file", "x");
	CU_ASSERT_EQUAL_FATAL(symlink("file", "link"), 0);
	CU_ASSERT_EQUAL(cmn_file_read(AT_FDCWD, "link", 10, false, &got), CMN_ERR_ACCESS);
	CU_ASSERT_EQUAL(cmn_file_read(AT_FDCWD, "link", 10, true, &got), CMN_OK);
}

TEST(reads_into_the_room_of_a_buffer)
{
	OWNED(cmn_buffer_release) struct cmn_buffer buf = { 0 };
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
	CU_ASSERT_EQUAL(cmn_file_read_into(AT_FDCWD, "file", 4, false, NULL, &buf), CMN_ERR_TOO_LARGE);
	CU_ASSERT_EQUAL(cmn_file_read_into(AT_FDCWD, "empty", 4, false, NULL, &buf), CMN_OK);
	CU_ASSERT_EQUAL(buf.len, 0);
	CU_ASSERT_PTR_EQUAL(buf.data, data);
}

TEST(a_file_larger_than_the_buffer_gets_more_room)
{
	OWNED(cmn_buffer_release) struct cmn_buffer buf = { 0 };
	char text[3001];

	memset(text, 'x', 3000);
	text[3000] = '\0';
	unit_write("file", text);
	CU_ASSERT_TRUE_FATAL(cmn_buffer_reserve(&buf, 300));
	CU_ASSERT_EQUAL(cmn_file_read_into(AT_FDCWD, "file", 3000, false, NULL, &buf), CMN_OK);
	CU_ASSERT_TRUE(cmn_view_equal(cmn_buffer_view(&buf), cmn_view_of(text)));
}

TEST(reads_into_the_given_room_from_its_length_on)
{
	static char block[50000];
	struct cmn_room room = { cmn_slabs_new(), sizeof(block) + 1 };
	struct cmn_view view = { block, sizeof(block) };
	OWNED(cmn_buffer_release) struct cmn_buffer buf = { 0 };
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
	status = cmn_file_replace(dir_fd, "file", view);
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
	next.not_cut = true;
	CU_ASSERT_EQUAL(replace_as(other, dir_fd, "no\n"), CMN_ERR_IO);
	next.not_cut = false;
	CU_ASSERT_EQUAL(replace_as(other, dir_fd, "short\n"), CMN_OK);
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

	unit_write("file", "before");
	unit_limit_files(4096);
	CU_ASSERT_EQUAL(cmn_file_publish(AT_FDCWD, "file", &view, 1), CMN_ERR_NOSPACE);
	unit_limit_files(RLIM_INFINITY);
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

TEST(the_last_supplementary_group_is_ones_own)
{
	gid_t mine[] = { 4241, 4242 }, before[256];
	int count = getgroups(256, before);

	if (!unit_is_root() || count < 0)
		return;		/* nobody else can choose */
	CU_ASSERT_EQUAL_FATAL(setgroups(2, mine), 0);
	CU_ASSERT_TRUE(cmn_file_is_of_own_group(4241));
	CU_ASSERT_TRUE(cmn_file_is_of_own_group(4242));
	CU_ASSERT_FALSE(cmn_file_is_of_own_group(4243));
	CU_ASSERT_EQUAL(setgroups((size_t)count, before), 0);
}

TEST(trusts_files_that_nobody_else_can_write)
{
	struct stat info = { .st_mode = S_IFREG | 0644 };

	CU_ASSERT_TRUE(cmn_file_trusted(&info, CMN_FILE_TRUSTED));
	info.st_uid = geteuid();
	CU_ASSERT_TRUE(cmn_file_trusted(&info, CMN_FILE_TRUSTED));
	info.st_mode = S_IFREG | 0660;
	CU_ASSERT_FALSE(cmn_file_trusted(&info, CMN_FILE_TRUSTED));
	CU_ASSERT_TRUE(cmn_file_trusted(&info, CMN_FILE_ANY));
	info.st_mode = S_IFREG | 0602;
	CU_ASSERT_FALSE(cmn_file_trusted(&info, CMN_FILE_TRUSTED));
	info.st_mode = S_IFREG | 0644;
	info.st_uid = geteuid() + 1;
	CU_ASSERT_FALSE(cmn_file_trusted(&info, CMN_FILE_TRUSTED));
}

TEST(a_file_that_shrinks_is_not_whole)
{
	struct cmn_buffer got;

	unit_write("file", "12345");
	next.shrinks = true;
	CU_ASSERT_EQUAL(cmn_file_read(AT_FDCWD, "file", 1000, false, &got), CMN_STALE);
	next.shrinks = false;
}

TEST(a_failed_write_leaves_the_signals_and_tells_its_reason)
{
	void (*before)(int) = signal(SIGPIPE, SIG_IGN);
	sigset_t mask;
	int ends[2];

	CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
	(void)close(ends[0]);
	errno = 0;
	CU_ASSERT_EQUAL(cmn_file_write(ends[1], "x", 1), -1);
	CU_ASSERT_EQUAL(errno, EPIPE);
	CU_ASSERT_EQUAL_FATAL(pthread_sigmask(SIG_BLOCK, NULL, &mask), 0);
	CU_ASSERT_FALSE(sigismember(&mask, SIGPIPE));
	CU_ASSERT_FALSE(sigismember(&mask, SIGXFSZ));
	(void)signal(SIGPIPE, before);
	(void)close(ends[1]);
}

/* As where the file system's own bound is met. */
TEST(a_failure_without_its_signal_keeps_its_reason)
{
	int fd = open("file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	CU_ASSERT_FATAL(fd >= 0);
	next.write_error = EFBIG;
	CU_ASSERT_EQUAL(cmn_file_write(fd, "x", 1), -1);
	CU_ASSERT_EQUAL(errno, EFBIG);
	(void)close(fd);
}

TEST(goes_on_where_a_short_write_ended)
{
	struct cmn_view view = cmn_view_of("12345");

	next.short_write = true;
	CU_ASSERT_EQUAL(cmn_file_publish(AT_FDCWD, "file", &view, 1), CMN_OK);
	check_content("file", "12345");
}

TEST(a_failure_that_passes_leaves_the_file)
{
	int fd = -1;

	unit_write("file", "12345");
	next.open_error = EIO;
	CU_ASSERT_EQUAL(cmn_file_open_healed(AT_FDCWD, "file", &fd), CMN_ERR_IO);
	check_content("file", "12345");
	CU_ASSERT_EQUAL_FATAL(cmn_file_open_healed(AT_FDCWD, "file", &fd), CMN_OK);
	(void)close(fd);
}

/* As one that closes all descriptors and opens its own. */
TEST(a_program_that_closes_everything_gets_no_number_of_ours)
{
	int ours, theirs, low = dup(STDERR_FILENO);

	unit_write("ours", "");
	unit_write("theirs", "theirs");
	CU_ASSERT_EQUAL_FATAL(close(low), 0);
	ours = cmn_file_open(AT_FDCWD, "ours", O_RDWR);
	CU_ASSERT_FATAL(ours >= CMN_FILE_FIRST_NUMBER);
	CU_ASSERT_EQUAL(fcntl(ours, F_GETFD), FD_CLOEXEC);
	CU_ASSERT_EQUAL(cmn_file_raise(ours), ours);
	for (int fd = low; fd < 128; fd++)
		(void)close(fd);
	theirs = open("theirs", O_RDWR | O_CLOEXEC);
	CU_ASSERT_EQUAL(theirs, low);
	CU_ASSERT_EQUAL(cmn_file_write_all(ours, "ours", 4), CMN_ERR_IO);
	check_content("theirs", "theirs");
	(void)close(theirs);
}

TEST(a_process_without_higher_numbers_keeps_the_one_that_it_has)
{
	const struct rlimit few = { CMN_FILE_FIRST_NUMBER, CMN_FILE_FIRST_NUMBER };
	int fd;
	pid_t child = fork();

	CU_ASSERT_FATAL(child >= 0);
	if (child == 0) {
		fd = setrlimit(RLIMIT_NOFILE, &few) == 0 ? cmn_file_open(AT_FDCWD, ".", O_RDONLY | O_DIRECTORY) : -1;
		errno = ENOENT;
		_exit(fd >= 0 && fd < CMN_FILE_FIRST_NUMBER && close(fd) == 0 && cmn_file_raise(-1) == -1 &&
		      errno == ENOENT ? 0 : 1);
	}
	CU_ASSERT(unit_ended_well(child));
}

TEST(publishes_nothing_that_could_not_be_written_to_the_end)
{
	struct cmn_view view = cmn_view_of("12345");

	next.close_error = EDQUOT;
	CU_ASSERT_EQUAL(cmn_file_publish(AT_FDCWD, "file", &view, 1), CMN_ERR_NOSPACE);
	CU_ASSERT_EQUAL(count_files(), 0);
}

TEST(a_directory_may_be_there)
{
	CU_ASSERT_EQUAL(cmn_file_make_dir(AT_FDCWD, "directory", 0700), CMN_OK);
	CU_ASSERT_EQUAL(cmn_file_make_dir(AT_FDCWD, "directory", 0700), CMN_OK);
}

TEST(knows_other_machines_file_systems)
{
	int fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	CU_ASSERT_FATAL(fd >= 0);
	next.type = 0x6969;
	CU_ASSERT_TRUE(cmn_file_is_remote(fd));
	next.type = 0x65735546;
	CU_ASSERT_TRUE(cmn_file_is_remote(fd));
	next.type = 0xef53;
	CU_ASSERT_FALSE(cmn_file_is_remote(fd));
	next.type = 0;
	(void)close(fd);
}

TEST(a_file_system_without_locks_is_no_lock_that_is_held)
{
	int fd;

	unit_write("file", "");
	fd = open("file", O_RDWR | O_CLOEXEC);
	CU_ASSERT_FATAL(fd >= 0);
	has_no_locks = true;
	CU_ASSERT_EQUAL(cmn_file_lock(fd, 0), CMN_ERR_IO);
	has_no_locks = false;
	(void)close(fd);
}

/* A child has the same open file: closing here would leave the lock with it. */
TEST(unlocks_what_a_child_has_too)
{
	int fd, childs, other;

	unit_write("file", "");
	fd = cmn_file_open(AT_FDCWD, "file", O_RDWR);
	other = open("file", O_RDWR | O_CLOEXEC);
	childs = dup(fd);
	CU_ASSERT_FATAL(fd >= 0 && other >= 0 && childs >= 0);
	CU_ASSERT_EQUAL(cmn_file_lock(fd, 0), CMN_OK);
	CU_ASSERT_EQUAL(flock(other, LOCK_EX | LOCK_NB), -1);
	cmn_file_unlock(fd);
	CU_ASSERT_EQUAL(flock(other, LOCK_EX | LOCK_NB), 0);
	(void)close(fd);
	(void)close(childs);
	(void)close(other);
}

TEST(a_child_has_no_lock_that_its_parent_has)
{
	int fd, other;
	pid_t child;

	unit_write("file", "");
	fd = cmn_file_open(AT_FDCWD, "file", O_RDWR);
	other = open("file", O_RDWR | O_CLOEXEC);
	CU_ASSERT_FATAL(fd >= 0 && other >= 0);
	CU_ASSERT_EQUAL(cmn_file_lock(fd, 0), CMN_OK);
	child = fork();
	CU_ASSERT_FATAL(child >= 0);
	if (child == 0) {
		cmn_file_locks_fork_child();
		_exit(fcntl(fd, F_GETFD) < 0 && fcntl(other, F_GETFD) >= 0 ? 0 : 1);
	}
	CU_ASSERT(unit_ended_well(child));
	CU_ASSERT_EQUAL(flock(other, LOCK_EX | LOCK_NB), -1);
	cmn_file_unlock(fd);
	CU_ASSERT_EQUAL(flock(other, LOCK_EX | LOCK_NB), 0);
	/* What is not locked any more is a file like others. */
	child = fork();
	CU_ASSERT_FATAL(child >= 0);
	if (child == 0) {
		cmn_file_locks_fork_child();
		_exit(fcntl(fd, F_GETFD) >= 0 ? 0 : 1);
	}
	CU_ASSERT(unit_ended_well(child));
	(void)close(fd);
	(void)close(other);
}

/* In a child, what its parent locked is forgotten: a file by the same number is the child's own. */
TEST(a_childs_file_by_a_locks_number_is_its_own)
{
	int fd;
	pid_t child;

	unit_write("file", "");
	fd = cmn_file_open(AT_FDCWD, "file", O_RDWR);
	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL(cmn_file_lock(fd, 0), CMN_OK);
	child = fork();
	CU_ASSERT_FATAL(child >= 0);
	if (child == 0) {
		cmn_file_locks_fork_child();
		if (cmn_file_open(AT_FDCWD, "file", O_RDWR) != fd)
			_exit(2);
		/* As its own child does. */
		cmn_file_locks_fork_child();
		_exit(fcntl(fd, F_GETFD) >= 0 ? 0 : 1);
	}
	CU_ASSERT(unit_ended_well(child));
	/* So it is when the lock was left to a program. */
	cmn_file_leave_lock(fd);
	CU_ASSERT_EQUAL(cmn_file_open(AT_FDCWD, "file", O_RDWR), fd);
	cmn_file_locks_fork_child();
	CU_ASSERT_EQUAL(close(fd), 0);
}

/* As where no file can be without a name. */
TEST(the_file_systems_clock_leaves_no_file)
{
	uint64_t now;

	next.open_error = EOPNOTSUPP;
	now = cmn_file_clock(AT_FDCWD);
	CU_ASSERT_EQUAL(next.open_error, 0);
	CU_ASSERT(now > 0 && cmn_file_clock(AT_FDCWD) >= now);
	CU_ASSERT_EQUAL(count_files(), 0);
}
