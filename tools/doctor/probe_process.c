/* SPDX-License-Identifier: MIT */
/* probe_process: a probe's process, and two pipes to it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/run/child.h"
#include "tools/doctor/probe.h"
#include "tools/run/run_layers.h"

enum { MAX_RECORDS = 256 << 10, MAX_SAID = 16 << 10, UNABLE = 125 };
/* What ended leaves in its pipes what it wrote; a program that it left behind may hold them. */
#define DRAIN_READS 64

static bool set_variables(const struct probe_variable *variables)
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
	int high = fcntl(records, F_DUPFD_CLOEXEC, PROBE_RECORDS_FD + 1);

	return null >= 0 && high >= 0 && dup2(null, STDIN_FILENO) >= 0 &&
	       dup2(said, STDOUT_FILENO) >= 0 && dup2(said, STDERR_FILENO) >= 0 &&
	       dup2(high, PROBE_RECORDS_FD) >= 0;
}

static _Noreturn void in_child(const struct probe *probe, int records, int said)
{
	if (!place_descriptors(records, said) ||
	    (probe->directory && chdir(probe->directory) < 0) ||
	    (probe->layers && !run_layers_enable()) || !set_variables(probe->variables))
		_exit(UNABLE);
	(void)execve("/proc/self/exe", probe->arguments, environ);
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

static void read_pipes(struct pollfd pipes[2], struct probe_result *result)
{
	if (pipes[0].revents && !take(pipes[0].fd, &result->records, MAX_RECORDS))
		pipes[0].fd = -1;	/* poll passes over it */
	if (pipes[1].revents && !take(pipes[1].fd, &result->said, MAX_SAID))
		pipes[1].fd = -1;
}

static void wait_for(struct child *child, struct pollfd pipes[2], struct probe_result *result)
{
	struct signalfd_siginfo info;

	while (!child_wait(child, 1, pipes, &info)) {
		read_pipes(pipes, result);
		if (!info.ssi_signo || result->end == PROBE_INTERRUPTED)
			continue;
		result->end = PROBE_INTERRUPTED;
		result->code = (int)info.ssi_signo;
		child_give_up(child);
	}
	if (result->end != PROBE_INTERRUPTED && child->timed_out) {
		result->end = child->pid ? PROBE_STUCK : PROBE_TIMED_OUT;
	} else if (result->end != PROBE_INTERRUPTED) {
		result->end = WIFEXITED(child->state) ? PROBE_EXITED : PROBE_SIGNALLED;
		result->code = WIFEXITED(child->state) ? WEXITSTATUS(child->state)
						       : WTERMSIG(child->state);
	}
	for (int i = 0; !child->pid && i < DRAIN_READS && poll(pipes, 2, 0) > 0; i++)
		read_pipes(pipes, result);
}

static void close_pipe(int fds[2])
{
	for (int i = 0; i < 2; i++) {
		if (fds[i] >= 0)
			(void)close(fds[i]);	/* a pipe's end */
		fds[i] = -1;
	}
}

void probe_run(const struct probe *probe, struct probe_result *ret_result)
{
	struct child child = { 0 };
	struct probe_result result = { .end = PROBE_FAILED };
	int records[2] = { -1, -1 }, said[2] = { -1, -1 };

	child_limit(&child, probe->timeout_ns);
	if (pipe2(records, O_CLOEXEC) < 0 || pipe2(said, O_CLOEXEC) < 0 ||
	    fcntl(records[0], F_SETFL, O_NONBLOCK) < 0 || fcntl(said[0], F_SETFL, O_NONBLOCK) < 0 ||
	    child_fork(&child) < 0) {
		result.code = errno;
	} else if (child.pid == 0) {
		in_child(probe, records[1], said[1]);
	} else {
		struct pollfd pipes[2] = { { records[0], POLLIN, 0 }, { said[0], POLLIN, 0 } };

		(void)close(records[1]);	/* the child's ends: else nothing would ever end */
		(void)close(said[1]);
		records[1] = said[1] = -1;
		wait_for(&child, pipes, &result);
	}
	close_pipe(records);
	close_pipe(said);
	*ret_result = result;
}

void probe_result_release(struct probe_result *result)
{
	cmn_buffer_release(&result->records);
	cmn_buffer_release(&result->said);
}
