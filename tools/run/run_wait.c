/* SPDX-License-Identifier: MIT */
/* run_wait: signals are taken by sigwaitinfo, one after another, so that no handler runs. */
#include "tools/run/run_wait.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/child.h"
#include "tools/tool.h"

enum { RUN_SIGNAL = 128 };	/* as the shell has it */

/*
 * Everything that somebody may send, but what a fault of this process raises,
 * and SIGCONT, which has done its work when it arrives. SIGPIPE with it: nobody
 * who reads stderr any more is not how the command ended.
 */
static void watched_signals(sigset_t *ret)
{
	static const int own[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS,
				   SIGCONT };

	(void)sigfillset(ret);	/* neither can fail for these */
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		(void)sigdelset(ret, own[i]);
}

/* A pipe's other end would wait for this process, too, if it kept what the command closes. */
static void let_go_of_descriptors(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return;		/* then they stay: that is all */
	(void)dup2(null, STDIN_FILENO);
	(void)dup2(null, STDOUT_FILENO);
	(void)close_range(STDERR_FILENO + 1, ~0U, 0);
}

/* What the terminal sends, the child gets from it too, and what it sends to all of its group it knows. */
static void pass(pid_t child, const siginfo_t *info)
{
	if (info->si_code == SI_KERNEL || info->si_pid == child)
		return;
	/* It is not waited for yet, so it exists. */
	if (info->si_code == SI_QUEUE)
		(void)sigqueue(child, info->si_signo, info->si_value);
	else
		(void)kill(child, info->si_signo);
}

/* true: it ended. One that was stopped stops this process, which the shell waits for. */
static bool look_after(pid_t child, int *ret_state)
{
	while (waitpid(child, ret_state, WNOHANG | WUNTRACED) == child) {
		if (!WIFSTOPPED(*ret_state))
			return true;
		(void)raise(SIGSTOP);
		/* Whoever let this process go on means the command. */
		(void)kill(child, SIGCONT);
	}
	return false;
}

static int wait_for(pid_t child, const sigset_t *watched)
{
	siginfo_t info;
	int state = 0;

	for (;;) {
		int number = sigwaitinfo(watched, &info);

		if (number == SIGCHLD) {
			if (look_after(child, &state))
				return state;
		} else if (number > 0) {
			pass(child, &info);
		}
	}
}

bool run_wait(char **command, int (*execute)(char **command), int *ret_state)
{
	struct sigaction old_child, def = { .sa_handler = SIG_DFL };
	sigset_t watched, old_mask;
	pid_t parent = getpid(), child;

	watched_signals(&watched);
	/* An inherited SIG_IGN would leave nothing to wait for. */
	(void)sigaction(SIGCHLD, &def, &old_child);	/* arguments are right */
	(void)sigprocmask(SIG_BLOCK, &watched, &old_mask);
	child = fork();
	if (child == 0) {
		/* Who kills this process means the command; a set-user-ID program is let go. */
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(RUN_SIGNAL + SIGKILL);
		(void)sigaction(SIGCHLD, &old_child, NULL);
		(void)sigprocmask(SIG_SETMASK, &old_mask, NULL);
		_exit(execute(command));
	}
	if (child < 0) {
		tool_complain("fork: %s", strerror(errno));
		return false;
	}
	let_go_of_descriptors();
	*ret_state = wait_for(child, &watched);
	return true;
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
