/* SPDX-License-Identifier: MIT */
/*
 * level: one disk level (opening, look-up, storing), and which one is in use. Setters
 * take turns. Who looks up or stores does not wait for one that opens a level, and
 * the old level stays in the list until the last thread has left it, so that a fork
 * reaches it too.
 */
#include "cachecore/disk/level.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include <utlist.h>

#include "cachecore/disk/nonce.h"
#include "cachecore/disk/path.h"
#include "cachecore/disk/store.h"
#include "cachecore/disk/writer/writer.h"
#include "cachecore/record/event_text.h"
#include "cachecore/record/recorder.h"
#include "common/mutex.h"

#define NS_PER_S UINT64_C(1000000000)

/* What all levels of a process share; borrowed by each. */
struct cc_level_shared {
	const struct cc_config *config;
	const struct cmn_log *log;
	struct cc_remote *remote;	/* NULL: none */
	uint64_t run;			/* nonce.h */
	struct cc_recorder recorder;
};

struct cc_level {
	struct cc_level_shared *around;
	struct cc_config config;	/* but for dir and max_size, the surroundings' */
	struct cc_store *store;
	struct cc_writer *writer;	/* NULL: nothing is written */
	/* guarded by the level switch's lock */
	unsigned int users;		/* threads inside; one more while it is in use */
	struct cc_level *prev, *next;
};

/* What a program may change. */
struct settings {
	bool on;
	char *dir;			/* NULL: the configuration's */
	uint64_t max_size;
};

struct cc_level_switch {
	struct cc_level_shared around;
	pthread_mutex_t changing;	/* held by a setter, while it opens a level, too */
	pthread_mutex_t lock;
	/* guarded by lock, all that follows; settings and current are changed with both */
	struct settings settings;
	struct cc_level *current;	/* NULL: none */
	struct cc_level *all;		/* current, and those that threads are still inside */
};

/* What a setter changes. */
struct change {
	enum { CHANGE_ON, CHANGE_DIR, CHANGE_CAPACITY } what;
	bool on;
	uint64_t max_size;
};

static enum cmn_status open_store(struct cc_level *level)
{
	struct cc_level_shared *around = level->around;
	/* The store itself names the reason in the log. */
	enum cmn_status status = cc_store_open(&level->config, around->log, &level->store);
	struct cc_writer_setup setup = {
		.config = &level->config, .remote = around->remote, .recorder = &around->recorder,
		.log = around->log, .run = around->run,
	};

	if (status != CMN_OK)
		return status;
	/* A cache that is only read takes no statistics either. */
	if (level->config.read_only || !level->config.dir)
		return CMN_OK;
	setup.store = level->store;
	level->writer = cc_writer_new(&setup);
	return level->writer ? CMN_OK : CMN_ERR_NOMEM;
}

/* NULL is fine. */
static void free_level(struct cc_level *level)
{
	if (!level)
		return;
	cc_writer_free(level->writer);
	cc_store_close(level->store);
	free(level->config.dir);
	free(level);
}

/*
 * The level in dir (NULL: tiers only), of max_size bytes. The result has one
 * user. Statuses as cc_store_open's; CMN_ERR_NOMEM.
 */
static enum cmn_status open_level(struct cc_level_shared *around, const char *dir,
				  uint64_t max_size, struct cc_level **ret)
{
	struct cc_level *level = calloc(1, sizeof(*level));
	enum cmn_status status = CMN_ERR_NOMEM;

	if (!level)
		return CMN_ERR_NOMEM;
	level->around = around;
	level->config = *around->config;
	level->config.dir = dir ? strdup(dir) : NULL;
	level->config.max_size = max_size;
	level->users = 1;
	if (!dir || level->config.dir)
		status = open_store(level);
	if (status != CMN_OK) {
		free_level(level);
		return status;
	}
	*ret = level;
	return CMN_OK;
}

void cc_level_note(struct cc_level *level, const struct cc_event *event)
{
	if (!level || !level->writer)
		return;
	if (!cc_event_is_short(event->kind))
		cc_writer_note(level->writer, event);
	else if (!level->config.built_for || !cc_event_is_hit(event->kind))
		/* What a worker finds is no look-up of a program. */
		cc_recorder_write(&level->around->recorder, level->config.dir, event);
}

static void note_finding(struct cc_level *level, const struct cc_event *event)
{
	cc_event_say(level->around->log, event);
	cc_level_note(level, event);
}

/* What was in the way of a hit. */
static void note_report(struct cc_level *level, const struct cc_key *key,
			const struct cc_store_report *report)
{
	static const char *const reasons[] = {
		[CC_MANIFEST_CHANGED] = "changed", [CC_MANIFEST_VANISHED] = "vanished",
		[CC_MANIFEST_APPEARED] = "appeared", [CC_MANIFEST_DIRECTORY] = "directory",
		[CC_MANIFEST_ANOTHER] = "changed",
	};
	const struct cc_event damage = {
		.kind = CC_EVENT_DAMAGED, .key = key,
		.reason = report->distrusted == report->damaged ? "access" : NULL,
	};
	const struct cc_event change = {
		.kind = CC_EVENT_CHANGED, .key = key,
		.reason = reasons[report->change.how], .detail = report->change.path,
	};

	for (unsigned int i = 0; i < report->damaged; i++)
		note_finding(level, &damage);
	if (report->change.how != CC_MANIFEST_SAME)
		note_finding(level, &change);
}

enum cmn_status cc_level_get(struct cc_level *level, const struct cc_key *key,
			    struct cc_file_memo *memo, size_t kept_len, struct cc_entry **ret)
{
	struct cc_store_report report;
	enum cmn_status status;

	if (!level)
		return CMN_MISS;
	status = cc_store_get(level->store, key, memo, kept_len, ret, &report);
	if (status == CMN_OK)
		report.change.how = CC_MANIFEST_SAME;	/* of another state of the same key */
	if (status != CMN_OK || report.damaged)
		note_report(level, key, &report);
	return status;
}

void cc_level_put(struct cc_level *level, const struct cc_key *key, struct cc_entry *entry,
		 struct cc_build_lock *lock)
{
	if (level && level->writer && !cc_entry_in_memory_only(entry))
		cc_writer_put(level->writer, key, entry, lock);
	else
		cc_build_lock_release(lock);
}

bool cc_level_stores(const struct cc_level *level)
{
	return level && level->writer;
}

bool cc_level_put_recipe(struct cc_level *level, const struct cc_recipe *recipe)
{
	struct cmn_buffer encoded;

	if (!level || !level->writer || cc_recipe_encode(recipe, &encoded) != CMN_OK)
		return false;
	cc_writer_put_recipe(level->writer, recipe->key, cmn_buffer_view(&encoded));
	cmn_buffer_release(&encoded);
	return true;
}

enum cmn_status cc_level_lock_build(struct cc_level *level, const struct cc_key *key,
				    struct cc_build_lock **ret_lock)
{
	enum cc_build_turn turn;

	*ret_lock = NULL;
	if (!level || !level->writer || !level->config.build_wait)
		return CMN_MISS;
	turn = cc_build_lock_take(level->config.dir, cc_key_view(key), level->config.build_wait * NS_PER_S, ret_lock);
	/* Since the first look another one's may have begun and ended. */
	if (turn == CC_BUILD_ENDED ||
	    (turn == CC_BUILD_OWN && cc_store_may_have(level->store, key)))
		return CMN_OK;
	return CMN_MISS;
}

enum cmn_status cc_level_remove(struct cc_level *level, const struct cc_key *key)
{
	return level ? cc_store_remove(level->store, key) : CMN_OK;
}

/*
 * With the lock: level (NULL: none) is in use from now on, and the caller is a
 * user of what was before, which is returned.
 */
static struct cc_level *install(struct cc_level_switch *levels, struct cc_level *level)
{
	struct cc_level *old = levels->current;

	levels->current = level;
	if (level)
		DL_APPEND(levels->all, level);
	return old;
}

enum cmn_status cc_level_switch_new(const struct cc_config *config, const struct cmn_log *log,
				    struct cc_remote *remote, struct cc_level_switch **ret)
{
	struct cc_level_switch *levels = calloc(1, sizeof(*levels));
	struct cc_level *level;

	if (!levels)
		return CMN_ERR_NOMEM;
	levels->changing = levels->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	levels->around = (struct cc_level_shared){
		.config = config, .log = log, .remote = remote, .run = cc_nonce_run(),
	};
	cc_recorder_begin(&levels->around.recorder, config->built_for);
	levels->settings = (struct settings){ .on = config->persistent,
					     .max_size = config->max_size };
	if (config->persistent && config->dir_problem)
		cmn_log_write(log, CMN_LOG_WARNING, "no disk cache: %s", config->dir_problem);
	/* What an image or a site brings can be read without a place to write to. */
	if (config->persistent &&
	    open_level(&levels->around, config->dir, config->max_size, &level) == CMN_OK)
		(void)install(levels, level);	/* there was none */
	*ret = levels;
	return CMN_OK;
}

void cc_level_switch_free(struct cc_level_switch *levels)
{
	struct cc_level *level, *next;

	if (!levels)
		return;
	/* In a forked child threads of the parent never left. */
	DL_FOREACH_SAFE(levels->all, level, next)
		free_level(level);
	free(levels->settings.dir);
	free(levels);
}

struct cc_level *cc_level_switch_enter(struct cc_level_switch *levels)
{
	struct cc_level *level;

	cmn_mutex_lock(&levels->lock);
	level = levels->current;
	if (level)
		level->users++;
	cmn_mutex_unlock(&levels->lock);
	return level;
}

void cc_level_switch_leave(struct cc_level_switch *levels, struct cc_level *level)
{
	bool last;

	if (!level)
		return;
	cmn_mutex_lock(&levels->lock);
	last = --level->users == 0;	/* the one in use has a user in the switch itself */
	if (last)
		DL_DELETE(levels->all, level);
	cmn_mutex_unlock(&levels->lock);
	if (last)
		free_level(level);
}

/* Whether the change needs a level to be opened, which may fail. */
static bool opens(const struct cc_level_switch *levels, const struct change *change, bool on)
{
	switch (change->what) {
	case CHANGE_ON:
		return on && !levels->current;
	case CHANGE_CAPACITY:
		return levels->current;	/* else it waits for one */
	case CHANGE_DIR:
		break;
	}
	return true;	/* also while the level is off: whether it can be used is to be known */
}

/* dir: of the heap or NULL, taken over. */
static enum cmn_status make_change(struct cc_level_switch *levels, const struct change *change, char *dir)
{
	struct cc_level *level = NULL, *old = NULL;
	enum cmn_status status = CMN_OK;
	struct settings settings;
	bool replaces;

	cmn_mutex_lock(&levels->changing);
	settings = levels->settings;
	if (change->what == CHANGE_ON)
		settings.on = change->on;
	else if (change->what == CHANGE_CAPACITY)
		settings.max_size = change->max_size;
	else
		settings.dir = dir;
	replaces = opens(levels, change, settings.on);
	if (replaces)
		status = open_level(&levels->around, settings.dir ? settings.dir : levels->around.config->dir,
				    settings.max_size, &level);
	if (status == CMN_OK) {
		cmn_mutex_lock(&levels->lock);
		if (change->what == CHANGE_DIR)
			dir = levels->settings.dir;
		levels->settings = settings;
		if (replaces || !settings.on)
			old = install(levels, settings.on ? level : NULL);
		cmn_mutex_unlock(&levels->lock);
	}
	cmn_mutex_unlock(&levels->changing);
	if (!settings.on)
		free_level(level);	/* it was not used */
	cc_level_switch_leave(levels, old);
	free(dir);
	return status;
}

enum cmn_status cc_level_switch_set_on(struct cc_level_switch *levels, bool on)
{
	const struct change change = { CHANGE_ON, .on = on };

	if (on && !levels->around.config->persistent)
		return CMN_ERR_ACCESS;
	return make_change(levels, &change, NULL);
}

enum cmn_status cc_level_switch_set_dir(struct cc_level_switch *levels, const char *dir)
{
	const struct change change = { .what = CHANGE_DIR };
	enum cmn_status status = CMN_OK;
	char *absolute = NULL;

	if (!levels->around.config->persistent)
		return CMN_ERR_ACCESS;
	/* A privileged program's working directory is its caller's choice. */
	if (dir)
		status = cc_path_absolute(dir, strlen(dir), !getauxval(AT_SECURE), &absolute);
	return status == CMN_OK ? make_change(levels, &change, absolute) : status;
}

enum cmn_status cc_level_switch_set_capacity(struct cc_level_switch *levels, uint64_t bytes)
{
	const struct change change = { CHANGE_CAPACITY, .max_size = bytes };

	return make_change(levels, &change, NULL);
}

bool cc_level_switch_on(struct cc_level_switch *levels)
{
	bool on;

	cmn_mutex_lock(&levels->lock);
	on = levels->settings.on;
	cmn_mutex_unlock(&levels->lock);
	return on;
}

char *cc_level_switch_dir(struct cc_level_switch *levels)
{
	char *dir = NULL;

	cmn_mutex_lock(&levels->lock);
	if (levels->current && levels->current->config.dir)
		dir = strdup(levels->current->config.dir);
	cmn_mutex_unlock(&levels->lock);
	return dir;
}

uint64_t cc_level_switch_capacity(struct cc_level_switch *levels)
{
	uint64_t bytes;

	cmn_mutex_lock(&levels->lock);
	bytes = levels->settings.max_size;
	cmn_mutex_unlock(&levels->lock);
	return bytes;
}

void cc_level_switch_fork_prepare(struct cc_level_switch *levels)
{
	cmn_mutex_lock(&levels->lock);
}

void cc_level_switch_fork_parent(struct cc_level_switch *levels)
{
	cmn_mutex_unlock(&levels->lock);
}

void cc_level_switch_fork_child(struct cc_level_switch *levels)
{
	cc_build_locks_fork_child();
	cmn_file_locks_fork_child();
	levels->changing = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;	/* whose setter is not here */
	cmn_mutex_unlock(&levels->lock);
}
