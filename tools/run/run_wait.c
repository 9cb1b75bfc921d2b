/* SPDX-License-Identifier: MIT */
/* run_wait: what child_wait tells of, passed on. */
#include "tools/run/run_wait.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/run/child.h"
#include "tools/tool.h"

/* As env, timeout and the shell have them. */
enum {
	RUN_CANNOT_EXECUTE = 126,
	RUN_NOT_FOUND = 127,
};
enum { RUN_SIGNAL = 128 };

/* A pipe's other end would wait for this process, too, if it kept what the command closes. */
static void let_go_of_descriptors(bool but_output)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return;		/* then they stay: that is all */
	(void)dup2(null, STDIN_FILENO);
	if (!but_output)
		(void)dup2(null, STDOUT_FILENO);
	(void)close_range(STDERR_FILENO + 1, ~0U, 0);
}

/* What the terminal sends, the child gets from it too, and what it sends to all of its group it knows. */
static void pass(pid_t child, const struct signalfd_siginfo *info)
{
	const union sigval value = { .sival_ptr = (void *)(uintptr_t)info->ssi_ptr };

	if (info->ssi_code == SI_KERNEL || (pid_t)info->ssi_pid == child)
		return;
	/* It is not waited for yet, so it exists. */
	if (info->ssi_code == SI_QUEUE)
		(void)sigqueue(child, (int)info->ssi_signo, value);
	else
		(void)kill(child, (int)info->ssi_signo);
}

int run_wait_execute(char **command)
{
	int error;

	(void)execvp(command[0], command);
	error = errno;
	tool_complain("%s: %s", command[0], strerror(error));
	return error == ENOENT || error == ENOTDIR ? RUN_NOT_FOUND : RUN_CANNOT_EXECUTE;
}

bool run_wait(char **command, bool aside, bool keep_output, int *ret_state)
{
	struct child child = { .deadline = UINT64_MAX };
	struct signalfd_siginfo info;

	child_begin(CHILD_COMMAND);
	if (child_fork(&child) == 0) {
		/* Where stderr is closed, the command has no stdout either. */
		if (aside)
			(void)dup2(STDERR_FILENO, STDOUT_FILENO);
		_exit(run_wait_execute(command));
	}
	if (child.pid < 0) {
		tool_complain("fork: %s", strerror(errno));
		return false;
	}
	let_go_of_descriptors(keep_output);
	for (;;) {
		if (!child_wait(&child, 1, NULL, 0, &info)) {
			pass(child.pid, &info);
		} else if (!child.pid) {
			*ret_state = child.state;
			return true;
		} else {
			/* It was stopped: so is this process, which the shell waits for. */
			(void)raise(SIGSTOP);
			/* Whoever let this process go on means the command. */
			(void)kill(child.pid, SIGCONT);
		}
	}
}

int run_wait_end_as(int state)
{
	const struct rlimit none = { 0, 0 };
	int number;

	if (WIFEXITED(state))
		return WEXITSTATUS(state);
	number = WTERMSIG(state);
	(void)setrlimit(RLIMIT_CORE, &none);	/* one core file is enough; lowering is always allowed */
	child_end_by(number);
	return RUN_SIGNAL + number;
}
