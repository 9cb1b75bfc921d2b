/* SPDX-License-Identifier: MIT */
/*
 * level: one disk level: opening, look-up, and what is written after a build, each step as far as
 * it can be done; how long that may take is computed here. And which level is in use. A new one is
 * opened before the lock is taken: if the settings that it was opened for are not the ones found then,
 * another thread was faster, and this one starts again from those. The old one stays in the list until the last thread
 * has left it, so that a fork reaches it too.
 */
#include "cachecore/disk/level.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <utlist.h>

#include "cachecore/disk/reuse.h"
#include "cachecore/disk/path.h"
#include "cachecore/disk/root.h"
#include "cachecore/disk/space/evict.h"
#include "cachecore/disk/store.h"
#include "cachecore/disk/writer/background.h"
#include "cachecore/disk/writer/recipes.h"
#include "cachecore/record/recorder.h"
#include "cachecore/remote/remote.h"
#include "common/clock.h"
#include "common/mutex.h"

#define NS_PER_S UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)
/* Of the compile time that the caller has just waited for. */
#define EVICT_SHARE 20
#define EVICT_LEAST_NS (5 * NS_PER_MS)
#define EVICT_MOST_NS (250 * NS_PER_MS)
#define LOCK_SHARE 8
#define LOCK_LEAST_NS (250 * NS_PER_MS)	/* many processes that store at once on a busy machine */
#define LOCK_MOST_NS (1000 * NS_PER_MS)
/* What is noted of one build stays together, however small the root may be. */
#define TRIM_PAUSE_NS (1000 * NS_PER_MS)

/* What all levels of a process share; borrowed by each. */
struct cc_level_shared {
	const struct cc_config *config;
	const struct cmn_log *log;
	struct cc_remote *remote;	/* NULL: none */
	uint64_t run;			/* reuse.h */
	struct cc_recorder recorder;
};

struct cc_level {
	struct cc_level_shared *shared;
	struct cc_config config;	/* as of all levels, but for dir and max_size */
	struct cc_store *store;
	bool writes;			/* false: nothing is written */
	atomic_flag failure_logged, unused_logged;
	_Atomic uint64_t trimmed;	/* monotonic, when room was made for the log */
	struct cc_background background;
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
	struct cc_level_shared shared;
	pthread_mutex_t lock;
	/* guarded by lock, all that follows */
	struct settings settings;
	uint64_t serial;		/* of the settings */
	struct cc_level *current;	/* NULL: none */
	struct cc_level *all;		/* current, and those that threads are still inside */
};

/* What a setter changes. */
struct change {
	enum { CHANGE_ON, CHANGE_DIR, CHANGE_CAPACITY } what;
	struct settings to;		/* the one that is meant */
};

/* NULL is fine. */
static void free_level(struct cc_level *level)
{
	if (!level)
		return;
	cc_store_close(level->store);
	free(level->config.dir);
	free(level);
}

/*
 * The level in dir (NULL: tiers only), of max_size bytes. The result has one
 * user. Statuses as cc_store_open's; CMN_ERR_NOMEM.
 */
static enum cmn_status open_level(struct cc_level_shared *shared, const char *dir,
				  uint64_t max_size, struct cc_level **ret)
{
	struct cc_level *level = calloc(1, sizeof(*level));
	enum cmn_status status = CMN_ERR_NOMEM;

	if (!level)
		return CMN_ERR_NOMEM;
	level->shared = shared;
	level->config = *shared->config;
	level->config.dir = dir ? strdup(dir) : NULL;
	level->config.max_size = max_size;
	level->users = 1;
	/* A cache that is only read takes no statistics either. */
	level->writes = dir && !level->config.read_only;
	atomic_flag_clear(&level->failure_logged);
	atomic_flag_clear(&level->unused_logged);
	/* The store itself names the reason in the log. */
	if (!dir || level->config.dir)
		status = cc_store_open(&level->config, shared->log, &level->store);
	if (status != CMN_OK) {
		free_level(level);
		return status;
	}
	*ret = level;
	return CMN_OK;
}

/* Room for what is told of events. */
static void trim(struct cc_level *level)
{
	uint64_t now = cmn_clock_monotonic(), last = atomic_load(&level->trimmed);

	if ((!last || now - last >= TRIM_PAUSE_NS) && atomic_compare_exchange_strong(&level->trimmed, &last, now))
		cc_store_trim(level->store);
}

void cc_level_note(struct cc_level *level, const struct cc_event *event)
{
	/* What a worker finds is no look-up of a program. */
	if (!level || !level->writes || (level->config.built_for && cc_event_is_hit(event->kind)))
		return;
	if (!cc_event_is_short(event->kind))
		trim(level);
	cc_recorder_write(&level->shared->recorder, level->config.dir, event);
}

static void note_finding(struct cc_level *level, const struct cc_event *event)
{
	cc_event_say(level->shared->log, event);
	cc_level_note(level, event);
}

/* What was in the way of a hit. */
static void note_report(struct cc_level *level, const struct cc_key *key,
			const struct cc_store_report *report)
{
	static const char *const reasons[] = {
		[CC_MANIFEST_CHANGED] = "changed", [CC_MANIFEST_VANISHED] = "vanished",
		[CC_MANIFEST_APPEARED] = "appeared", [CC_MANIFEST_DIRECTORY] = "directory",
		[CC_MANIFEST_ANOTHER] = "changed", [CC_MANIFEST_INCLUDE_PATH] = "include-path",
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

static uint64_t share_of(uint64_t build_ns, unsigned int share, uint64_t least, uint64_t most)
{
	uint64_t ns = build_ns / share;

	return ns < least ? least : ns > most ? most : ns;
}

/* Whether it is that limit, and not the disk. Asked afterwards: where something has changed since, what is likeliest. */
static bool is_file_limit(const char *root, size_t size)
{
	struct rlimit limit;
	struct statvfs disk;

	if (statvfs(root, &disk) < 0 || (uint64_t)disk.f_bavail * disk.f_frsize <= size ||
	    (disk.f_files && !disk.f_favail))
		return false;
	return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

/* size: of what was to be written, as far as it is known. */
static void log_failure(struct cc_level *level, const char *what, enum cmn_status status, size_t size)
{
	bool limited = status == CMN_ERR_NOSPACE && is_file_limit(level->config.dir, size);

	cmn_log_once(level->shared->log, &level->failure_logged, CMN_LOG_ERROR, "cannot write %s: %s", what,
		     limited ? "a file may not grow so large (RLIMIT_FSIZE)" : cmn_status_string(status));
}

/* Why an entry is not there. Nor will it be uploaded to those who wait. */
static void note_not_stored(struct cc_level *level, const struct cc_key *key,
			    const struct cc_entry *entry, const char *reason, const char *words)
{
	char size[24];
	const struct cc_event event = {
		.kind = CC_EVENT_NOT_STORED, .key = key, .reason = reason, .detail = words ? words : size,
	};

	(void)snprintf(size, sizeof(size), "%zu", cc_entry_image_size(entry));
	cc_event_say(level->shared->log, &event);
	cc_level_note(level, &event);
	if (entry->claimed)
		cc_remote_release(level->shared->remote, key);
}

/* By what cc_store_put answered. */
static const char *reason_of(struct cc_level *level, const struct cc_entry *entry,
			     enum cmn_status status)
{
	const char *bound = cc_store_bound_of(level->store, entry), *why;
	const char *root = level->config.dir;
	struct statvfs disk;

	switch (status) {
	case CMN_ERR_TOO_LARGE:
		return bound ? bound : cc_evict_makes_room(&level->config) ? "max_size" : "full";
	case CMN_ERR_ACCESS:
		if (cc_root_check(root, CC_ROOT_GROUP, &why) == CMN_ERR_ACCESS)
			return "foreign";
		return statvfs(root, &disk) == 0 && (disk.f_flag & ST_RDONLY) ? "read-only-disk" : "access";
	case CMN_BUSY:
		return "busy";
	case CMN_ERR_NOSPACE:
		return is_file_limit(root, cc_entry_payload_size(entry)) ? "file-limit" : "no-space";
	default:
		return "failed";
	}
}

/* false: it would be one more of many that nobody ever asks for again; *ret_words as cc_reuse_is_likely's. */
static bool is_welcome(struct cc_level *level, struct cmn_view key, char ret_words[CC_REUSE_WORDS_SIZE])
{
	/* That a worker's are many and come one after another says nothing of the programs. */
	if (level->config.built_for ||
	    cc_reuse_is_likely(level->config.dir, key, level->shared->run, cmn_clock_realtime(), ret_words))
		return true;
	cmn_log_once(level->shared->log, &level->unused_logged, CMN_LOG_WARNING,
		     "a kernel differs in each run, and no former one was used again: it is not stored%s%s%s",
		     ret_words[0] ? " (" : "", ret_words, ret_words[0] ? ")" : "");
	return false;
}

static enum cmn_status put(struct cc_level *level, const struct cc_key *key, const struct cc_entry *entry)
{
	uint64_t build_ns = cc_entry_build_ns(entry);

	/* Nobody waits for a worker of ckcache replay. */
	if (level->config.built_for)
		return cc_store_put(level->store, key, entry);
	/* Whoever has the lock that is wanted may be stopped. */
	return cc_store_put_within(level->store, key, entry,
				   share_of(build_ns, LOCK_SHARE, LOCK_LEAST_NS, LOCK_MOST_NS),
				   share_of(build_ns, EVICT_SHARE, EVICT_LEAST_NS, EVICT_MOST_NS));
}

void cc_level_put(struct cc_level *level, const struct cc_key *key, struct cc_entry *entry,
		 struct cc_build_lock *lock)
{
	const struct cc_event stored = { .kind = CC_EVENT_STORED };
	char words[CC_REUSE_WORDS_SIZE];
	enum cmn_status status;

	if (!level || !level->writes || entry->in_memory_only ||
	    (entry->failed && !level->config.remember_failures)) {
		cc_build_lock_release(lock);
		return;
	}
	if (!is_welcome(level, cc_key_view(key), words)) {
		cc_build_lock_release(lock);
		note_not_stored(level, key, entry, "not-reused", words);
		return;
	}
	entry->witnesses = (struct cc_witnesses){ level->shared->run, level->shared->run };
	status = put(level, key, entry);
	cc_build_lock_release(lock);
	/* It is no result, which is counted and shared. */
	if (status == CMN_OK && entry->failed)
		return;
	if (status == CMN_OK) {
		cc_recorder_write(&level->shared->recorder, level->config.dir, &stored);
		if (!entry->remote)
			cc_remote_stored(level->shared->remote, level->config.dir, key);
		return;
	}
	note_not_stored(level, key, entry, reason_of(level, entry, status), NULL);
	if (status < 0 && status != CMN_ERR_TOO_LARGE && status != CMN_ERR_ACCESS)
		log_failure(level, "an entry", status, cc_entry_payload_size(entry));
}

bool cc_level_put_again(struct cc_level *level, const struct cc_key *key, struct cc_file_memo *memo,
			struct cc_entry *entry)
{
	struct cc_entry *former;
	bool same;

	if (!level || cc_store_get_failure(level->store, key, memo, &former) != CMN_OK)
		return false;
	/* What it tells of them is this build's. */
	same = cc_manifest_has_include_paths(cc_entry_manifest(former), &key->include_paths) &&
	       cc_entry_take_manifest(entry, former);
	cc_entry_unref(former);
	if (same)
		cc_level_put(level, key, entry, NULL);
	return same;
}

bool cc_level_stores(const struct cc_level *level)
{
	return level && level->writes;
}

static void put_recipe(struct cc_level *level, struct cmn_view key, struct cmn_view encoded)
{
	char words[CC_REUSE_WORDS_SIZE];
	const struct cc_event unwelcome = { .kind = CC_EVENT_NOT_STORED, .reason = "not-reused", .detail = words };
	const struct cc_event failed = { .kind = CC_EVENT_ERROR };
	enum cmn_status status;

	if (!is_welcome(level, key, words)) {
		cc_level_note(level, &unwelcome);
		return;
	}
	/* A recipe only saves time. */
	if (cc_store_is_full(level->store, encoded.len))
		return;
	status = cc_recipes_put(level->config.dir, encoded);
	if (status == CMN_OK)
		cc_background_start(&level->background, &level->config, level->config.dir);
	if (status < 0 && status != CMN_ERR_TOO_LARGE && status != CMN_ERR_ACCESS) {
		cc_recorder_write(&level->shared->recorder, level->config.dir, &failed);
		log_failure(level, "a recipe", status, encoded.len);
	}
}

bool cc_level_put_recipe(struct cc_level *level, const struct cc_recipe *recipe)
{
	struct cmn_buffer encoded;

	if (!level || !level->writes || cc_recipe_encode(recipe, &encoded) != CMN_OK)
		return false;
	put_recipe(level, recipe->key, cmn_buffer_view(&encoded));
	cmn_buffer_release(&encoded);
	return true;
}

enum cmn_status cc_level_lock_build(struct cc_level *level, const struct cc_key *key,
				    struct cc_build_lock **ret_lock)
{
	enum cc_build_turn turn;

	*ret_lock = NULL;
	if (!level || !level->writes || !level->config.build_wait)
		return CMN_MISS;
	turn = cc_build_lock_take(level->config.dir, cc_key_local_view(key), level->config.build_wait * NS_PER_S, ret_lock);
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
	(void)pthread_mutex_init(&levels->lock, NULL);	/* a default mutex does not fail */
	levels->shared = (struct cc_level_shared){
		.config = config, .log = log, .remote = remote, .run = cc_reuse_run(),
	};
	cc_recorder_begin(&levels->shared.recorder, config->built_for);
	levels->shared.recorder.makes_no_root = config->makes_no_root;
	levels->settings = (struct settings){ .on = config->persistent,
					     .max_size = config->max_size };
	if (config->persistent && config->dir_problem)
		cmn_log_write(log, CMN_LOG_WARNING, "no disk cache: %s", config->dir_problem);
	/* What an image or a site brings can be read without a place to write to. */
	if (config->persistent &&
	    open_level(&levels->shared, config->dir, config->max_size, &level) == CMN_OK)
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
	(void)pthread_mutex_destroy(&levels->lock);	/* nobody is inside */
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

static enum cmn_status copy_text(const char *text, char **ret)
{
	*ret = text ? strdup(text) : NULL;
	return text && !*ret ? CMN_ERR_NOMEM : CMN_OK;
}

/* What is there now, with the change; *ret_serial: of what is there; *ret_has_level: a level is in use. */
static enum cmn_status change_settings(struct cc_level_switch *levels, const struct change *change,
				       struct settings *ret, uint64_t *ret_serial, bool *ret_has_level)
{
	enum cmn_status status;

	cmn_mutex_lock(&levels->lock);
	*ret = levels->settings;
	*ret_serial = levels->serial;
	*ret_has_level = levels->current;
	status = copy_text(change->what == CHANGE_DIR ? change->to.dir : ret->dir, &ret->dir);
	cmn_mutex_unlock(&levels->lock);
	if (change->what == CHANGE_ON)
		ret->on = change->to.on;
	if (change->what == CHANGE_CAPACITY)
		ret->max_size = change->to.max_size;
	return status;
}

/*
 * With the lock: the settings, which become the former ones, and with replaces the level in use. false: they are
 * others by now. *ret_old: the level that was replaced (NULL: none), whose user the caller is now.
 */
static bool commit(struct cc_level_switch *levels, uint64_t serial, struct settings *settings, bool replaces,
		   struct cc_level *level, struct cc_level **ret_old)
{
	const struct settings former = levels->settings;

	if (levels->serial != serial)
		return false;
	levels->settings = *settings;
	*settings = former;
	levels->serial++;
	if (replaces)
		*ret_old = install(levels, level);
	return true;
}

static enum cmn_status make_change(struct cc_level_switch *levels, const struct change *change)
{
	struct cc_level *level, *old = NULL;
	bool opens, has_level, done = false;
	struct settings settings;
	enum cmn_status status;
	uint64_t serial;

	do {
		level = NULL;
		status = change_settings(levels, change, &settings, &serial, &has_level);
		/* A new directory is tried while the level is off, too; a bound waits for a level. */
		opens = change->what == CHANGE_DIR ||
			(change->what == CHANGE_ON ? settings.on && !has_level : has_level);
		if (status == CMN_OK && opens)
			status = open_level(&levels->shared, settings.dir ? settings.dir : levels->shared.config->dir,
					    settings.max_size, &level);
		if (status == CMN_OK) {
			bool on = settings.on;

			cmn_mutex_lock(&levels->lock);
			done = commit(levels, serial, &settings, opens || !on, on ? level : NULL, &old);
			cmn_mutex_unlock(&levels->lock);
			if (done && on)
				level = NULL;
		}
		free_level(level);	/* it was not used */
		free(settings.dir);
	} while (status == CMN_OK && !done);
	cc_level_switch_leave(levels, old);
	return status;
}

enum cmn_status cc_level_switch_set_on(struct cc_level_switch *levels, bool on)
{
	const struct change change = { CHANGE_ON, { .on = on } };

	if (on && !levels->shared.config->persistent)
		return CMN_ERR_ACCESS;
	return make_change(levels, &change);
}

enum cmn_status cc_level_switch_set_dir(struct cc_level_switch *levels, const char *dir)
{
	struct change change = { .what = CHANGE_DIR };
	enum cmn_status status = CMN_OK;

	if (!levels->shared.config->persistent)
		return CMN_ERR_ACCESS;
	/* A privileged program's working directory is its caller's choice. */
	if (dir)
		status = cc_path_absolute(dir, strlen(dir), !getauxval(AT_SECURE), &change.to.dir);
	if (status == CMN_OK)
		status = make_change(levels, &change);
	free(change.to.dir);
	return status;
}

enum cmn_status cc_level_switch_set_capacity(struct cc_level_switch *levels, uint64_t bytes)
{
	const struct change change = { CHANGE_CAPACITY, { .max_size = bytes } };

	return make_change(levels, &change);
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
	cmn_mutex_unlock(&levels->lock);
}
