/* SPDX-License-Identifier: MIT */
/* descriptor: what a forked child, and a program that closes everything, do to the cache's files. */
#include "common/descriptor.h"

#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "common/clock.h"
#include "common/file.h"
#include "tests/support/unit.h"
#include "tests/support/wrap.h"

#define FORK_WAIT_NS UINT64_C(50000000)	/* descriptor.c's */
#define LOCK_WAIT_NS UINT64_C(10000000000)

/* Gives the number to a file of the application's. */
static void replace(int fd, const char *path)
{
	int own = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	CU_ASSERT_FATAL(own >= 0 && own != fd);
	CU_ASSERT_EQUAL(dup2(own, fd), fd);
	(void)close(own);	/* the other one is open */
}

/* The application replaces what is opened next, before anybody looks at it. */
static bool replaces_next;
static bool forks_always;	/* while anything is opened */
static bool server_is_gone;	/* of each file that somebody asks for */
static unsigned int waits;	/* of those for a fork; the first one ends it, where it should */
static bool ends_fork;
static pid_t (*forks_child)(void);	/* what has a child by then */
static pid_t forked;

WRAPPED(int, fstat, (int fd, struct stat *info))
{
	if (server_is_gone) {
		errno = ESTALE;
		return -1;
	}
	return __real_fstat(fd, info);
}

WRAPPED(int, nanosleep, (const struct timespec *pause, struct timespec *rest))
{
	waits++;
	if (!ends_fork)
		return __real_nanosleep(pause, rest);
	ends_fork = false;
	forked = forks_child ? forks_child() : 0;
	cmn_descriptors_fork_parent();
	return 0;
}

int openat(int dir_fd, const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list list;
	int fd;

	va_start(list, flags);
	if (flags & O_CREAT)
		mode = va_arg(list, mode_t);
	va_end(list);
	fd = (int)syscall(SYS_openat, dir_fd, path, flags, mode);
	if (forks_always) {
		cmn_descriptors_fork_prepare();
		cmn_descriptors_fork_parent();
	}
	if (fd >= 0 && replaces_next) {
		replaces_next = false;
		replace(fd, "application");
	}
	return fd;
}

TEST(another_files_number_is_left_alone)
{
	int next, fd = cmn_descriptor_open(AT_FDCWD, ".", O_RDONLY | O_DIRECTORY);
	struct stat info;

	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_TRUE(cmn_descriptor_is_ours(fd));
	CU_ASSERT_TRUE(cmn_descriptor_stat(fd, &info));
	CU_ASSERT_EQUAL(fcntl(fd, F_GETFD), FD_CLOEXEC);
	replace(fd, "application");
	CU_ASSERT_FALSE(cmn_descriptor_is_ours(fd));
	CU_ASSERT_FALSE(cmn_descriptor_stat(fd, &info));
	CU_ASSERT_EQUAL(cmn_descriptor_close(fd), -1);
	CU_ASSERT_EQUAL(errno, EBADF);
	CU_ASSERT_TRUE(fcntl(fd, F_GETFD) >= 0);
	(void)close(fd);
	/* Closed by the application, and nobody's now. */
	fd = cmn_descriptor_open(AT_FDCWD, ".", O_RDONLY | O_DIRECTORY);
	CU_ASSERT_EQUAL(close(fd), 0);
	CU_ASSERT_FALSE(cmn_descriptor_is_ours(fd));
	/* Another thread of the cache may still have it: it does not come to mean the new file. */
	next = cmn_descriptor_open(AT_FDCWD, "application", O_RDONLY);
	CU_ASSERT_TRUE(next >= 0 && next != fd);
	CU_ASSERT_TRUE(cmn_descriptor_is_ours(next));
	CU_ASSERT_FALSE(cmn_descriptor_is_ours(fd));
	CU_ASSERT_EQUAL(cmn_descriptor_close(next), 0);
	CU_ASSERT_EQUAL(cmn_descriptor_close(fd), -1);
	/* Nobody has it. */
	CU_ASSERT_EQUAL(cmn_descriptor_open(AT_FDCWD, "application", O_RDONLY), fd);
	CU_ASSERT_TRUE(cmn_descriptor_is_ours(fd));
	CU_ASSERT_EQUAL(cmn_descriptor_close(fd), 0);
	CU_ASSERT_TRUE(fcntl(fd, F_GETFD) < 0);
	CU_ASSERT_EQUAL(cmn_descriptor_open(AT_FDCWD, "nowhere", O_RDONLY), -1);
	CU_ASSERT_EQUAL(errno, ENOENT);
}

/* Whether the path's lock can be had, by a description of its own. */
static bool is_free(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool got = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;

	(void)close(fd);
	return got;
}

static pid_t fork_with_handlers(void)
{
	pid_t pid;

	cmn_descriptors_fork_prepare();
	pid = fork();
	CU_ASSERT_FATAL(pid >= 0);
	if (pid == 0)
		cmn_descriptors_fork_child();
	else
		cmn_descriptors_fork_parent();
	return pid;
}

/* A child, past its handler, that lives until the pipe's other end is closed. */
static pid_t start_child(int *ret_fd)
{
	int ends[2], ready[2];
	char byte = 0;
	pid_t pid;

	CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
	CU_ASSERT_EQUAL_FATAL(pipe(ready), 0);
	pid = fork_with_handlers();
	if (pid == 0) {
		(void)close(ends[1]);
		(void)!write(ready[1], &byte, 1);
		(void)!read(ends[0], &byte, 1);
		_exit(0);
	}
	CU_ASSERT_EQUAL(read(ready[0], &byte, 1), 1);
	(void)close(ready[0]);
	(void)close(ready[1]);
	(void)close(ends[0]);
	*ret_fd = ends[1];
	return pid;
}

static void end_child(pid_t pid, int fd)
{
	(void)close(fd);
	CU_ASSERT(unit_ended_well(pid));
}

TEST(a_forked_child_has_no_lock)
{
	int own, other, end;
	pid_t pid;

	unit_write("lock", "");
	CU_ASSERT_EQUAL_FATAL(cmn_file_open_own(AT_FDCWD, "lock", &own), CMN_OK);
	other = cmn_descriptor_open(AT_FDCWD, "lock", O_RDONLY);
	CU_ASSERT_EQUAL(cmn_file_lock(own, 0), CMN_OK);
	replace(other, "application");
	pid = start_child(&end);
	CU_ASSERT_FALSE(is_free("lock"));
	/* As at its owner's death: nothing is unlocked, only closed. */
	CU_ASSERT_EQUAL(close(own), 0);
	CU_ASSERT_TRUE(is_free("lock"));
	end_child(pid, end);
	/* In a child the application's files are open. */
	pid = fork_with_handlers();
	if (pid == 0)
		_exit(fcntl(other, F_GETFD) < 0);
	end_child(pid, other);
	(void)cmn_descriptor_close(own);
}

TEST(what_was_opened_during_a_fork_is_opened_again)
{
	unsigned int forks = cmn_descriptor_forks();
	int fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	cmn_descriptors_fork_prepare();
	cmn_descriptors_fork_parent();
	errno = 0;
	CU_ASSERT_EQUAL(cmn_descriptor_keep(fd, forks), -1);
	CU_ASSERT_EQUAL(errno, EINTR);
	CU_ASSERT_TRUE(fcntl(fd, F_GETFD) < 0);
}

TEST(a_fork_that_takes_for_ever_is_waited_for_once)
{
	int fd;

	cmn_descriptors_fork_prepare();
	fd = cmn_descriptor_open(AT_FDCWD, ".", O_RDONLY | O_DIRECTORY);
	CU_ASSERT_TRUE(fd >= 0);
	waits = 0;
	CU_ASSERT_EQUAL(cmn_descriptor_close(fd), 0);
	CU_ASSERT_EQUAL(waits, 0);
	cmn_descriptors_fork_parent();
}

static unsigned int count_open(void)
{
	unsigned int count = 0;

	for (int fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

TEST(what_was_opened_during_a_fork_is_closed)
{
	unsigned int forks = cmn_descriptor_forks(), before = count_open();

	cmn_descriptors_fork_prepare();
	cmn_descriptors_fork_parent();
	CU_ASSERT_EQUAL(cmn_descriptor_keep(open(".", O_RDONLY | O_CLOEXEC), forks), -1);
	CU_ASSERT_EQUAL(count_open(), before);
}

TEST(a_program_that_forks_all_the_time_opens_files)
{
	int fd;

	forks_always = true;
	fd = cmn_descriptor_open(AT_FDCWD, ".", O_RDONLY | O_DIRECTORY);
	forks_always = false;
	CU_ASSERT_TRUE(fd >= 0);
	CU_ASSERT_EQUAL(cmn_descriptor_close(fd), 0);
}

TEST(nobody_waits_for_a_fork_that_is_over)
{
	waits = 0;
	cmn_descriptors_fork_prepare();
	cmn_descriptors_fork_parent();
	(void)cmn_descriptor_forks();
	CU_ASSERT_EQUAL(waits, 0);
	/* Nor a child for the one that it comes from. */
	cmn_descriptors_fork_prepare();
	cmn_descriptors_fork_child();
	(void)cmn_descriptor_forks();
	CU_ASSERT_EQUAL(waits, 0);
}

/* A child that has it open is to find it in its table. */
TEST(closing_waits_for_a_fork)
{
	int fd = cmn_descriptor_open(AT_FDCWD, ".", O_RDONLY | O_DIRECTORY);

	CU_ASSERT_TRUE(fd >= 0);
	waits = 0;
	cmn_descriptors_fork_prepare();
	ends_fork = true;
	CU_ASSERT_EQUAL(cmn_descriptor_close(fd), 0);
	CU_ASSERT_EQUAL(waits, 1);
	if (ends_fork)
		cmn_descriptors_fork_parent();
	ends_fork = false;
}

static int closing = -1, copy = -1;

/* Whose files were copied before the number was closed, and whose memory after that. */
static pid_t fork_with_copy(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		if (dup2(copy, closing) != closing)
			_exit(2);
		cmn_descriptors_fork_child();
		_exit(fcntl(closing, F_GETFD) < 0 ? 0 : 1);
	}
	return pid;
}

TEST(a_child_closes_what_was_closed_while_it_was_forked)
{
	closing = cmn_descriptor_open(AT_FDCWD, ".", O_RDONLY | O_DIRECTORY);
	copy = dup(closing);
	CU_ASSERT_FATAL(closing >= 0 && copy >= 0);
	cmn_descriptors_fork_prepare();
	ends_fork = true;
	forks_child = fork_with_copy;
	CU_ASSERT_EQUAL(cmn_descriptor_close(closing), 0);
	forks_child = NULL;
	CU_ASSERT_FALSE_FATAL(ends_fork);
	CU_ASSERT(unit_ended_well(forked));
	(void)close(copy);
}

TEST(what_cannot_be_asked_for_is_ours)
{
	int fd = cmn_descriptor_open(AT_FDCWD, ".", O_RDONLY | O_DIRECTORY);

	CU_ASSERT_TRUE(fd >= 0);
	server_is_gone = true;
	CU_ASSERT_TRUE(cmn_descriptor_is_ours(fd));
	server_is_gone = false;
	CU_ASSERT_EQUAL(cmn_descriptor_close(fd), 0);
}

TEST(a_low_number_serves_where_no_other_is_free)
{
	struct rlimit old, limit;
	int fd;

	CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_NOFILE, &old), 0);
	limit = old;
	limit.rlim_cur = 40;
	CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_NOFILE, &limit), 0);
	fd = cmn_descriptor_open(AT_FDCWD, ".", O_RDONLY | O_DIRECTORY);
	CU_ASSERT_EQUAL(setrlimit(RLIMIT_NOFILE, &old), 0);
	CU_ASSERT_TRUE(fd >= 0 && fd < 40);
	CU_ASSERT_EQUAL(cmn_descriptor_close(fd), 0);
}

TEST(more_than_it_can_know_are_open_all_the_same)
{
	int fds[200];

	for (int i = 0; i < 200; i++) {
		fds[i] = cmn_descriptor_open(AT_FDCWD, ".", O_RDONLY | O_DIRECTORY);
		CU_ASSERT_TRUE(fds[i] >= 0);
		CU_ASSERT_TRUE(cmn_descriptor_is_ours(fds[i]));
	}
	for (int i = 0; i < 200; i++)
		CU_ASSERT_EQUAL(cmn_descriptor_close(fds[i]), 0);
}

struct opener {
	atomic_bool stop, failed;
	atomic_uint opened;
};

/* As a writer that dies each time: it closes, and unlocks nothing. */
static void *open_and_lock(void *arg)
{
	struct opener *opener = arg;

	while (!atomic_load(&opener->stop)) {
		int fd = cmn_descriptor_open(AT_FDCWD, "lock", O_RDONLY);

		/* A child that was just forked may have it for a moment. */
		if (fd < 0 || cmn_file_lock(fd, cmn_clock_monotonic() + LOCK_WAIT_NS) != CMN_OK)
			atomic_store(&opener->failed, true);
		(void)cmn_descriptor_close(fd);
		if (atomic_load(&opener->failed))
			break;
		atomic_fetch_add(&opener->opened, 1);
	}
	return NULL;
}

TEST(no_child_has_what_was_opened_while_it_was_forked)
{
	enum { CHILDREN = 100, PATIENCE_S = 60 };
	uint64_t longest = 0;
	struct opener opener = { 0 };
	unsigned int count = 0;
	pid_t pids[CHILDREN];
	int ends[CHILDREN];
	pthread_t thread;

	unit_write("lock", "");
	(void)alarm(PATIENCE_S);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, open_and_lock, &opener), 0);
	while (count < CHILDREN && !atomic_load(&opener.failed)) {
		uint64_t start = cmn_clock_monotonic(), took;

		if (atomic_load(&opener.opened) < 3 * count) {
			(void)sched_yield();
			continue;
		}
		pids[count] = start_child(&ends[count]);
		took = cmn_clock_monotonic() - start;
		longest = took > longest ? took : longest;
		count++;
	}
	atomic_store(&opener.stop, true);
	CU_ASSERT_EQUAL(pthread_join(thread, NULL), 0);
	(void)alarm(0);
	/* A fork that takes longer, on a busy machine or under a sanitizer, is not waited for. */
	CU_ASSERT_TRUE(!atomic_load(&opener.failed) || longest >= FORK_WAIT_NS);
	/* The later ones have the earlier ones' ends, too. */
	while (count-- > 0)
		end_child(pids[count], ends[count]);
}

/* As in a program that closes all and opens its own, between any two of a writer's calls. */
TEST(cache_bytes_stay_out_of_the_applications_file)
{
	struct cmn_buffer got;
	int fd;

	CU_ASSERT_EQUAL_FATAL(cmn_file_open_own(AT_FDCWD, "own", &fd), CMN_OK);
	replace(fd, "application");
	CU_ASSERT_FALSE(cmn_descriptor_is_ours(fd));
	CU_ASSERT_NOT_EQUAL(cmn_file_publish(fd, "new", NULL, 0), CMN_OK);
	(void)close(fd);
	CU_ASSERT_EQUAL(cmn_file_read(AT_FDCWD, "application", 100, false, &got), CMN_OK);
	CU_ASSERT_EQUAL(got.len, 0);
	cmn_buffer_release(&got);
}

TEST(a_number_that_changes_while_it_is_opened_is_not_used)
{
	struct stat file, application;
	int fd;

	unit_write("own", "");
	replaces_next = true;
	CU_ASSERT_EQUAL_FATAL(cmn_file_open_own(AT_FDCWD, "own", &fd), CMN_OK);
	CU_ASSERT_FALSE(replaces_next);
	CU_ASSERT_EQUAL(fstat(fd, &file), 0);
	CU_ASSERT_EQUAL(stat("application", &application), 0);
	CU_ASSERT_NOT_EQUAL(file.st_ino, application.st_ino);
	CU_ASSERT_TRUE(cmn_file_is_named(AT_FDCWD, "own", fd));
	CU_ASSERT_EQUAL(cmn_descriptor_close(fd), 0);
}
