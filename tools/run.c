/* SPDX-License-Identifier: MIT */
/*
 * run: a command with the cache's layers on. Without --summary the command
 * takes this process's place, so that nothing stands between it and its
 * parent. With it, this process waits, passes signals on, and ends as the
 * command did.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cachecore/stats.h"
#include "tools/run_layers.h"
#include "tools/tool.h"

/* As env, timeout and the shell have them. */
enum {
	RUN_FAILED = 125,
	RUN_CANNOT_EXECUTE = 126,
	RUN_NOT_FOUND = 127,
	RUN_SIGNAL = 128,
};

/* Returns only if the command could not be started. */
static int execute(char **command)
{
	int error;

	(void)execvp(command[0], command);
	error = errno;
	tool_complain("%s: %s", command[0], strerror(error));
	return error == ENOENT || error == ENOTDIR ? RUN_NOT_FOUND : RUN_CANNOT_EXECUTE;
}

static void passed_signals(sigset_t *ret)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };

	(void)sigemptyset(ret);	/* neither can fail for these */
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		(void)sigaddset(ret, signals[i]);
}

/* Waits for the child; what the terminal sends, the child gets from it too. */
static int wait_for(pid_t child, const sigset_t *watched)
{
	siginfo_t info;
	int state = 0;

	for (;;) {
		int number = sigwaitinfo(watched, &info);

		if (number == SIGCHLD) {
			if (waitpid(child, &state, WNOHANG) == child)
				return state;
		} else if (number > 0 && info.si_code != SI_KERNEL) {
			(void)kill(child, number);	/* it is not waited for yet, so it exists */
		}
	}
}

/* Ends this process by the signal that ended the command, without a second core file. */
static int end_by_signal(int number)
{
	const struct rlimit none = { 0, 0 };
	sigset_t set;

	(void)setrlimit(RLIMIT_CORE, &none);	/* lowering is always allowed */
	(void)signal(number, SIG_DFL);		/* of SIGKILL: it has no other */
	(void)sigemptyset(&set);
	(void)sigaddset(&set, number);
	(void)raise(number);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
	return RUN_SIGNAL + number;
}

/* *ret_state is the command's, as from waitpid; false: there is none, *ret_code says why. */
static bool run_and_wait(char **command, int *ret_state, int *ret_code)
{
	struct sigaction old_child, def = { .sa_handler = SIG_DFL };
	sigset_t watched, old_mask;
	pid_t child;

	passed_signals(&watched);
	(void)sigaddset(&watched, SIGCHLD);
	/* An inherited SIG_IGN would leave nothing to wait for. */
	(void)sigaction(SIGCHLD, &def, &old_child);	/* arguments are right */
	(void)sigprocmask(SIG_BLOCK, &watched, &old_mask);
	child = fork();
	if (child < 0) {
		tool_complain("fork: %s", strerror(errno));
		*ret_code = RUN_FAILED;
		return false;
	}
	if (child == 0) {
		(void)sigaction(SIGCHLD, &old_child, NULL);
		(void)sigprocmask(SIG_SETMASK, &old_mask, NULL);
		_exit(execute(command));
	}
	*ret_state = wait_for(child, &watched);
	return true;
}

/* What the root's file says; zeros where it says nothing; NULL: out of memory. */
static struct cc_stats *read_stats(const char *root)
{
	struct cc_stats *stats = cc_stats_new();

	if (stats && root)
		(void)!cc_stats_load(stats, root);	/* not the command's failure */
	return stats;
}

static uint64_t difference(const struct cc_stats *before, const struct cc_stats *after,
			   enum cc_counter counter)
{
	uint64_t old = cc_stats_get(before, counter), new = cc_stats_get(after, counter);

	return new > old ? new - old : 0;
}

/* Counts of this cache directory while the command ran: others may have used it too. */
static void print_summary(const struct cc_stats *before, const struct cc_stats *after)
{
	if (!before || !after)
		return;
	tool_complain("%llu hits (%llu memory, %llu disk), %llu misses, %.3f s of compilation, %.3f s saved",
		      (unsigned long long)difference(before, after, CC_HITS_MEMORY) +
			      difference(before, after, CC_HITS_DISK),
		      (unsigned long long)difference(before, after, CC_HITS_MEMORY),
		      (unsigned long long)difference(before, after, CC_HITS_DISK),
		      (unsigned long long)difference(before, after, CC_MISSES),
		      (double)difference(before, after, CC_COMPILE_NS_SPENT) / 1e9,
		      (double)difference(before, after, CC_COMPILE_NS_SAVED) / 1e9);
}

static int run_with_summary(char **command)
{
	const struct cmn_log log = { .level = CMN_LOG_NONE };	/* the layer will complain */
	struct cc_stats *before = NULL, *after = NULL;
	struct cc_config config = { 0 };
	int state = 0, code = RUN_FAILED;
	bool ran;

	if (cc_config_load(&log, &config) != CMN_OK) {
		tool_complain("out of memory");
		return RUN_FAILED;
	}
	before = read_stats(config.dir);
	ran = run_and_wait(command, &state, &code);
	if (ran) {
		after = read_stats(config.dir);
		print_summary(before, after);
		code = WIFEXITED(state) ? WEXITSTATUS(state) : RUN_SIGNAL + WTERMSIG(state);
	}
	cc_stats_free(before);
	cc_stats_free(after);
	cc_config_release(&config);
	return ran && WIFSIGNALED(state) ? end_by_signal(WTERMSIG(state)) : code;
}

int verb_run(int argc, char **argv)
{
	static const struct option options[] = {
		TOOL_DIR_OPTION,
		{ "trace", required_argument, NULL, 't' },
		{ "summary", no_argument, NULL, 's' },
		{ 0 },
	};
	bool summary = false;
	int option;

	while ((option = getopt_long(argc, argv, "+", options, NULL)) != -1) {
		if (option == '?')
			return TOOL_USAGE;	/* getopt_long said it */
		if (option == 's')
			summary = true;
		else if (!tool_set_path(option == 'd' ? "CKCACHE_DIR" : "CKCACHE_TRACE", optarg))
			return RUN_FAILED;
	}
	if (optind == argc) {
		tool_complain("run: no command given (try ckcache --help)");
		return TOOL_USAGE;
	}
	if (!run_layers_enable())
		return RUN_FAILED;
	return summary ? run_with_summary(argv + optind) : execute(argv + optind);
}
