/* SPDX-License-Identifier: MIT */
/*
 * run: a command with the cache's layers on. Without --summary the command takes this process's place, so that
 * nothing stands between it and its parent. With it, this process waits, passes on what child_wait tells of,
 * and ends as the command did after one line, or JSON, about what the cache did meanwhile.
 */
#include "tools/run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cachecore/record/totals.h"
#include "tools/arguments.h"
#include "tools/json_output.h"
#include "tools/memory.h"
#include "tools/replay/waiting.h"
#include "tools/run/child.h"
#include "tools/text.h"
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

/* Executes it; returns the exit code only if it could not, which was complained about. */
static int execute(char **command)
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
		_exit(execute(command));
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

/* Ends this process as the command ended; returns the exit code, if it returns. */
static int end_as(int state)
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

/* What the cache did meanwhile. */
struct summary {
	uint64_t memory, disk, remote, misses, deferred, not_cached, spent_ns, saved_ns;
	const char *why;	/* nothing was counted, as far as it is known; "": not known */
	char *problem;		/* the directory's, whatever why says; heap, NULL: none */
};

/* What the root's file says; zeros where it says nothing. NULL: no memory. */
static struct cc_totals *read_stats(const char *root)
{
	struct cc_totals *stats = NULL;

	if (!root)
		return calloc(1, sizeof(*stats));
	if (cc_totals_load(root, &stats) != CMN_ERR_NOMEM)
		return stats;
	free(stats);
	return NULL;
}

static uint64_t positive(uint64_t before, uint64_t after)
{
	return after > before ? after - before : 0;
}

static uint64_t difference(const struct cc_totals *before, const struct cc_totals *after,
			   enum cc_counter counter)
{
	return positive(before->counters[counter], after->counters[counter]);
}

/* Nothing was counted: the likeliest reason that is known from outside. */
static const char *why_nothing(const struct cc_config *config, enum program_kind kind)
{
	const char *obstacle = program_obstacle(kind);

	if (config->disable)
		return "the cache is switched off (CKCACHE_DISABLE)";
	if (!config->dir)
		return config->persistent ? "there is no cache directory" :
					    "the cache is in memory only (CKCACHE_PERSISTENT)";
	if (config->read_only)
		return "the cache is read-only (CKCACHE_READ_ONLY)";
	return obstacle ? obstacle : "";
}

/* Counts of this cache directory while the command ran: others may have used it too. */
static struct summary sum_up(const struct cc_config *config, enum program_kind kind,
			     const struct cc_totals *before, const struct cc_totals *after)
{
	struct summary summary = {
		.memory = difference(before, after, CC_HITS_MEMORY),
		.disk = difference(before, after, CC_HITS_DISK),
		.remote = difference(before, after, CC_HITS_REMOTE),
		.misses = difference(before, after, CC_MISSES),
		.deferred = difference(before, after, CC_DEFERRED),
		.not_cached = positive(cc_totals_all_bypasses(before), cc_totals_all_bypasses(after)),
		.spent_ns = difference(before, after, CC_COMPILE_NS_SPENT),
		.saved_ns = difference(before, after, CC_COMPILE_NS_SAVED),
	};

	if (!summary.memory && !summary.disk && !summary.remote && !summary.misses && !summary.not_cached)
		summary.why = why_nothing(config, kind);
	if (summary.why && !config->disable)
		summary.problem = tool_directory_problem(config);
	return summary;
}

static void print_summary(const struct summary *summary)
{
	char spent[TEXT_SIZE], saved[TEXT_SIZE], deferred[64] = "", not_cached[64] = "", from_remote[64] = "";

	if (summary->problem || (summary->why && *summary->why)) {
		tool_complain("nothing was counted: %s", summary->problem ? summary->problem : summary->why);
		return;
	}
	if (summary->why) {
		tool_complain("no kernels were requested");
		return;
	}
	if (summary->deferred)
		(void)snprintf(deferred, sizeof(deferred), " (%" PRIu64 " left to ckcache replay)",
			       summary->deferred);	/* it fits */
	if (summary->not_cached)
		(void)snprintf(not_cached, sizeof(not_cached), ", %" PRIu64 " not cached",
			       summary->not_cached);	/* likewise */
	if (summary->remote)
		(void)snprintf(from_remote, sizeof(from_remote), ", %" PRIu64 " remote",
			       summary->remote);	/* likewise */
	tool_complain("%" PRIu64 " hits (%" PRIu64 " memory, %" PRIu64 " disk%s), %" PRIu64 " misses%s%s, "
		      "%s of compilation%s, %s saved",
		      summary->memory + summary->disk + summary->remote, summary->memory, summary->disk,
		      from_remote, summary->misses, deferred, not_cached, text_time(summary->spent_ns, spent),
		      summary->not_cached ? " on misses" : "", text_time(summary->saved_ns, saved));
}

static void print_json(const struct summary *summary)
{
	struct json_object *object = json_new_object();

	json_add_number(object, "hits_memory", summary->memory);
	json_add_number(object, "hits_disk", summary->disk);
	json_add_number(object, "hits_remote", summary->remote);
	json_add_number(object, "misses", summary->misses);
	json_add_number(object, "not_cached", summary->not_cached);
	json_add_ms(object, "compile_ms_spent", summary->spent_ns);
	json_add_ms(object, "compile_ms_saved", summary->saved_ns);
	json_add_text(object, "why_nothing", summary->problem ? summary->problem :
		      summary->why && *summary->why ? summary->why : NULL);
	(void)json_print(object);	/* the exit code is the command's */
}

static int run_with_summary(char **command, bool json)
{
	enum program_kind kind = program_look(command[0], NULL);
	struct cc_totals *before, *after;
	struct cc_config config;
	int state;
	bool ran;

	if (kind == PROGRAM_ABSENT)
		return execute(command);	/* says so */
	tool_load_config(&config);	/* the layer will complain */
	before = read_stats(config.dir);
	if (!before) {
		cc_config_release(&config);
		return execute(command);	/* a summary is not worth its failure */
	}
	ran = run_wait(command, json, json, &state);	/* what a script reads is the summary alone */
	if (ran) {
		struct summary summary;

		/* Without memory for a summary the exit code is still the command's. */
		memory_end_with(WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state));
		after = memory_of(read_stats(config.dir));
		summary = sum_up(&config, kind, before, after);
		(json ? print_json : print_summary)(&summary);
		free(summary.problem);
		free(after);
	}
	free(before);
	cc_config_release(&config);
	return ran ? end_as(state) : TOOL_CANNOT_RUN;
}

verb_function verb_run;

int verb_run(const struct arguments *arguments)
{
	bool json = arguments_flag(arguments, "json"), summary = arguments_flag(arguments, "summary");

	memory_end_with(TOOL_CANNOT_RUN);	/* the command has not run */
	if (!run_layers_enable())
		return TOOL_CANNOT_RUN;
	waiting_mention();
	return summary || json ? run_with_summary(arguments->command, json) :
				 execute(arguments->command);
}
