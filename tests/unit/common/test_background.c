/* SPDX-License-Identifier: MIT */
/* background: threads whose files are their own, and processes that end with them. */
#include "common/background.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "common/descriptor.h"
#include "tests/support/unit.h"
#include "tests/support/wrap.h"

static bool shares_descriptors;

WRAPPED(bool, cmn_descriptors_separate, (void))
{
	return !shares_descriptors && __real_cmn_descriptors_separate();
}

static atomic_int creations_left = 100;

WRAPPED(int, pthread_create, (pthread_t *ret, const pthread_attr_t *attr, void *(*run)(void *), void *arg))
{
	return atomic_fetch_sub(&creations_left, 1) > 0 ? __real_pthread_create(ret, attr, run, arg)
							: EAGAIN;
}

AFTER_EACH
{
	shares_descriptors = false;
	atomic_store(&creations_left, 100);
}

struct work {
	int fd;			/* of the process */
	int own;		/* of the thread */
	int first;		/* the lowest that it may be */
	bool separate, sees_fd, takes_signals, ours;
	atomic_bool opened, go_on;
	ssize_t wrote;
};

static void work(void *arg)
{
	struct work *work = arg;
	sigset_t blocked;

	work->separate = cmn_descriptors_are_separate();
	work->sees_fd = fcntl(work->fd, F_GETFD) >= 0;
	CU_ASSERT_EQUAL(pthread_sigmask(SIG_SETMASK, NULL, &blocked), 0);
	work->takes_signals = !sigismember(&blocked, SIGTERM) || !sigismember(&blocked, SIGINT);
	while (work->first && open("/", O_PATH | O_CLOEXEC) < work->first - 1)
		continue;
	work->own = cmn_descriptor_open(AT_FDCWD, "file", O_RDWR);
	atomic_store(&work->opened, true);
	while (!atomic_load(&work->go_on))
		(void)sched_yield();
	work->ours = cmn_descriptor_is_ours(work->own);
	work->wrote = write(work->own, "text", 4);
	CU_ASSERT_EQUAL(cmn_descriptor_close(work->own), 0);
}

static pthread_t start(struct work *work_of)
{
	pthread_t thread;

	unit_write("file", "");
	CU_ASSERT_FATAL(cmn_background_start(work, work_of, &thread));
	while (!atomic_load(&work_of->opened))
		(void)sched_yield();
	return thread;
}

static void finish(struct work *work_of, pthread_t thread)
{
	atomic_store(&work_of->go_on, true);
	CU_ASSERT_EQUAL(pthread_join(thread, NULL), 0);
}

#if !UNIT_SHARED_DESCRIPTORS
TEST(its_files_are_its_own)
{
	struct work one = { 0 }, two = { 0 };
	int pipe_fds[2];
	pthread_t first, second;
	char byte;

	CU_ASSERT_EQUAL_FATAL(pipe(pipe_fds), 0);
	one.fd = two.fd = pipe_fds[1];
	first = start(&one);
	second = start(&two);
	CU_ASSERT(one.separate && two.separate);
	CU_ASSERT_FALSE(one.sees_fd || two.sees_fd || one.takes_signals);
	CU_ASSERT_FALSE(cmn_descriptors_are_separate());
	/* Whoever reads from a pipe of the application's sees its end. */
	CU_ASSERT_EQUAL(close(pipe_fds[1]), 0);
	CU_ASSERT_EQUAL(read(pipe_fds[0], &byte, 1), 0);
	/* A program that closes everything closes nothing of it. */
	for (int fd = 3; fd < 1000; fd++)
		(void)close(fd);
	finish(&one, first);
	finish(&two, second);
	CU_ASSERT_EQUAL(one.wrote, 4);
	CU_ASSERT_EQUAL(two.wrote, 4);
}

/* The same number, for a file of the process that the cache has in its table, or an application's. */
static void have_equal_numbers(bool in_table)
{
	struct work one = { 0 };
	pthread_t thread;
	int theirs;

	unit_write("theirs", "");
	theirs = cmn_descriptor_open(AT_FDCWD, "theirs", O_RDWR);
	CU_ASSERT_FATAL(theirs > STDERR_FILENO + 1);
	if (!in_table) {
		CU_ASSERT_EQUAL(dup2(theirs, theirs - 1), theirs - 1);
		CU_ASSERT_EQUAL(cmn_descriptor_close(theirs), 0);
		CU_ASSERT_EQUAL(dup2(theirs - 1, theirs), theirs);
		(void)close(theirs - 1);
	}
	one.first = theirs;
	thread = start(&one);
	CU_ASSERT_EQUAL(one.own, theirs);
	CU_ASSERT(cmn_descriptor_is_ours(theirs));
	finish(&one, thread);
	CU_ASSERT(one.ours);
	CU_ASSERT_EQUAL(one.wrote, 4);
	CU_ASSERT(cmn_descriptor_is_ours(theirs));
	CU_ASSERT_EQUAL(cmn_descriptor_close(theirs), 0);
}

TEST(the_processs_numbers_are_not_its)
{
	have_equal_numbers(true);
	have_equal_numbers(false);
}

static void print(void *arg)
{
	int own;

	/* A library that has something to say. */
	CU_ASSERT_EQUAL(write(STDERR_FILENO, "message", 7), -1);
	CU_ASSERT_EQUAL(errno, EBADF);
	own = open("file", O_RDWR | O_CLOEXEC);
	CU_ASSERT(own > STDERR_FILENO);
	CU_ASSERT_EQUAL(write(STDOUT_FILENO, "message", 7), -1);
	(void)close(own);
	*(bool *)arg = true;
}

TEST(what_it_prints_goes_nowhere)
{
	bool done = false;
	pthread_t thread;

	unit_write("file", "");
	CU_ASSERT_FATAL(cmn_background_start(print, &done, &thread));
	CU_ASSERT_EQUAL(pthread_join(thread, NULL), 0);
	CU_ASSERT(done);
	CU_ASSERT_EQUAL(system("test ! -s file"), 0);
}
#endif

TEST(where_it_cannot_be_its_files_are_the_processs)
{
	struct work one = { 0 };
	pthread_t thread;

	shares_descriptors = true;
	thread = start(&one);
	CU_ASSERT(one.sees_fd && !one.separate && !one.takes_signals);
	CU_ASSERT(fcntl(one.own, F_GETFD) >= 0);
	finish(&one, thread);
	CU_ASSERT_EQUAL(one.wrote, 4);
	/* The second thread cannot be made. */
	one = (struct work){ 0 };
	shares_descriptors = false;
	atomic_store(&creations_left, 1);
	thread = start(&one);
	CU_ASSERT(one.sees_fd && !one.separate);
	finish(&one, thread);
	CU_ASSERT_EQUAL(one.wrote, 4);
}

TEST(without_threads_there_is_none)
{
	struct work one = { 0 };
	pthread_t thread;

	atomic_store(&creations_left, 0);
	CU_ASSERT_FALSE(cmn_background_start(work, &one, &thread));
	CU_ASSERT_FALSE(one.opened);
}

/* With ThreadSanitizer a process does not end with its last other thread. */
#if !defined(__SANITIZE_THREAD__)
static void say_goodbye(void)
{
	if (write(STDOUT_FILENO, "goodbye", 7) != 7)
		abort();
}

/* Until the process's first thread has ended. */
static void idle(void *arg)
{
	char text[256], state = ' ';
	const char *at;
	ssize_t got;
	int fd;

	(void)arg;
	while (state != 'Z') {
		fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
		got = read(fd, text, sizeof(text) - 1);
		(void)close(fd);
		text[got > 0 ? got : 0] = '\0';
		at = strrchr(text, ')');
		state = at && at[1] ? at[2] : ' ';
	}
}

/* As SystemCallFilter=~@resources does, whose default is to kill. */
static bool forbid_policies(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_setscheduler, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void nothing(void *arg)
{
	(void)arg;
}

TEST(a_filter_of_system_calls_kills_nobody)
{
	pthread_t thread;
	pid_t child = fork();

	CU_ASSERT_FATAL(child >= 0);
	if (child == 0) {
		if (!forbid_policies())
			_exit(0);	/* not to be had here */
		if (!cmn_background_start(nothing, NULL, &thread) || pthread_join(thread, NULL) != 0)
			_exit(1);
		_exit(0);
	}
	CU_ASSERT(unit_ended_well(child));
}

/* The C library calls exit() in a process's last thread: handlers and streams need the process's files there. */
TEST(a_process_whose_last_thread_it_is_ends_with_its_files)
{
	int pipe_fds[2];
	char text[64] = "";
	pthread_t thread;
	ssize_t got, len = 0;
	pid_t child;

	CU_ASSERT_EQUAL_FATAL(pipe(pipe_fds), 0);
	child = fork();
	CU_ASSERT_FATAL(child >= 0);
	if (child == 0) {
		if (dup2(pipe_fds[1], STDOUT_FILENO) != STDOUT_FILENO || atexit(say_goodbye) != 0 ||
		    setvbuf(stdout, NULL, _IOFBF, 4096) != 0 || printf(" in a buffer") < 0 ||
		    !cmn_background_start(idle, NULL, &thread) || pthread_detach(thread) != 0)
			_exit(1);
		pthread_exit(NULL);
	}
	(void)close(pipe_fds[1]);
	while ((got = read(pipe_fds[0], text + len, sizeof(text) - 1 - (size_t)len)) > 0)
		len += got;
	(void)close(pipe_fds[0]);
	CU_ASSERT(unit_ended_well(child));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "goodbye"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, " in a buffer"));
}
#endif
