/* SPDX-License-Identifier: MIT */
/*
 * spawn: two clones that share the memory of the caller, who stands still until
 * the second has become the program. The first, which is the parent of the
 * second and ends at once, sends no signal when it ends, so that only a wait
 * for clones sees it. None of this calls malloc or takes a lock.
 */
#include "common/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK_SIZE ((size_t)64 << 10)
#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)	/* Linux 5.11 */
#endif
/* Without close_range (before Linux 5.9): more than a process has open. */
#define LAST_FD 65536
#define SIGSET_SIZE 8	/* bytes, of the kernel's set of signals */

struct spawn {
	const char *path;
	char *const *argv;
	char *const *envp;
	int keep_fd;
	char *stacks;		/* of both clones, which run at the same time */
	int error;		/* errno of what went wrong, or 0 */
};

/*
 * By system calls alone: the C library, or a sanitizer's in its place, would note
 * in the memory that is shared what is true of this process only.
 * false: errno says why.
 */
static bool set_descriptors(int keep_fd)
{
	long null_fd = syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR, 0);

	/* A number above those that it is copied to. */
	if (null_fd < 0 ||
	    (keep_fd >= 0 && (keep_fd = (int)syscall(SYS_fcntl, keep_fd, F_DUPFD, 4)) < 0))
		return false;
	for (int fd = 0; fd < CMN_SPAWN_KEPT_FD; fd++) {
		if (null_fd != fd && syscall(SYS_dup3, null_fd, fd, 0) < 0)
			return false;
	}
	if (keep_fd >= 0 && syscall(SYS_dup3, keep_fd, CMN_SPAWN_KEPT_FD, 0) < 0)
		return false;
	keep_fd = keep_fd >= 0 ? CMN_SPAWN_KEPT_FD + 1 : CMN_SPAWN_KEPT_FD;
	/* By exec, and so after the caller goes on: closing a file on NFS waits until it is written. */
	if (syscall(SYS_close_range, keep_fd, ~0U, CLOSE_RANGE_CLOEXEC) < 0 &&
	    syscall(SYS_close_range, keep_fd, ~0U, 0) < 0) {
		for (int fd = keep_fd; fd < LAST_FD; fd++)
			(void)syscall(SYS_close, fd);	/* most are not open */
	}
	return true;
}

static void reset_signals(void)
{
	/* The kernel's structure has this size at most; zeros are SIG_DFL, and no signal. */
	static const uint64_t nothing[8];

	for (int number = 1; number < _NSIG; number++)
		(void)syscall(SYS_rt_sigaction, number, nothing, NULL, SIGSET_SIZE);	/* two cannot be set */
	(void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, nothing, NULL, SIGSET_SIZE);
}

/* Of linux/ioprio.h and linux/mempolicy.h: IOPRIO_WHO_PROCESS, IOPRIO_CLASS_NONE, MPOL_DEFAULT. */
enum { IO_PROCESS = 1, IO_BY_NICE_VALUE = 0, MEMORY_ANYWHERE = 0 };
static const struct sched_param no_priority;
static const uint8_t all_processors[32] = {
	0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
};

static int become_program(void *arg)
{
	struct spawn *spawn = arg;

	errno = 0;
	(void)syscall(SYS_setsid);	/* it leads no group yet */
	/*
	 * It may serve others for long: not on this thread's processors, nor by its policy alone. A filter
	 * of system calls may kill for that, and before Linux 5.16 the caller with it, whose memory this is.
	 */
	if (syscall(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0) == 0) {
		(void)syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &no_priority);
		(void)syscall(SYS_sched_setaffinity, 0, sizeof(all_processors), all_processors);
		(void)syscall(SYS_ioprio_set, IO_PROCESS, 0, IO_BY_NICE_VALUE);
		(void)syscall(SYS_set_mempolicy, MEMORY_ANYWHERE, NULL, 0);
	}
	/* What the application handles must not run here, and what it ignores is not ours to ignore. */
	reset_signals();
	if (set_descriptors(spawn->keep_fd) && syscall(SYS_chdir, "/") == 0) {
		(void)syscall(SYS_umask, 077);
		(void)syscall(SYS_execve, spawn->path, spawn->argv, spawn->envp);
	}
	spawn->error = errno ? errno : EIO;
	syscall(SYS_exit_group, 127);
	return 0;
}

static int start_program(void *arg)
{
	struct spawn *spawn = arg;

	if (clone(become_program, spawn->stacks + 2 * STACK_SIZE, CLONE_VM | CLONE_VFORK | SIGCHLD,
		  spawn) < 0)
		spawn->error = errno;
	syscall(SYS_exit_group, 0);
	return 0;
}

/* What else an errno means to other callers, such as CMN_BUSY, it does not here. */
static enum cmn_status status_of(int error)
{
	enum cmn_status status = cmn_status_from_errno(error);

	return status == CMN_OK || status == CMN_MISS || status == CMN_ERR_ACCESS ||
	       status == CMN_ERR_NOMEM ? status : CMN_ERR_IO;
}

/* It might wait for all its children to end, or for one that it does not know. */
static bool gets_orphans(void)
{
	int is_subreaper = 0;

	return getpid() == 1 || (prctl(PR_GET_CHILD_SUBREAPER, &is_subreaper) == 0 && is_subreaper);
}

enum cmn_status cmn_spawn_detached(const char *path, char *const argv[], char *const envp[],
				   int keep_fd)
{
	struct spawn spawn = { .path = path, .argv = argv, .envp = envp, .keep_fd = keep_fd };
	sigset_t all, before;
	pid_t pid;

	if (gets_orphans())
		return CMN_ERR_INVALID;
	spawn.stacks = malloc(2 * STACK_SIZE);
	if (!spawn.stacks)
		return CMN_ERR_NOMEM;
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);	/* fails on misuse only */
	/* The descriptors stay the caller's: none is closed when the first one ends. */
	pid = clone(start_program, spawn.stacks + STACK_SIZE, CLONE_VM | CLONE_VFORK | CLONE_FILES,
		    &spawn);
	if (pid < 0)
		spawn.error = errno;
	while (pid > 0 && waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		continue;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	free(spawn.stacks);
	return status_of(spawn.error);
}
