/* SPDX-License-Identifier: MIT */
/*
 * replay_process: workers. A driver may hang, crash or fill the memory, so
 * each recipe gets a process, and its compilers its session: all of it can be
 * ended at once, and ends with this process.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cachecore/key.h"
#include "common/clock.h"
#include "tools/replay/replay.h"

#define NS_PER_S UINT64_C(1000000000)
#define KEY_PREFIX "env."

/*
 * What a worker gets from this process: where things are, nothing that a
 * driver compiles by: that is the recipe's.
 */
static const char *const passed[] = {
	"PATH=", "HOME=", "USER=", "LOGNAME=", "TMPDIR=", "LANG=", "LC_ALL=", "XDG_CACHE_HOME=",
	"XDG_CONFIG_HOME=", "XDG_RUNTIME_DIR=", "XDG_DATA_DIRS=", "CKCACHE_",
};

/* The layer stores at once, whatever else is set for applications. */
static const char *const fixed[] = {
	"CKCACHE_CAPTURE=eager", "CKCACHE_DISABLE=0", "CKCACHE_PERSISTENT=1",
	"CKCACHE_READ_ONLY=0", "CKCACHE_RECACHE=0", "CKCACHE_READ_ONLY_DIRS=",
	/* That they are many and come one after another says nothing of the programs. */
	"CKCACHE_ADMIT_ALL=1",
};

/* The probe's programs are stored whatever their size. */
static const char *const of_probe[] = {
	"CKCACHE_MIN_DEVICE_IMAGE_SIZE=0", "CKCACHE_MAX_DEVICE_IMAGE_SIZE=", "CKCACHE_MAX_SIZE=0",
};

/*
 * What no key of ours has: it changes what is loaded, not what is compiled
 * (the C library's own list for privileged programs, and this project's).
 */
static const char *const never[] = {
	"LD_", "GCONV_PATH", "GETCONF_DIR", "GLIBC_TUNABLES", "HOSTALIASES", "LOCALDOMAIN",
	"LOCPATH", "MALLOC_", "NIS_PATH", "NLSPATH", "RESOLV_HOST_CONF", "RES_OPTIONS", "TMPDIR",
	"TZDIR", "PATH", "HOME", "BASH_ENV", "ENV", "IFS", "CKCACHE_", "OPENCL_LAYERS",
};

struct environment {
	char **variables;
	size_t count;
	bool failed;
};

static void environment_release(struct environment *environment)
{
	for (size_t i = 0; i < environment->count; i++)
		free(environment->variables[i]);
	free(environment->variables);
}

/* Takes the variable, NULL if there was no memory for it; one of the same name goes. */
static void add_variable(struct environment *environment, char *variable)
{
	size_t len = variable ? strcspn(variable, "=") + 1 : 0;
	char **grown;

	for (size_t i = 0; variable && i < environment->count; i++) {
		if (strncmp(environment->variables[i], variable, len) != 0)
			continue;
		free(environment->variables[i]);
		environment->variables[i] = variable;
		return;
	}
	grown = realloc(environment->variables, (environment->count + 2) * sizeof(*grown));
	if (!variable || !grown) {
		environment->failed = true;
		free(variable);
		environment->variables = grown ? grown : environment->variables;
		return;
	}
	environment->variables = grown;
	grown[environment->count++] = variable;
	grown[environment->count] = NULL;
}

static void add_pair(struct environment *environment, const char *name, struct cmn_view value)
{
	struct cmn_buffer text = { 0 };

	cmn_buffer_append_text(&text, name);
	cmn_buffer_append_u8(&text, '=');
	cmn_buffer_append(&text, value.data, value.len);
	add_variable(environment, cmn_buffer_take_string(&text));
}

static void add_passed(struct environment *environment)
{
	for (size_t i = 0; environ && environ[i]; i++) {
		for (size_t j = 0; j < sizeof(passed) / sizeof(passed[0]); j++) {
			if (strncmp(environ[i], passed[j], strlen(passed[j])) == 0)
				add_variable(environment, strdup(environ[i]));
		}
	}
}

static bool is_compilers(const char *name)
{
	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++) {
		size_t len = strlen(never[i]);

		if (strncmp(name, never[i], len) == 0 && (never[i][len - 1] == '_' || !name[len]))
			return false;
	}
	return !strchr(name, '=');
}

static void add_of_key(struct environment *environment, struct cmn_view key)
{
	const size_t prefix = sizeof(KEY_PREFIX) - 1;
	struct cc_key_field field;
	struct cmn_reader reader;

	if (cc_key_read(key, &reader) != CMN_OK)
		return;
	while (cc_key_next(&reader, &field) == CMN_OK) {
		char name[256];

		if (field.name.len <= prefix || field.name.len >= sizeof(name) ||
		    memcmp(field.name.data, KEY_PREFIX, prefix) != 0)
			continue;
		(void)snprintf(name, sizeof(name), "%.*s", (int)(field.name.len - prefix),
			       (const char *)field.name.data + prefix);
		if (is_compilers(name))
			add_pair(environment, name, field.value);
	}
}

/* A driver's cache directory that is gone is not made again. */
static bool is_gone(const char *variable)
{
	const char *value = strchr(variable, '=');

	if (!value || !memmem(variable, (size_t)(value - variable), "CACHE", 5))
		return false;
	return value[1] == '/' && access(value + 1, F_OK) < 0;
}

static void gather_environment(const struct cc_recipe *recipe,
			       const struct replay_settings *settings, struct environment *ret)
{
	const char *variable;
	size_t at = 0;

	if (recipe) {
		add_passed(ret);
		add_of_key(ret, recipe->key);
	}
	for (size_t i = 0; !recipe && environ && environ[i]; i++)
		add_variable(ret, strdup(environ[i]));
	while (recipe && (variable = cc_recipe_variable(recipe, &at))) {
		if (!is_gone(variable))
			add_variable(ret, strdup(variable));
	}
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		add_variable(ret, strdup(fixed[i]));
	for (size_t i = 0; !recipe && i < sizeof(of_probe) / sizeof(of_probe[0]); i++)
		add_variable(ret, strdup(of_probe[i]));
	add_pair(ret, "CKCACHE_DIR", cmn_view_of(settings->root));
	add_pair(ret, "OPENCL_LAYERS", cmn_view_of(settings->layer));
	if (recipe && recipe->directory.len)
		add_pair(ret, "PWD", recipe->directory);
}

static void lower_priority(void)
{
	const struct sched_param none = { 0 };
	const struct rlimit no_core = { 0, 0 };

	int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	/* None of them is needed; all are allowed, as a rule. */
	if (score >= 0) {
		(void)!write(score, "1000", 4);	/* whoever runs out of memory, this is to end first */
		(void)close(score);
	}
	(void)setpriority(PRIO_PROCESS, 0, 19);
	(void)sched_setscheduler(0, SCHED_IDLE, &none);
	(void)setrlimit(RLIMIT_CORE, &no_core);
}

/* What the caller had ignored (nohup) is ignored, by workers too. */
static bool is_ignored(int number)
{
	struct sigaction action;

	return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

static void watched_signals(sigset_t *ret)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

	(void)sigemptyset(ret);	/* neither can fail for these */
	(void)sigaddset(ret, SIGCHLD);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		if (!is_ignored(signals[i]))
			(void)sigaddset(ret, signals[i]);
	}
}

void replay_process_begin(void)
{
	const struct sigaction def = { .sa_handler = SIG_DFL };
	sigset_t watched;

	watched_signals(&watched);
	/* An inherited SIG_IGN would leave nothing to wait for. */
	(void)sigaction(SIGCHLD, &def, NULL);	/* arguments are right */
	(void)sigprocmask(SIG_BLOCK, &watched, NULL);
}

static void in_worker(pid_t parent, const char *name, char **variables)
{
	char *const command[] = { (char *)"ckcache", (char *)"replay-worker", (char *)name, NULL };
	sigset_t watched;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	watched_signals(&watched);
	(void)sigprocmask(SIG_UNBLOCK, &watched, NULL);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);	/* if not, it ends by its own time */
	if (getppid() != parent || setsid() < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0 ||
	    dup2(null, STDOUT_FILENO) < 0 || dup2(null, STDERR_FILENO) < 0)
		_exit(WORKER_UNABLE);
	lower_priority();
	(void)execve("/proc/self/exe", command, variables);
	_exit(WORKER_UNABLE);
}

bool replay_process_start(struct replay_job *job, const struct cc_recipe *recipe,
			  const struct replay_settings *settings)
{
	struct environment environment = { 0 };
	pid_t parent = getpid();

	gather_environment(recipe, settings, &environment);
	if (environment.failed) {
		tool_complain("out of memory");
		environment_release(&environment);
		return false;
	}
	job->timed_out = false;
	job->deadline = cmn_clock_monotonic() + settings->timeout_ns;
	job->pid = fork();
	if (job->pid == 0)
		in_worker(parent, job->name, environment.variables);
	environment_release(&environment);
	if (job->pid < 0) {
		tool_complain("fork: %s", strerror(errno));
		job->pid = 0;
		return false;
	}
	return true;
}

void replay_process_kill(const struct replay_job *job)
{
	/* The session's group; before the worker has made it there is the worker alone. */
	(void)kill(-job->pid, SIGKILL);
	(void)kill(job->pid, SIGKILL);
}

/* Reaps one worker that ended; kills those whose time is up. */
static struct replay_job *reap(struct replay_job *jobs, size_t count, int *ret_state,
			       uint64_t *ret_next)
{
	uint64_t now = cmn_clock_monotonic();

	*ret_next = UINT64_MAX;
	for (size_t i = 0; i < count; i++) {
		struct replay_job *job = &jobs[i];

		if (!job->pid)
			continue;
		if (waitpid(job->pid, ret_state, WNOHANG) == job->pid) {
			(void)kill(-job->pid, SIGKILL);	/* what it left running, if anything */
			job->pid = 0;
			return job;
		}
		if (!job->timed_out && now >= job->deadline) {
			job->timed_out = true;
			replay_process_kill(job);
		}
		if (!job->timed_out && job->deadline < *ret_next)
			*ret_next = job->deadline;
	}
	return NULL;
}

struct replay_job *replay_process_wait(struct replay_job *jobs, size_t count, int *ret_state,
				       int *ret_signal)
{
	sigset_t watched;

	watched_signals(&watched);
	for (;;) {
		struct timespec pause = { .tv_sec = 1 };
		struct replay_job *ended;
		uint64_t next, now;
		int number;

		ended = reap(jobs, count, ret_state, &next);
		if (ended)
			return ended;
		now = cmn_clock_monotonic();
		if (next > now && next - now < NS_PER_S)
			pause = (struct timespec){ .tv_nsec = (long)(next - now) };
		number = sigtimedwait(&watched, NULL, &pause);
		if (number > 0 && number != SIGCHLD) {
			*ret_signal = number;
			return NULL;
		}
	}
}
