/* SPDX-License-Identifier: MIT */
/*
 * replay_process: workers, and their environments. A driver may hang, crash or fill the memory, so
 * it runs in a process, and its compilers in its session (child.h). Starting a driver takes about as
 * long as compiling a small program, so that a worker builds many programs, one after another.
 */
#include "tools/replay/replay_process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cachecore/config.h"
#include "cachecore/key.h"
#include "tools/replay/replay_entries.h"
#include "tools/run/run_layers.h"
#include "tools/worker/idle.h"

#define KEY_PREFIX "env."

/*
 * What a worker gets from this process: where things are, nothing that a
 * driver compiles by: that is the recipe's.
 */
static const char *const passed[] = {
	"PATH=", "HOME=", "USER=", "LOGNAME=", "TMPDIR=", "LANG=", "LC_ALL=", "XDG_CACHE_HOME=",
	"XDG_CONFIG_HOME=", "XDG_RUNTIME_DIR=", "XDG_DATA_DIRS=", "CKCACHE_",
	"COMPILER_PATH=", "LIBRARY_PATH=",
};

/* The layer stores at once, whatever else is set for applications. */
static const char *const fixed[] = {
	"CKCACHE_CAPTURE=eager", "CKCACHE_DISABLE=0", "CKCACHE_PERSISTENT=1",
	"CKCACHE_READ_ONLY=0", "CKCACHE_READ_ONLY_DIRS=",
	/* What the driver's own cache has is not built (layers/shared/observer/observer.h). The names in small letters are NEO 22's. */
	"MESA_SHADER_CACHE_DISABLE=true", "NEO_CACHE_PERSISTENT=0", "cl_cache_dir=/nonexistent", "l0_cache_dir=/nonexistent",
	"POCL_KERNEL_CACHE=0",
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

/*
 * The settings of files that it may not read: these may have passwords. It has no remote tier, and no
 * files to write but the cache's.
 */
static void add_confined(struct environment *environment, const char *scratch)
{
	static const char *const none[] = { "CKCACHE_REMOTE", "CKCACHE_LOG_FILE", "CKCACHE_TRACE" };
	const struct cmn_log log = { .level = CMN_LOG_NONE };
	struct cc_config_value *values;

	if (cc_config_list(&log, CC_CONFIG_SYSTEM_FILE, NULL, &values) != CMN_OK) {
		environment->failed = true;
		return;
	}
	for (const struct cc_config_value *value = values; value->name; value++) {
		if (value->place != CC_CONFIG_DEFAULT && strncmp(value->name, "remote", 6) != 0)
			add_pair(environment, value->variable, cmn_view_of(value->text));
	}
	cc_config_list_free(values);
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		add_pair(environment, none[i], (struct cmn_view){ 0 });
	add_pair(environment, "TMPDIR", cmn_view_of(scratch));
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
	if (recipe && settings->confine && cc_recipe_is_strangers(recipe))
		add_confined(ret, settings->scratch);
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		add_variable(ret, strdup(fixed[i]));
	for (size_t i = 0; !recipe && i < sizeof(of_probe) / sizeof(of_probe[0]); i++)
		add_variable(ret, strdup(of_probe[i]));
	add_pair(ret, CC_CONFIG_BUILT_FOR,
		 recipe ? cc_recipe_program(recipe) : (struct cmn_view){ 0 });
	add_pair(ret, "CKCACHE_DIR", cmn_view_of(settings->root));
	add_pair(ret, "OPENCL_LAYERS", cmn_view_of(settings->layer));
	if (recipe && recipe->directory.len)
		add_pair(ret, "PWD", recipe->directory);
}

static const char *const kinds[] = {
	[REPLAY_RECIPES] = "recipes",
	[REPLAY_PROBE_OPENCL] = "probe-opencl",
	[REPLAY_PROBE_LEVEL_ZERO] = "probe-level-zero",
};

struct start {
	size_t slot;
	enum replay_kind kind;
	bool level_zero, idle;
	const struct confine *confine;	/* NULL: it is the user's own */
	int command, answers;
};

/* The worker's own descriptors stay open; all others are closed by what is executed. */
static bool keep_open(int fd)
{
	return fd < 0 || fcntl(fd, F_SETFD, 0) == 0;
}

static _Noreturn void in_worker(const struct start *start, char **variables)
{
	char slot[24], command[16], answers[16];
	char *const arguments[] = {
		(char *)"ckcache", (char *)"replay-worker", (char *)kinds[start->kind], slot,
		command, answers, NULL,
	};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	/* They fit. */
	(void)snprintf(slot, sizeof(slot), "%zu", start->slot);
	(void)snprintf(command, sizeof(command), "%d", start->command);
	(void)snprintf(answers, sizeof(answers), "%d", start->answers);
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
	    dup2(null, STDERR_FILENO) < 0 || !keep_open(start->command) ||
	    !keep_open(start->answers))
		_exit(WORKER_UNABLE);
	if (start->idle)
		idle_lower_session();
	environ = variables;
	if (start->level_zero && !run_layers_enable_level_zero())
		_exit(WORKER_UNABLE);
	if (start->confine && !confine_enter(start->confine))
		_exit(WORKER_UNABLE);
	(void)execve("/proc/self/exe", arguments, environ);
	_exit(WORKER_UNABLE);
}

static void close_command(struct replay_slot *slot)
{
	if (slot->command >= 0)
		(void)close(slot->command);	/* nothing is buffered */
	slot->command = -1;
}

bool replay_workers_init(struct replay_workers *workers, size_t count)
{
	*workers = (struct replay_workers){ .count = count, .answers = { -1, -1 } };
	workers->children = calloc(count, sizeof(*workers->children));
	workers->slots = calloc(count, sizeof(*workers->slots));
	for (size_t i = 0; workers->slots && i < count; i++)
		workers->slots[i].command = -1;
	if (workers->children && workers->slots && pipe2(workers->answers, O_CLOEXEC | O_NONBLOCK) == 0)
		return true;
	tool_complain("%s", workers->slots ? strerror(errno) : "out of memory");
	return false;
}

void replay_workers_release(struct replay_workers *workers)
{
	for (size_t i = 0; workers->slots && i < workers->count; i++)
		close_command(&workers->slots[i]);
	for (size_t i = 0; i < 2; i++) {
		if (workers->answers[i] >= 0)
			(void)close(workers->answers[i]);	/* nobody is left to write */
	}
	free(workers->children);
	free(workers->slots);
}

enum cmn_status replay_surroundings(const struct cc_recipe *recipe,
				    const struct replay_settings *settings, struct cmn_hash *ret)
{
	struct environment environment = { 0 };
	struct cmn_buffer text = { 0 };
	bool failed;

	gather_environment(recipe, settings, &environment);
	cmn_buffer_append_u8(&text, replay_key_is_level_zero(recipe->key));
	cmn_buffer_append_u8(&text, cc_recipe_is_strangers(recipe));
	cmn_buffer_append_sized(&text, recipe->directory.data, recipe->directory.len);
	for (size_t i = 0; i < environment.count; i++)
		cmn_buffer_append(&text, environment.variables[i],
				  strlen(environment.variables[i]) + 1);
	*ret = cmn_hash_of(text.data, text.len);
	failed = environment.failed || text.failed;
	environment_release(&environment);
	cmn_buffer_release(&text);
	return failed ? CMN_ERR_NOMEM : CMN_OK;
}

/* false: complained about. */
static bool fork_worker(struct replay_workers *workers, struct start *start, char **variables)
{
	struct replay_slot *slot = &workers->slots[start->slot];
	struct child *child = &workers->children[start->slot];
	int pair[2] = { -1, -1 };

	if (start->kind == REPLAY_RECIPES &&
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		tool_complain("socketpair: %s", strerror(errno));
		return false;
	}
	slot->command = pair[0];
	slot->done = 0;
	start->command = pair[1];
	start->answers = start->kind == REPLAY_RECIPES ? workers->answers[1] : -1;
	child->name = NULL;
	if (child_fork(child) == 0)
		in_worker(start, variables);
	if (pair[1] >= 0)
		(void)close(pair[1]);	/* the worker's */
	if (child->pid > 0)
		return true;
	tool_complain("fork: %s", strerror(errno));
	child->pid = 0;
	close_command(slot);
	return false;
}

bool replay_process_start(struct replay_workers *workers, size_t slot, enum replay_kind kind,
			  const struct cc_recipe *recipe, const struct replay_settings *settings)
{
	struct start start = {
		.slot = slot,
		.kind = kind,
		.idle = settings->idle,
		.level_zero = kind == REPLAY_PROBE_LEVEL_ZERO ||
			      (recipe && replay_key_is_level_zero(recipe->key)),
		.confine = recipe && cc_recipe_is_strangers(recipe) ? settings->confine : NULL,
	};
	struct environment environment = { 0 };
	bool started = false;

	gather_environment(recipe, settings, &environment);
	child_limit(&workers->children[slot], settings->timeout_ns);
	if (environment.failed)
		tool_complain("out of memory");
	else
		started = fork_worker(workers, &start, environment.variables);
	environment_release(&environment);
	return started;
}

void replay_process_give(struct replay_workers *workers, size_t slot, char *name,
			 const struct replay_settings *settings)
{
	struct child *child = &workers->children[slot];

	child->name = name;
	workers->slots[slot].begun = false;
	child_limit(child, settings->timeout_ns);
	/* Of one that is dead waiting tells. */
	(void)!send(workers->slots[slot].command, name, strlen(name) + 1, MSG_NOSIGNAL);
}

void replay_process_retire(struct replay_workers *workers, size_t slot,
			   const struct replay_settings *settings)
{
	close_command(&workers->slots[slot]);
	child_limit(&workers->children[slot], settings->timeout_ns);
}

void replay_process_kill(struct replay_workers *workers, size_t slot)
{
	struct child *child = &workers->children[slot];

	child_kill(child);
	(void)waitpid(child->pid, NULL, 0);	/* it is dead */
	child->pid = 0;
	close_command(&workers->slots[slot]);
}

/* One answer that is of the recipe that its slot has in work; others are of nobody. */
static bool read_answer(struct replay_workers *workers, struct replay_answer *ret)
{
	while (read(workers->answers[0], ret, sizeof(*ret)) == (ssize_t)sizeof(*ret)) {
		const struct child *child =
			ret->slot < workers->count ? &workers->children[ret->slot] : NULL;

		ret->name[sizeof(ret->name) - 1] = '\0';
		ret->text[sizeof(ret->text) - 1] = '\0';
		if (!child || !child->name || strcmp(child->name, ret->name) != 0)
			continue;
		workers->slots[ret->slot].begun = true;
		if (ret->code == WORKER_BEGUN)
			continue;
		workers->slots[ret->slot].done++;
		return true;
	}
	return false;
}

enum replay_event replay_process_wait(struct replay_workers *workers, size_t *ret_slot,
				      struct replay_answer *ret_answer, int *ret_signal)
{
	struct signalfd_siginfo info;

	for (;;) {
		struct pollfd pipes[2] = { { workers->answers[0], POLLIN, 0 }, { -1, 0, 0 } };
		struct child *ended;

		if (read_answer(workers, ret_answer))
			return REPLAY_ANSWERED;
		if (workers->ended) {
			*ret_slot = (size_t)(workers->ended - workers->children);
			workers->ended = NULL;
			close_command(&workers->slots[*ret_slot]);
			return REPLAY_ENDED;
		}
		ended = child_wait(workers->children, workers->count, pipes, &info);
		/* One that SIGKILL does not end is waited for all the same. */
		if (ended && !ended->pid)
			workers->ended = ended;
		if (!ended && info.ssi_signo) {
			*ret_signal = (int)info.ssi_signo;
			return REPLAY_SIGNALLED;
		}
	}
}
