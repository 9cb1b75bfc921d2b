/* SPDX-License-Identifier: MIT */
/*
 * replay_process: workers, and their environments. A driver may hang, crash or fill the memory, so
 * each recipe gets a process, and its compilers its session (child.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cachecore/key.h"
#include "common/clock.h"
#include "tools/replay/replay.h"

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
	int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	/* None of them is needed; all are allowed, as a rule. */
	if (score >= 0) {
		(void)!write(score, "1000", 4);	/* whoever runs out of memory, this is to end first */
		(void)close(score);
	}
	(void)setpriority(PRIO_PROCESS, 0, 19);
	(void)sched_setscheduler(0, SCHED_IDLE, &none);
}

static _Noreturn void in_worker(const char *name, char **variables)
{
	char *const command[] = { (char *)"ckcache", (char *)"replay-worker", (char *)name, NULL };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
	    dup2(null, STDERR_FILENO) < 0)
		_exit(WORKER_UNABLE);
	lower_priority();
	(void)execve("/proc/self/exe", command, variables);
	_exit(WORKER_UNABLE);
}

bool replay_process_start(struct child *worker, const struct cc_recipe *recipe,
			  const struct replay_settings *settings)
{
	struct environment environment = { 0 };

	gather_environment(recipe, settings, &environment);
	if (environment.failed) {
		tool_complain("out of memory");
		environment_release(&environment);
		return false;
	}
	worker->deadline = cmn_clock_monotonic() + settings->timeout_ns;
	if (child_fork(worker) == 0)
		in_worker(worker->name, environment.variables);
	environment_release(&environment);
	if (worker->pid < 0) {
		tool_complain("fork: %s", strerror(errno));
		worker->pid = 0;
		return false;
	}
	return true;
}

struct child *replay_process_wait(struct child *workers, size_t count, int *ret_signal)
{
	struct signalfd_siginfo info;
	struct child *ended;

	/* One that SIGKILL does not end is waited for all the same. */
	do {
		ended = child_wait(workers, count, NULL, &info);
	} while (ended && ended->pid);
	if (!ended)
		*ret_signal = (int)info.ssi_signo;
	return ended;
}
