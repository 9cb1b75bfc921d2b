/* SPDX-License-Identifier: MIT */
/*
 * level_switch: which disk level is in use, and how another takes its place. The new
 * one is opened before the lock is taken: if the settings that it was opened
 * for are not the ones found then, another thread was faster, and this one
 * starts again from those. The old one stays in the list until the last thread
 * has left it, so that a flush and a fork reach it too.
 */
#include "cachecore/disk/level_switch.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include <utlist.h>

#include "cachecore/disk/level_internal.h"
#include "cachecore/disk/nonce.h"
#include "cachecore/disk/path.h"
#include "common/clock.h"
#include "common/descriptor.h"
#include "common/log_relay.h"
#include "common/mutex.h"

/* Nobody waits longer for a level. */
#define TIMEOUT_NS (UINT64_C(5) * 1000000000)

/* What a program may change. */
struct settings {
	bool on;
	char *dir;			/* NULL: the configuration's */
	uint64_t max_size;
};

struct cc_level_switch {
	struct cc_level_shared around;
	struct cmn_log_relay relay;	/* around.log */
	pthread_mutex_t lock;
	/* guarded by lock, all that follows */
	struct settings settings;
	uint64_t serial;		/* of the settings */
	struct cc_level *current;	/* NULL: none */
	struct cc_level *all;		/* current, and those that threads are still inside */
	bool hangs;			/* one could not be freed */
};

/* What a setter changes. */
struct change {
	enum { CHANGE_ON, CHANGE_DIR, CHANGE_CAPACITY } what;
	struct settings to;		/* the one that is meant */
};

/* One attempt at a change. */
struct attempt {
	uint64_t serial;		/* of what it starts from */
	struct settings settings;
	bool replaces;			/* the level in use, by: */
	struct cc_level *level;		/* NULL: none */
};

/*
 * With the lock: level (NULL: none) is in use from now on, and the caller is a
 * user of what was before, which is returned.
 */
static struct cc_level *install(struct cc_level_switch *levels, struct cc_level *level)
{
	struct cc_level *old = levels->current;

	/* What was counted while there was nothing to write it to is nobody's. */
	if (old && old->writer)
		cc_writer_set_stats(old->writer, NULL);
	else
		cc_stats_forget(levels->around.stats);
	if (level && level->writer)
		cc_writer_set_stats(level->writer, levels->around.stats);
	levels->current = level;
	if (level)
		DL_APPEND(levels->all, level);
	return old;
}

enum cmn_status cc_level_switch_new(const struct cc_config *config, const struct cmn_log *log,
			     struct cc_stats *stats, struct cc_remote *remote, struct cc_level_switch **ret)
{
	struct cc_level_switch *levels = calloc(1, sizeof(*levels));
	struct cc_flights *flights = NULL;
	struct cc_level *level;

	if (!levels)
		return CMN_ERR_NOMEM;
	if (pthread_mutex_init(&levels->lock, NULL) != 0) {
		free(levels);
		return CMN_ERR_NOMEM;
	}
	if (!cmn_log_relay_init(&levels->relay, log)) {
		(void)pthread_mutex_destroy(&levels->lock);	/* nobody holds it */
		free(levels);
		return CMN_ERR_NOMEM;
	}
	/* Without, every process builds for itself. */
	if (config->persistent && config->build_wait)
		flights = cc_flights_new();
	levels->around = (struct cc_level_shared){
		.config = config, .log = &levels->relay.log, .stats = stats, .flights = flights,
		.remote = remote,
		.run = cc_nonce_run(), .start_ns = cmn_clock_realtime(),
	};
	levels->settings = (struct settings){ .on = config->persistent,
					     .max_size = config->max_size };
	if (config->persistent && config->dir_problem)
		cmn_log_write(log, CMN_LOG_WARNING, "no disk cache: %s", config->dir_problem);
	/* What an image or a site brings can be read without a place to write to. */
	if (config->persistent &&
	    cc_level_open(&levels->around, config->dir, config->max_size, &level) == CMN_OK)
		(void)install(levels, level);	/* there was none */
	*ret = levels;
	return CMN_OK;
}

void cc_level_switch_set_tally(struct cc_level_switch *levels, struct cc_tally *tally)
{
	levels->around.tally = tally;
}

static uint64_t time_left(uint64_t deadline)
{
	uint64_t now = cmn_clock_monotonic();

	return now < deadline ? deadline - now : 0;
}

bool cc_level_switch_free(struct cc_level_switch *levels)
{
	uint64_t deadline = cmn_clock_monotonic() + TIMEOUT_NS;
	struct cc_level *level, *next;

	if (!levels)
		return true;
	/* In a forked child threads of the parent never left. */
	DL_FOREACH_SAFE(levels->all, level, next)
		levels->hangs |= !cc_level_free(level, time_left(deadline));
	if (levels->hangs)
		return false;
	cc_flights_free(levels->around.flights);
	cmn_log_relay_release(&levels->relay);
	(void)pthread_mutex_destroy(&levels->lock);	/* nobody is inside */
	free(levels->settings.dir);
	free(levels);
	return true;
}

struct cc_level *cc_level_switch_enter(struct cc_level_switch *levels)
{
	struct cc_level *level;

	cmn_log_relay_deliver(&levels->relay);
	cmn_mutex_lock(&levels->lock);
	level = levels->current;
	if (level)
		level->users++;
	cmn_mutex_unlock(&levels->lock);
	return level;
}

static bool flush_until(struct cc_level *level, uint64_t deadline)
{
	return cc_level_flush(level, time_left(deadline));
}

/* The caller seems to be the last one inside. */
static void leave_last(struct cc_level_switch *levels, struct cc_level *level, uint64_t deadline)
{
	bool last;

	/* Before it is out of the list: a process that ends now waits for what is in it. */
	(void)flush_until(level, deadline);	/* the rest is dropped: a later run stores it */
	cmn_mutex_lock(&levels->lock);
	last = --level->users == 0;
	if (last)
		DL_DELETE(levels->all, level);
	cmn_mutex_unlock(&levels->lock);
	if (last && !cc_level_free(level, 0)) {
		cmn_mutex_lock(&levels->lock);
		levels->hangs = true;
		cmn_mutex_unlock(&levels->lock);
	}
}

/* false: the caller is the last one inside, still. */
static bool leave_to_others(struct cc_level_switch *levels, struct cc_level *level)
{
	bool left;

	cmn_mutex_lock(&levels->lock);
	left = level->users > 1;
	if (left)
		level->users--;
	cmn_mutex_unlock(&levels->lock);
	return left;
}

static void leave_until(struct cc_level_switch *levels, struct cc_level *level, uint64_t deadline)
{
	if (!leave_to_others(levels, level))
		leave_last(levels, level, deadline);
}

void cc_level_switch_leave(struct cc_level_switch *levels, struct cc_level *level)
{
	/* The one in use has a user in the switch itself. */
	if (level && !leave_to_others(levels, level))
		leave_last(levels, level, cmn_clock_monotonic() + TIMEOUT_NS);
}

void cc_level_switch_note(struct cc_level_switch *levels, const struct cc_history_note *note)
{
	struct cc_level *level = cc_level_switch_enter(levels);

	cc_level_note(level, note);
	cc_level_switch_leave(levels, level);
}

bool cc_level_switch_flush(struct cc_level_switch *levels, uint64_t timeout_ns)
{
	uint64_t deadline = cmn_clock_monotonic() + timeout_ns;
	struct cc_level *level, *next;
	bool done = true;

	cmn_mutex_lock(&levels->lock);
	level = levels->all;
	if (level)
		level->users++;
	cmn_mutex_unlock(&levels->lock);
	while (level) {
		done &= flush_until(level, deadline);
		cmn_mutex_lock(&levels->lock);
		next = level->next;
		if (next)
			next->users++;
		cmn_mutex_unlock(&levels->lock);
		leave_until(levels, level, deadline);
		level = next;
	}
	/* What others wait for is there by now. */
	if (levels->around.flights)
		done &= cc_flights_flush(levels->around.flights, time_left(deadline));
	cmn_log_relay_deliver(&levels->relay);
	return done;
}

static enum cmn_status copy_text(const char *text, char **ret)
{
	*ret = text ? strdup(text) : NULL;
	return text && !*ret ? CMN_ERR_NOMEM : CMN_OK;
}

/* What is there now, with the change; *ret_has_level: a level is in use. */
static enum cmn_status change_settings(struct cc_level_switch *levels, const struct change *change,
				       struct attempt *attempt, bool *ret_has_level)
{
	struct settings *settings = &attempt->settings;
	enum cmn_status status;

	cmn_mutex_lock(&levels->lock);
	attempt->serial = levels->serial;
	*settings = levels->settings;
	*ret_has_level = levels->current;
	status = copy_text(change->what == CHANGE_DIR ? change->to.dir : settings->dir,
			   &settings->dir);
	cmn_mutex_unlock(&levels->lock);
	if (change->what == CHANGE_ON)
		settings->on = change->to.on;
	if (change->what == CHANGE_CAPACITY)
		settings->max_size = change->to.max_size;
	return status;
}

/* Opens what is to be in use. On failure too the attempt is to be released. */
static enum cmn_status prepare(struct cc_level_switch *levels, const struct change *change,
			       struct attempt *attempt)
{
	const struct settings *settings = &attempt->settings;
	bool has_level, opens = false;
	struct cc_level *level = NULL;
	enum cmn_status status;

	status = change_settings(levels, change, attempt, &has_level);
	if (status != CMN_OK)
		return status;
	switch (change->what) {
	case CHANGE_ON:
		opens = settings->on && !has_level;
		break;
	case CHANGE_CAPACITY:
		opens = has_level;	/* else it waits for one */
		break;
	case CHANGE_DIR:
		opens = true;	/* also while the level is off: whether it can be used is to be known */
		break;
	}
	if (opens)
		status = cc_level_open(&levels->around,
				      settings->dir ? settings->dir : levels->around.config->dir,
				      settings->max_size, &level);
	if (settings->on)
		attempt->level = level;
	else
		(void)cc_level_free(level, 0);	/* it was not used */
	attempt->replaces = opens || !settings->on;
	return status;
}

/*
 * false: the settings are others by now. Else *ret_old is the level that was
 * replaced (NULL: none), whose user the caller is now.
 */
static bool commit(struct cc_level_switch *levels, struct attempt *attempt,
		   struct cc_level **ret_old)
{
	struct settings former;
	bool done;

	*ret_old = NULL;
	cmn_mutex_lock(&levels->lock);
	done = levels->serial == attempt->serial;
	if (done) {
		former = levels->settings;
		levels->settings = attempt->settings;
		attempt->settings = former;
		levels->serial++;
	}
	if (done && attempt->replaces) {
		*ret_old = install(levels, attempt->level);
		attempt->level = NULL;
	}
	cmn_mutex_unlock(&levels->lock);
	return done;
}

static enum cmn_status make_change(struct cc_level_switch *levels, const struct change *change)
{
	struct cc_level *old = NULL;
	enum cmn_status status;
	uint64_t deadline;
	bool done = false;

	do {
		struct attempt attempt = { 0 };

		status = prepare(levels, change, &attempt);
		if (status == CMN_OK)
			done = commit(levels, &attempt, &old);
		(void)cc_level_free(attempt.level, 0);	/* it was not used */
		free(attempt.settings.dir);
	} while (status == CMN_OK && !done);
	if (!old)
		return status;
	/* Others may be inside for long: what is queued by now does not wait for them. */
	deadline = cmn_clock_monotonic() + TIMEOUT_NS;
	if (!flush_until(old, deadline))
		cmn_log_write(levels->around.log, CMN_LOG_INFO,
			      "not everything was stored before the directory changed");
	leave_until(levels, old, deadline);
	return status;
}

enum cmn_status cc_level_switch_set_on(struct cc_level_switch *levels, bool on)
{
	const struct change change = { CHANGE_ON, { .on = on } };

	if (on && !levels->around.config->persistent)
		return CMN_ERR_ACCESS;
	return make_change(levels, &change);
}

enum cmn_status cc_level_switch_set_dir(struct cc_level_switch *levels, const char *dir)
{
	struct change change = { .what = CHANGE_DIR };
	enum cmn_status status = CMN_OK;

	if (!levels->around.config->persistent)
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
	struct cc_level *level;

	cmn_mutex_lock(&levels->lock);
	DL_FOREACH(levels->all, level) {
		if (level->writer)
			cc_writer_fork_prepare(level->writer);
	}
	if (levels->around.flights)
		cc_flights_fork_prepare(levels->around.flights);
	cmn_log_relay_fork_prepare(&levels->relay);
	cmn_descriptors_fork_prepare();
}

void cc_level_switch_fork_parent(struct cc_level_switch *levels)
{
	struct cc_level *level;

	cmn_descriptors_fork_parent();
	cmn_log_relay_fork_parent(&levels->relay);
	if (levels->around.flights)
		cc_flights_fork_parent(levels->around.flights);
	DL_FOREACH(levels->all, level) {
		if (level->writer)
			cc_writer_fork_parent(level->writer);
	}
	cmn_mutex_unlock(&levels->lock);
}

void cc_level_switch_fork_child(struct cc_level_switch *levels)
{
	struct cc_level *level;

	levels->around.start_ns = cmn_clock_realtime();
	/* First: what the others drop may hold flights. */
	if (levels->around.flights)
		cc_flights_fork_child(levels->around.flights);
	cmn_descriptors_fork_child();
	cmn_log_relay_fork_child(&levels->relay);
	DL_FOREACH(levels->all, level) {
		if (level->writer)
			cc_writer_fork_child(level->writer);
	}
	cmn_mutex_unlock(&levels->lock);
}
