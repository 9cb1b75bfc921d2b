/* SPDX-License-Identifier: MIT */
/*
 * replay_process: workers, and their environments. A driver may hang, crash or fill the memory, so
 * it runs in a process, and its compilers in its session (child.h). Starting a driver takes about as
 * long as compiling a small program, so that a worker builds many programs, one after another.
 */
#include "tools/replay/replay.h"

#include <argz.h>
#include <envz.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cachecore/config.h"
#include "cachecore/key.h"
#include "tools/memory.h"
#include "tools/worker/worker_process.h"

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

/*
 * What no key of ours has: it changes what is loaded, not what is compiled
 * (the C library's own list for privileged programs, and this project's).
 */
static const char *const never[] = {
	"LD_", "GCONV_PATH", "GETCONF_DIR", "GLIBC_TUNABLES", "HOSTALIASES", "LOCALDOMAIN",
	"LOCPATH", "MALLOC_", "NIS_PATH", "NLSPATH", "RESOLV_HOST_CONF", "RES_OPTIONS", "TMPDIR",
	"TZDIR", "PATH", "HOME", "BASH_ENV", "ENV", "IFS", "CKCACHE_", "OPENCL_LAYERS",
};

/* NAME=VALUE, each with its NUL (argz_add(3)). */
struct environment {
	char *variables;
	size_t len;
};

/* One of the same name goes. */
static void add_pair(struct environment *environment, const char *name, const char *value)
{
	if (envz_add(&environment->variables, &environment->len, name, value))
		memory_end();
}

static void add_view(struct environment *environment, const char *name, struct cmn_view value)
{
	char *text = memory_copy_view(value);

	add_pair(environment, name, text);
	free(text);
}

static void add_variable(struct environment *environment, const char *variable)
{
	size_t len = strcspn(variable, "=");
	char *name = memory_copy_view((struct cmn_view){ variable, len });

	add_pair(environment, name, variable[len] ? variable + len + 1 : "");
	free(name);
}

static void add_passed(struct environment *environment)
{
	for (size_t i = 0; environ && environ[i]; i++) {
		for (size_t j = 0; j < sizeof(passed) / sizeof(passed[0]); j++) {
			if (strncmp(environ[i], passed[j], strlen(passed[j])) == 0)
				add_variable(environment, environ[i]);
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
			add_view(environment, name, field.value);
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
	struct cc_config_value *values;

	if (cc_config_list(&tool_silent, CC_CONFIG_SYSTEM_FILE, NULL, &values) != CMN_OK)
		memory_end();
	for (const struct cc_config_value *value = values; value->name; value++) {
		if (value->place != CC_CONFIG_DEFAULT)
			add_pair(environment, value->variable, value->text);
	}
	cc_config_list_free(values);
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		add_pair(environment, none[i], "");
	add_pair(environment, "TMPDIR", scratch);
}

static void gather_environment(const struct cc_recipe *recipe,
			       const struct replay_settings *settings, struct environment *ret)
{
	static const struct worker_variable fixed[] = { WORKER_STORES, REPLAY_NO_OWN_CACHES };
	const char *variable;
	size_t at = 0;

	add_passed(ret);
	add_of_key(ret, recipe->key);
	while ((variable = cc_recipe_variable(recipe, &at))) {
		if (!is_gone(variable))
			add_variable(ret, variable);
	}
	if (settings->confine && cc_recipe_is_strangers(recipe))
		add_confined(ret, settings->scratch);
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		add_pair(ret, fixed[i].name, fixed[i].value);
	add_view(ret, CC_CONFIG_BUILT_FOR, cc_recipe_program(recipe));
	add_pair(ret, "CKCACHE_DIR", settings->root);
	add_pair(ret, "OPENCL_LAYERS", settings->layer);
	if (recipe->directory.len)
		add_view(ret, "PWD", recipe->directory);
}

static void close_channel(struct replay_slot *slot)
{
	if (slot->channel >= 0)
		(void)close(slot->channel);	/* nothing is buffered */
	slot->channel = -1;
}

void replay_carry_environment(struct cmn_buffer *ret)
{
	for (size_t i = 0; environ && environ[i]; i++) {
		if (cc_recipe_carries(environ[i]))
			cmn_buffer_append(ret, environ[i], strlen(environ[i]) + 1);
	}
}

const char *replay_find_layer(void)
{
	static char *layer;

	layer = tool_find_library(TOOL_OPENCL_LIBRARY);
	if (!layer)
		tool_die(TOOL_OPENCL_LIBRARY " is not where this command's installation should have it");
	return layer;
}

void replay_workers_init(struct replay_workers *workers, size_t count)
{
	*workers = (struct replay_workers){
		.children = memory_new(count, sizeof(*workers->children)),
		.slots = memory_new(count, sizeof(*workers->slots)), .count = count,
	};
	for (size_t i = 0; i < count; i++)
		workers->slots[i].channel = -1;
}

void replay_workers_release(struct replay_workers *workers)
{
	for (size_t i = 0; i < workers->count; i++)
		close_channel(&workers->slots[i]);
	free(workers->children);
	free(workers->slots);
}

struct cmn_hash replay_surroundings(const struct cc_recipe *recipe, const struct replay_settings *settings)
{
	struct environment environment = { 0 };
	struct cmn_buffer text = { 0 };
	struct cmn_hash hash;

	gather_environment(recipe, settings, &environment);
	cmn_buffer_append_u8(&text, replay_key_is_level_zero(recipe->key));
	cmn_buffer_append_u8(&text, cc_recipe_is_strangers(recipe));
	cmn_buffer_append_sized(&text, recipe->directory.data, recipe->directory.len);
	cmn_buffer_append(&text, environment.variables, environment.len);
	if (text.failed)
		memory_end();
	hash = cmn_hash_of(text.data, text.len);
	free(environment.variables);
	cmn_buffer_release(&text);
	return hash;
}

bool replay_process_start(struct replay_workers *workers, size_t slot, const struct cc_recipe *recipe,
			  const struct replay_settings *settings)
{
	static const char *const arguments[] = { "recipes", NULL };
	struct environment environment = { 0 };
	struct worker_start start = {
		.arguments = arguments,
		.level_zero = replay_key_is_level_zero(recipe->key),
		.idle = settings->idle,
		.confine = cc_recipe_is_strangers(recipe) ? settings->confine : NULL,
		.timeout_ns = settings->timeout_ns,
	};
	struct replay_slot *own = &workers->slots[slot];
	bool started;

	gather_environment(recipe, settings, &environment);
	start.environment = memory_new(argz_count(environment.variables, environment.len) + 1,
				       sizeof(*start.environment));
	argz_extract(environment.variables, environment.len, start.environment);
	own->done = 0;
	own->retired = own->silent = false;
	started = worker_start(&start, -1, &workers->children[slot], &own->channel);
	if (!started)
		tool_complain("fork: %s", strerror(errno));
	free(start.environment);
	free(environment.variables);
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
	(void)!send(workers->slots[slot].channel, name, strlen(name), MSG_NOSIGNAL);
}

void replay_process_retire(struct replay_workers *workers, size_t slot,
			   const struct replay_settings *settings)
{
	workers->slots[slot].retired = true;
	(void)shutdown(workers->slots[slot].channel, SHUT_WR);	/* it is open */
	child_limit(&workers->children[slot], settings->timeout_ns);
}

void replay_process_kill(struct replay_workers *workers, size_t slot)
{
	struct child *child = &workers->children[slot];
	struct signalfd_siginfo info;

	child_give_up(child);
	while (!child_wait(child, 1, NULL, 0, &info))
		continue;	/* another signal changes nothing */
	child->pid = 0;
	close_channel(&workers->slots[slot]);
}

/* At a time, of one worker: one that never stops talking has its time as others have. An honest one has three. */
#define READS 16

/* What that worker says. false: no answer now. */
static bool read_answer(struct replay_workers *workers, size_t place, struct replay_answer *ret)
{
	struct replay_slot *slot = &workers->slots[place];
	char text[CHANNEL_MAX], *at = text;
	struct channel_record record;
	ssize_t len = 0;

	for (int i = 0; i < READS && slot->channel >= 0 && !slot->silent &&
	     (len = recv(slot->channel, text, sizeof(text) - 1, MSG_DONTWAIT)) > 0; i++) {
		text[len] = '\0';
		at = text;
		if (!channel_next(&at, &record) || !workers->children[place].name)
			continue;
		slot->begun = true;
		if (strcmp(record.word, "done") != 0)
			continue;
		slot->done++;
		*ret = (struct replay_answer){ .slot = place, .code = (int)strtol(record.fields[0], NULL, 10) };
		(void)snprintf(ret->text, sizeof(ret->text), "%s", record.fields[1]);	/* cut, if at all */
		return true;
	}
	slot->silent = slot->silent || !len;
	return false;
}

enum replay_event replay_process_wait(struct replay_workers *workers, size_t *ret_slot,
				      struct replay_answer *ret_answer, int *ret_signal)
{
	struct pollfd pipes[CHILD_PIPES];
	struct signalfd_siginfo info;

	for (;;) {
		struct child *ended;

		for (size_t i = 0; i < workers->count; i++) {
			if (read_answer(workers, i, ret_answer))
				return REPLAY_ANSWERED;
			pipes[i] = (struct pollfd){ workers->slots[i].silent ? -1 : workers->slots[i].channel,
						    POLLIN, 0 };
		}
		if (workers->ended) {
			*ret_slot = (size_t)(workers->ended - workers->children);
			workers->ended = NULL;
			close_channel(&workers->slots[*ret_slot]);
			return REPLAY_ENDED;
		}
		ended = child_wait(workers->children, workers->count, pipes, workers->count, &info);
		/* One that SIGKILL does not end is waited for all the same. */
		if (ended && !ended->pid)
			workers->ended = ended;
		if (!ended && info.ssi_signo) {
			*ret_signal = (int)info.ssi_signo;
			return REPLAY_SIGNALLED;
		}
	}
}
