/* SPDX-License-Identifier: MIT */
/* worker_process: a worker's process, its channel, and what it prints. */
#include "tools/memory.h"
#include "tools/worker/worker_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/run/run.h"

enum { MAX_RECORDS = 256 << 10, MAX_SAID = 16 << 10 };
/* What ended leaves what it wrote; a program that it left behind may hold the other ends. */
#define DRAIN_READS 1024

void worker_set_variables(const struct worker_variable *variables)
{
	for (; variables && variables->name; variables++) {
		if (!variables->value)
			(void)unsetenv(variables->name);	/* the name is right */
		else if (setenv(variables->name, variables->value, 1) < 0)
			memory_end();
	}
}

/* The channel may be any descriptor, also one of those that it is moved past. */
static bool place_descriptors(int channel, int said)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int high = fcntl(channel, F_DUPFD_CLOEXEC, WORKER_CHANNEL + 1);
	int out = said < 0 ? null : said;

	return null >= 0 && high >= 0 && dup2(null, STDIN_FILENO) >= 0 &&
	       dup2(out, STDOUT_FILENO) >= 0 && dup2(out, STDERR_FILENO) >= 0 &&
	       dup2(high, WORKER_CHANNEL) >= 0;
}

/* Where memory runs out the kernel ends a worker first. */
static void offer_oneself(void)
{
	int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (score < 0)
		return;
	(void)!write(score, "1000", 4);
	(void)close(score);	/* what was written is so */
}

static _Noreturn void in_worker(const struct worker_start *start, int channel, int said)
{
	size_t count = 0;
	char **arguments;

	memory_end_with(WORKER_UNABLE);
	while (start->arguments[count])
		count++;
	arguments = memory_new(count + 3, sizeof(*arguments));
	arguments[0] = (char *)"ckcache";
	arguments[1] = (char *)WORKER_VERB;
	memcpy(arguments + 2, start->arguments, count * sizeof(*arguments));
	if (start->environment)
		environ = start->environment;
	offer_oneself();
	if (start->idle)
		idle_lower_session();
	if (!place_descriptors(channel, said) || (start->directory && chdir(start->directory) < 0) ||
	    (start->layers && !run_layers_enable()))
		_exit(WORKER_UNABLE);
	if (start->level_zero)
		run_layers_enable_level_zero();
	worker_set_variables(start->variables);
	if (!start->confine || confine_enter(start->confine))
		(void)execve("/proc/self/exe", arguments, environ);
	_exit(WORKER_UNABLE);
}

bool worker_start(const struct worker_start *start, int said, struct child *child, int *ret_channel)
{
	int pair[2], problem;

	child_limit(child, start->timeout_ns);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return false;
	if (child_fork(child) == 0)
		in_worker(start, pair[1], said);
	problem = errno;
	(void)close(pair[1]);	/* the worker's */
	if (child->pid > 0) {
		*ret_channel = pair[0];
		return true;
	}
	child->pid = 0;
	(void)close(pair[0]);	/* nobody's */
	errno = problem;
	return false;
}

/* false: nothing more will come. What is over the bound is dropped. */
static bool take(int fd, struct cmn_buffer *buf, size_t max)
{
	char some[CHANNEL_MAX];
	ssize_t got = read(fd, some, sizeof(some));

	if (got <= 0)
		return got < 0 && (errno == EAGAIN || errno == EINTR);
	if (buf->len < max)
		cmn_buffer_append(buf, some, (size_t)got < max - buf->len ? (size_t)got
									  : max - buf->len);
	return true;
}

static void read_pipes(struct pollfd pipes[2], struct worker_result *result)
{
	if (pipes[0].revents && !take(pipes[0].fd, &result->records, MAX_RECORDS))
		pipes[0].fd = -1;	/* poll passes over it */
	if (pipes[1].revents && !take(pipes[1].fd, &result->said, MAX_SAID))
		pipes[1].fd = -1;
}

static void wait_for(struct child *child, struct pollfd pipes[2], struct worker_result *result)
{
	struct signalfd_siginfo info;

	while (!child_wait(child, 1, pipes, 2, &info)) {
		read_pipes(pipes, result);
		if (!info.ssi_signo || result->end == WORKER_INTERRUPTED)
			continue;
		result->end = WORKER_INTERRUPTED;
		result->code = (int)info.ssi_signo;
		child_give_up(child);
	}
	if (result->end != WORKER_INTERRUPTED && child->timed_out) {
		result->end = child->pid ? WORKER_STUCK : WORKER_TIMED_OUT;
	} else if (result->end != WORKER_INTERRUPTED) {
		result->end = WIFEXITED(child->state) ? WORKER_EXITED : WORKER_SIGNALLED;
		result->code = WIFEXITED(child->state) ? WEXITSTATUS(child->state)
						       : WTERMSIG(child->state);
	}
	for (int i = 0; !child->pid && i < DRAIN_READS && poll(pipes, 2, 0) > 0; i++)
		read_pipes(pipes, result);
}

void worker_run(const struct worker_start *start, struct worker_result *ret_result)
{
	struct child child = { 0 };
	struct worker_result result = { .end = WORKER_UNSTARTED };
	int said[2] = { -1, -1 }, channel = -1;

	if (pipe2(said, O_CLOEXEC) < 0 || fcntl(said[0], F_SETFL, O_NONBLOCK) < 0 ||
	    !worker_start(start, said[1], &child, &channel))
		result.code = errno;
	(void)close(said[1]);	/* the child's end: else nothing would ever end */
	if (channel >= 0) {
		struct pollfd pipes[2] = { { channel, POLLIN, 0 }, { said[0], POLLIN, 0 } };

		wait_for(&child, pipes, &result);
		(void)close(channel);	/* read only */
	}
	(void)close(said[0]);	/* read only */
	*ret_result = result;
}

void worker_result_release(struct worker_result *result)
{
	cmn_buffer_release(&result->records);
	cmn_buffer_release(&result->said);
}
