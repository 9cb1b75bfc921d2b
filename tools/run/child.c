/* SPDX-License-Identifier: MIT */
/* child: one loop that waits for children, signals and pipes. */
#include "tools/run/child.h"

#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/file.h"

#define NS_PER_MS UINT64_C(1000000)
/* A process that SIGKILL does not end within this is inside a driver's kernel part. */
#define KILL_NS (5000 * NS_PER_MS)
/* A shorter wait for a processor does not count. */
#define SHARE_NS (10 * NS_PER_MS)
/* Nor does more than so many times the limit: what spins at idle priority ends some day. */
#define LONGEST 20
#define SCHEDSTAT_MAX 256
#define UNABLE 125

/* As child_begin found and made it. */
static struct {
	enum child_kind kind;
	sigset_t watched, mask_before;
	struct sigaction action_before;	/* of SIGCHLD */
} begun;

/* What the caller had ignored (nohup) stays ignored. */
static bool is_ignored(int number)
{
	struct sigaction action;

	return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

static void choose_signals(enum child_kind kind, sigset_t *ret)
{
	static const int ending[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	/*
	 * What a fault of this process raises, and SIGCONT, which has done its work when it
	 * arrives.
	 */
	static const int own[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS,
				   SIGCONT };

	/* None of these can fail for these. */
	(void)(kind == CHILD_COMMAND ? sigfillset(ret) : sigemptyset(ret));
	(void)sigaddset(ret, SIGCHLD);
	for (size_t i = 0; kind == CHILD_COMMAND && i < sizeof(own) / sizeof(own[0]); i++)
		(void)sigdelset(ret, own[i]);
	for (size_t i = 0; kind == CHILD_WORKERS && i < sizeof(ending) / sizeof(ending[0]); i++) {
		if (!is_ignored(ending[i]))
			(void)sigaddset(ret, ending[i]);
	}
}

void child_begin(enum child_kind kind)
{
	const struct sigaction def = { .sa_handler = SIG_DFL };
	sigset_t blocked;

	begun.kind = kind;
	choose_signals(kind, &begun.watched);
	/* An inherited SIG_IGN would leave nothing to wait for. */
	(void)sigaction(SIGCHLD, &def, &begun.action_before);	/* arguments are right */
	blocked = begun.watched;
	(void)sigaddset(&blocked, SIGPIPE);
	(void)sigprocmask(SIG_BLOCK, &blocked, &begun.mask_before);
}

void child_over(void)
{
	sigset_t set;

	(void)sigemptyset(&set);	/* as above */
	(void)sigaddset(&set, SIGPIPE);
	if (begun.kind == CHILD_COMMAND)
		(void)sigprocmask(SIG_SETMASK, &begun.mask_before, NULL);
	else
		(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
}

void child_end_by(int number)
{
	sigset_t set;

	(void)signal(number, SIG_DFL);	/* of SIGKILL: it has no other */
	(void)raise(number);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, number);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void prepare(pid_t parent)
{
	const struct rlimit none = { 0, 0 };

	/* Who kills this process means the child; a set-user-ID program is let go. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(UNABLE);
	if (begun.kind == CHILD_COMMAND) {
		(void)sigaction(SIGCHLD, &begun.action_before, NULL);
		(void)sigprocmask(SIG_SETMASK, &begun.mask_before, NULL);
		return;
	}
	(void)sigprocmask(SIG_UNBLOCK, &begun.watched, NULL);
	child_over();
	(void)setrlimit(RLIMIT_CORE, &none);	/* lowering is always allowed */
	if (setsid() < 0)
		_exit(UNABLE);
}

pid_t child_fork(struct child *child)
{
	pid_t parent = getpid();

	child->timed_out = false;
	child->pid = fork();
	if (child->pid == 0)
		prepare(parent);
	return child->pid;
}

/* How long the thread of a process has waited for a processor that waited most, in ns; 0: unknown. */
static uint64_t starved(pid_t pid)
{
	char path[sizeof("/proc//task//schedstat") + 3 * sizeof(pid) + NAME_MAX];
	const struct dirent *entry;
	uint64_t longest = 0;
	DIR *tasks;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	tasks = opendir(path);
	while (tasks && (entry = readdir(tasks))) {
		struct cmn_buffer text;
		const char *second;

		/* Documentation/scheduler/sched-stats.rst: time on a processor, time waiting for one. */
		(void)snprintf(path, sizeof(path), "/proc/%d/task/%s/schedstat", (int)pid, entry->d_name);
		if (cmn_file_read_shown(path, SCHEDSTAT_MAX, &text) == CMN_OK) {
			cmn_buffer_append_u8(&text, '\0');
			second = text.failed ? NULL : strchr((const char *)text.data, ' ');
			if (second && strtoull(second, NULL, 10) > longest)
				longest = strtoull(second, NULL, 10);
		}
		cmn_buffer_release(&text);
	}
	if (tasks)
		(void)closedir(tasks);	/* it is open */
	return longest;
}

void child_limit(struct child *child, uint64_t limit_ns)
{
	child->starved = child->pid > 0 ? starved(child->pid) : 0;
	child->deadline = cmn_clock_deadline(limit_ns);
	child->put_off = 0;
	child->put_off_most = limit_ns < UINT64_MAX / LONGEST ? LONGEST * limit_ns : UINT64_MAX;
}

/* Whether a child whose time is up has more, since it waited for a processor meanwhile. */
static bool put_off(struct child *child)
{
	uint64_t now = starved(child->pid), before = child->starved;

	if (now < before + SHARE_NS || child->put_off >= child->put_off_most)
		return false;
	child->starved = now;
	child->put_off += now - before;
	child->deadline += now - before;
	return true;
}

void child_give_up(struct child *child)
{
	child->timed_out = true;
	child->deadline = cmn_clock_monotonic() + KILL_NS;
	(void)kill(child->pid, SIGKILL);
	/* Its session, too, since it may be stuck in a driver; before it has made one there is it alone. */
	if (begun.kind == CHILD_WORKERS)
		(void)kill(-child->pid, SIGKILL);
}

/* One that child_wait tells of; *ret_next: when to look again. */
static struct child *look(struct child *children, size_t count, uint64_t *ret_next)
{
	uint64_t now = cmn_clock_monotonic();

	*ret_next = UINT64_MAX;
	for (size_t i = 0; i < count; i++) {
		struct child *child = &children[i];

		if (!child->pid)
			continue;
		if (waitpid(child->pid, &child->state,
			    WNOHANG | (begun.kind ==
				       CHILD_COMMAND ? WUNTRACED : 0)) == child->pid) {
			/* What it left running, if anything. */
			if (begun.kind == CHILD_WORKERS)
				(void)kill(-child->pid, SIGKILL);
			if (!WIFSTOPPED(child->state))
				child->pid = 0;
			return child;
		}
		if (now >= child->deadline && child->timed_out) {
			child->deadline = UINT64_MAX;
			return child;
		}
		if (now >= child->deadline && !put_off(child))
			child_give_up(child);
		if (child->deadline < *ret_next)
			*ret_next = child->deadline;
	}
	return NULL;
}

struct child *child_wait(struct child *children, size_t count, struct pollfd *pipes, size_t pipe_count,
			 struct signalfd_siginfo *ret_signal)
{
	/* Nothing is lost while it is closed: what came stays pending. */
	struct pollfd fds[CHILD_PIPES + 1] = { { signalfd(-1, &begun.watched, SFD_CLOEXEC | SFD_NONBLOCK), POLLIN,
				   0 } };
	const uint64_t longest_ms = fds[0].fd < 0 ? 100 : 60000;
	struct child *told = NULL;
	bool readable = false;
	uint64_t next;

	memset(ret_signal, 0, sizeof(*ret_signal));
	while (!readable && !(told = look(children, count, &next))) {
		uint64_t now = cmn_clock_monotonic();
		uint64_t left = next > now ? (next - now) / NS_PER_MS + 1 : 0;

		for (size_t i = 0; i < pipe_count; i++)
			fds[i + 1] = pipes[i];
		/* An error is tried again until the time is up. */
		if (poll(fds, pipe_count + 1, (int)(left < longest_ms ? left : longest_ms)) <= 0)
			continue;
		for (size_t i = 0; i < pipe_count; i++) {
			pipes[i] = fds[i + 1];
			readable |= pipes[i].revents != 0;
		}
		if (read(fds[0].fd, ret_signal, sizeof(*ret_signal)) !=
		    (ssize_t)sizeof(*ret_signal) ||
		    ret_signal->ssi_signo == SIGCHLD)
			ret_signal->ssi_signo = 0;
		readable |= ret_signal->ssi_signo != 0;
	}
	if (fds[0].fd >= 0)
		(void)close(fds[0].fd);	/* nothing was written */
	return told;
}
