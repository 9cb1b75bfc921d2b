/* SPDX-License-Identifier: MIT */
/* child: fork, exec, two pipes, and one loop that waits for all of it. */
#include "tools/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "tools/run/run_layers.h"

enum { MAX_RECORDS = 256 << 10, MAX_SAID = 16 << 10, UNABLE = 125 };
#define NS_PER_MS UINT64_C(1000000)
/* A process that SIGKILL does not end within this is inside a driver's kernel part. */
#define KILL_NS (5000 * NS_PER_MS)
/* What ended leaves in its pipes what it wrote; a program that it left behind may hold them. */
#define DRAIN_READS 64

static const int ending[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

/* What the caller had ignored (nohup) stays ignored. */
static bool is_ignored(int number)
{
	struct sigaction action;

	return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

static void watched_signals(sigset_t *ret)
{
	(void)sigemptyset(ret);	/* neither can fail for these */
	(void)sigaddset(ret, SIGCHLD);
	for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++) {
		if (!is_ignored(ending[i]))
			(void)sigaddset(ret, ending[i]);
	}
}

void child_begin(void)
{
	const struct sigaction def = { .sa_handler = SIG_DFL };
	sigset_t watched;

	watched_signals(&watched);
	/* An inherited SIG_IGN would leave nothing to wait for. */
	(void)sigaction(SIGCHLD, &def, NULL);	/* arguments are right */
	(void)sigaddset(&watched, SIGPIPE);
	(void)sigprocmask(SIG_BLOCK, &watched, NULL);
}

void child_over(void)
{
	sigset_t set;

	(void)sigemptyset(&set);	/* as above */
	(void)sigaddset(&set, SIGPIPE);
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

static bool set_variables(const struct child_variable *variables)
{
	for (; variables && variables->name; variables++) {
		if (!variables->value)
			(void)unsetenv(variables->name);	/* the name is right */
		else if (setenv(variables->name, variables->value, 1) < 0)
			return false;
	}
	return true;
}

/* The pipe of records may be any descriptor, also one of those that it is moved past. */
static bool place_descriptors(int records, int said)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int high = fcntl(records, F_DUPFD_CLOEXEC, CHILD_RECORDS_FD + 1);

	return null >= 0 && high >= 0 && dup2(null, STDIN_FILENO) >= 0 &&
	       dup2(said, STDOUT_FILENO) >= 0 && dup2(said, STDERR_FILENO) >= 0 &&
	       dup2(high, CHILD_RECORDS_FD) >= 0;
}

static _Noreturn void in_child(const struct child *child, pid_t parent, int records, int said)
{
	const struct rlimit none = { 0, 0 };
	sigset_t watched;

	watched_signals(&watched);
	(void)sigprocmask(SIG_UNBLOCK, &watched, NULL);	/* arguments are right */
	child_over();
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);	/* if not, it ends by its own time */
	(void)setrlimit(RLIMIT_CORE, &none);	/* lowering is always allowed */
	if (getppid() != parent || setsid() < 0 || !place_descriptors(records, said) ||
	    (child->directory && chdir(child->directory) < 0) ||
	    (child->layers && !run_layers_enable()) || !set_variables(child->variables))
		_exit(UNABLE);
	(void)execve("/proc/self/exe", child->arguments, environ);
	_exit(UNABLE);
}

/* false: nothing more will come. What is over the bound is dropped. */
static bool take(int fd, struct cmn_buffer *buf, size_t max)
{
	char some[4096];
	ssize_t got = read(fd, some, sizeof(some));

	if (got <= 0)
		return got < 0 && (errno == EAGAIN || errno == EINTR);
	if (buf->len < max)
		cmn_buffer_append(buf, some, (size_t)got < max - buf->len ? (size_t)got
									  : max - buf->len);
	return true;
}

struct waiting {
	pid_t pid;
	struct pollfd fds[3];		/* records, said, signals */
	uint64_t deadline;		/* monotonic */
	struct child_result *result;
};

static void kill_all(pid_t pid)
{
	/* The session's group; before the child has made it there is the child alone. */
	(void)kill(-pid, SIGKILL);
	(void)kill(pid, SIGKILL);
}

/* true: the child ended, and result says how unless it said so before. */
static bool reap(struct waiting *waiting, bool killed)
{
	int state;

	if (waitpid(waiting->pid, &state, WNOHANG) != waiting->pid)
		return false;
	(void)kill(-waiting->pid, SIGKILL);	/* what it left running, if anything */
	if (killed)
		return true;
	waiting->result->end = WIFEXITED(state) ? CHILD_EXITED : CHILD_SIGNALLED;
	waiting->result->code = WIFEXITED(state) ? WEXITSTATUS(state) : WTERMSIG(state);
	return true;
}

/* The signal that asks this process to end, or 0. */
static int read_signals(int fd)
{
	struct signalfd_siginfo info;
	int number = 0;

	while (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo != SIGCHLD)
			number = (int)info.ssi_signo;
	}
	return number;
}

static void read_pipes(struct waiting *waiting)
{
	struct pollfd *fds = waiting->fds;

	if (fds[0].revents && !take(fds[0].fd, &waiting->result->records, MAX_RECORDS))
		fds[0].fd = -1;	/* poll passes over it */
	if (fds[1].revents && !take(fds[1].fd, &waiting->result->said, MAX_SAID))
		fds[1].fd = -1;
}

/* Gives up on the child: once, and then waits a little for its end. */
static void give_up(struct waiting *waiting, enum child_end end, int code)
{
	waiting->result->end = end;
	waiting->result->code = code;
	waiting->deadline = cmn_clock_monotonic() + KILL_NS;
	kill_all(waiting->pid);
}

static void wait_for(struct waiting *waiting)
{
	bool killed = false;

	while (!reap(waiting, killed)) {
		uint64_t now = cmn_clock_monotonic(), left;
		int number;

		if (now >= waiting->deadline) {
			if (killed) {
				if (waiting->result->end == CHILD_TIMED_OUT)
					waiting->result->end = CHILD_STUCK;
				return;
			}
			give_up(waiting, CHILD_TIMED_OUT, 0);
			killed = true;
			continue;
		}
		left = (waiting->deadline - now) / NS_PER_MS + 1;
		/* An error is tried again until the time is up. */
		if (poll(waiting->fds, 3, left < 60000 ? (int)left : 60000) <= 0)
			continue;
		read_pipes(waiting);
		number = read_signals(waiting->fds[2].fd);
		if (number && !killed) {
			give_up(waiting, CHILD_INTERRUPTED, number);
			killed = true;
		}
	}
	for (int i = 0; i < DRAIN_READS && poll(waiting->fds, 2, 0) > 0; i++)
		read_pipes(waiting);
}

static void close_pipe(int fds[2])
{
	for (int i = 0; i < 2; i++) {
		if (fds[i] >= 0)
			(void)close(fds[i]);	/* a pipe's end */
		fds[i] = -1;
	}
}

void child_run(const struct child *child, struct child_result *ret_result)
{
	int records[2] = { -1, -1 }, said[2] = { -1, -1 }, signals = -1;
	struct child_result result = { .end = CHILD_FAILED };
	pid_t parent = getpid(), pid = -1;
	sigset_t watched;

	watched_signals(&watched);
	signals = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals < 0 || pipe2(records, O_CLOEXEC) < 0 || pipe2(said, O_CLOEXEC) < 0 ||
	    fcntl(records[0], F_SETFL, O_NONBLOCK) < 0 || fcntl(said[0], F_SETFL, O_NONBLOCK) < 0)
		goto out;
	pid = fork();
	if (pid == 0)
		in_child(child, parent, records[1], said[1]);
	if (pid > 0) {
		struct waiting waiting = {
			.pid = pid,
			.fds = { { records[0], POLLIN, 0 }, { said[0], POLLIN, 0 },
				 { signals, POLLIN, 0 } },
			.deadline = cmn_clock_monotonic() + child->timeout_ns,
			.result = &result,
		};

		(void)close(records[1]);	/* the child's ends: else nothing would ever end */
		(void)close(said[1]);
		records[1] = said[1] = -1;
		wait_for(&waiting);
	}
out:
	if (pid < 0)
		result.code = errno;
	if (signals >= 0)
		(void)close(signals);	/* nothing was written */
	close_pipe(records);
	close_pipe(said);
	*ret_result = result;
}

void child_result_release(struct child_result *result)
{
	cmn_buffer_release(&result->records);
	cmn_buffer_release(&result->said);
}
