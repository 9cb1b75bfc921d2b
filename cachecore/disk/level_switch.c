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

/* These fail only on misuse. */
static void lock(struct cc_level_switch *disks)
{
	(void)pthread_mutex_lock(&disks->lock);
}

static void unlock(struct cc_level_switch *disks)
{
	(void)pthread_mutex_unlock(&disks->lock);
}

/*
 * With the lock: level (NULL: none) is in use from now on, and the caller is a
 * user of what was before, which is returned.
 */
static struct cc_level *install(struct cc_level_switch *disks, struct cc_level *level)
{
	struct cc_level *old = disks->current;

	/* What was counted while there was nothing to write it to is nobody's. */
	if (old && old->writer)
		cc_writer_set_stats(old->writer, NULL);
	else
		cc_stats_forget(disks->around.stats);
	if (level && level->writer)
		cc_writer_set_stats(level->writer, disks->around.stats);
	disks->current = level;
	if (level)
		DL_APPEND(disks->all, level);
	return old;
}

enum cmn_status cc_level_switch_new(const struct cc_config *config, const struct cmn_log *log,
			     struct cc_stats *stats, struct cc_level_switch **ret)
{
	struct cc_level_switch *disks = calloc(1, sizeof(*disks));
	struct cc_flights *flights = NULL;
	struct cc_level *disk;

	if (!disks)
		return CMN_ERR_NOMEM;
	if (pthread_mutex_init(&disks->lock, NULL) != 0) {
		free(disks);
		return CMN_ERR_NOMEM;
	}
	/* Without, every process builds for itself. */
	if (config->persistent && config->build_wait)
		flights = cc_flights_new();
	disks->around = (struct cc_level_shared){
		.config = config, .log = log, .stats = stats, .flights = flights,
		.run = cc_nonce_run(), .start_ns = cmn_clock_realtime(),
	};
	disks->settings = (struct settings){ .on = config->persistent,
					     .max_size = config->max_size };
	if (config->persistent && config->dir_problem)
		cmn_log_write(log, CMN_LOG_WARNING, "no disk cache: %s", config->dir_problem);
	/* What an image or a site brings can be read without a place to write to. */
	if (config->persistent &&
	    cc_level_open(&disks->around, config->dir, config->max_size, &disk) == CMN_OK)
		(void)install(disks, disk);	/* there was none */
	*ret = disks;
	return CMN_OK;
}

static uint64_t time_left(uint64_t deadline)
{
	uint64_t now = cmn_clock_monotonic();

	return now < deadline ? deadline - now : 0;
}

bool cc_level_switch_free(struct cc_level_switch *disks)
{
	uint64_t deadline = cmn_clock_monotonic() + TIMEOUT_NS;
	struct cc_level *disk, *next;

	if (!disks)
		return true;
	/* In a forked child threads of the parent never left. */
	DL_FOREACH_SAFE(disks->all, disk, next)
		disks->hangs |= !cc_level_free(disk, time_left(deadline));
	if (disks->hangs)
		return false;
	cc_flights_free(disks->around.flights);
	(void)pthread_mutex_destroy(&disks->lock);	/* nobody is inside */
	free(disks->settings.dir);
	free(disks);
	return true;
}

struct cc_level *cc_level_switch_enter(struct cc_level_switch *disks)
{
	struct cc_level *disk;

	lock(disks);
	disk = disks->current;
	if (disk)
		disk->users++;
	unlock(disks);
	return disk;
}

static bool flush_until(struct cc_level *disk, uint64_t deadline)
{
	return cc_level_flush(disk, time_left(deadline));
}

static void leave_until(struct cc_level_switch *disks, struct cc_level *disk, uint64_t deadline)
{
	bool last;

	lock(disks);
	/* Before it is out of the list: a process that ends now waits for what is in it. */
	if (disk->users == 1) {
		unlock(disks);
		(void)flush_until(disk, deadline);	/* the rest is dropped: a later run stores it */
		lock(disks);
	}
	last = --disk->users == 0;
	if (last)
		DL_DELETE(disks->all, disk);
	unlock(disks);
	if (last && !cc_level_free(disk, 0)) {
		lock(disks);
		disks->hangs = true;
		unlock(disks);
	}
}

void cc_level_switch_leave(struct cc_level_switch *disks, struct cc_level *disk)
{
	if (disk)
		leave_until(disks, disk, cmn_clock_monotonic() + TIMEOUT_NS);
}

void cc_level_switch_note(struct cc_level_switch *disks, const struct cc_history_note *note)
{
	struct cc_level *disk = cc_level_switch_enter(disks);

	cc_level_note(disk, note);
	cc_level_switch_leave(disks, disk);
}

bool cc_level_switch_flush(struct cc_level_switch *disks, uint64_t timeout_ns)
{
	uint64_t deadline = cmn_clock_monotonic() + timeout_ns;
	struct cc_level *disk, *next;
	bool done = true;

	lock(disks);
	disk = disks->all;
	if (disk)
		disk->users++;
	unlock(disks);
	while (disk) {
		done &= flush_until(disk, deadline);
		lock(disks);
		next = disk->next;
		if (next)
			next->users++;
		unlock(disks);
		leave_until(disks, disk, deadline);
		disk = next;
	}
	return done;
}

static enum cmn_status copy_text(const char *text, char **ret)
{
	*ret = text ? strdup(text) : NULL;
	return text && !*ret ? CMN_ERR_NOMEM : CMN_OK;
}

/* What is there now, with the change; *ret_has_level: a level is in use. */
static enum cmn_status change_settings(struct cc_level_switch *disks, const struct change *change,
				       struct attempt *attempt, bool *ret_has_level)
{
	struct settings *settings = &attempt->settings;
	enum cmn_status status;

	lock(disks);
	attempt->serial = disks->serial;
	*settings = disks->settings;
	*ret_has_level = disks->current;
	status = copy_text(change->what == CHANGE_DIR ? change->to.dir : settings->dir,
			   &settings->dir);
	unlock(disks);
	if (change->what == CHANGE_ON)
		settings->on = change->to.on;
	if (change->what == CHANGE_CAPACITY)
		settings->max_size = change->to.max_size;
	return status;
}

/* Opens what is to be in use. On failure too the attempt is to be released. */
static enum cmn_status prepare(struct cc_level_switch *disks, const struct change *change,
			       struct attempt *attempt)
{
	const struct settings *settings = &attempt->settings;
	bool has_level, opens = false;
	enum cmn_status status;

	status = change_settings(disks, change, attempt, &has_level);
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
		status = cc_level_open(&disks->around,
				      settings->dir ? settings->dir : disks->around.config->dir,
				      settings->max_size, &attempt->level);
	if (opens && status == CMN_OK && !settings->on) {
		(void)cc_level_free(attempt->level, 0);	/* it was not used */
		attempt->level = NULL;
	}
	attempt->replaces = opens || !settings->on;
	return status;
}

/*
 * false: the settings are others by now. Else *ret_old is the level that was
 * replaced (NULL: none), whose user the caller is now.
 */
static bool commit(struct cc_level_switch *disks, struct attempt *attempt, struct cc_level **ret_old)
{
	struct settings former;
	bool done;

	*ret_old = NULL;
	lock(disks);
	done = disks->serial == attempt->serial;
	if (done) {
		former = disks->settings;
		disks->settings = attempt->settings;
		attempt->settings = former;
		disks->serial++;
	}
	if (done && attempt->replaces) {
		*ret_old = install(disks, attempt->level);
		attempt->level = NULL;
	}
	unlock(disks);
	return done;
}

static enum cmn_status make_change(struct cc_level_switch *disks, const struct change *change)
{
	struct cc_level *old = NULL;
	enum cmn_status status;
	uint64_t deadline;
	bool done = false;

	do {
		struct attempt attempt = { 0 };

		status = prepare(disks, change, &attempt);
		if (status == CMN_OK)
			done = commit(disks, &attempt, &old);
		(void)cc_level_free(attempt.level, 0);	/* it was not used */
		free(attempt.settings.dir);
	} while (status == CMN_OK && !done);
	if (!old)
		return status;
	/* Others may be inside for long: what is queued by now does not wait for them. */
	deadline = cmn_clock_monotonic() + TIMEOUT_NS;
	if (!flush_until(old, deadline))
		cmn_log_write(disks->around.log, CMN_LOG_INFO,
			      "not everything was stored before the directory changed");
	leave_until(disks, old, deadline);
	return status;
}

enum cmn_status cc_level_switch_set_on(struct cc_level_switch *disks, bool on)
{
	const struct change change = { CHANGE_ON, { .on = on } };

	if (on && !disks->around.config->persistent)
		return CMN_ERR_ACCESS;
	return make_change(disks, &change);
}

enum cmn_status cc_level_switch_set_dir(struct cc_level_switch *disks, const char *dir)
{
	struct change change = { .what = CHANGE_DIR };
	enum cmn_status status = CMN_OK;

	if (!disks->around.config->persistent)
		return CMN_ERR_ACCESS;
	/* A privileged program's working directory is its caller's choice. */
	if (dir)
		status = cc_path_absolute(dir, strlen(dir), !getauxval(AT_SECURE), &change.to.dir);
	if (status == CMN_OK)
		status = make_change(disks, &change);
	free(change.to.dir);
	return status;
}

enum cmn_status cc_level_switch_set_capacity(struct cc_level_switch *disks, uint64_t bytes)
{
	const struct change change = { CHANGE_CAPACITY, { .max_size = bytes } };

	return make_change(disks, &change);
}

bool cc_level_switch_on(struct cc_level_switch *disks)
{
	bool on;

	lock(disks);
	on = disks->settings.on;
	unlock(disks);
	return on;
}

char *cc_level_switch_dir(struct cc_level_switch *disks)
{
	char *dir = NULL;

	lock(disks);
	if (disks->current && disks->current->config.dir)
		dir = strdup(disks->current->config.dir);
	unlock(disks);
	return dir;
}

uint64_t cc_level_switch_capacity(struct cc_level_switch *disks)
{
	uint64_t bytes;

	lock(disks);
	bytes = disks->settings.max_size;
	unlock(disks);
	return bytes;
}

void cc_level_switch_fork_prepare(struct cc_level_switch *disks)
{
	struct cc_level *disk;

	lock(disks);
	DL_FOREACH(disks->all, disk) {
		if (disk->writer)
			cc_writer_fork_prepare(disk->writer);
	}
	if (disks->around.flights)
		cc_flights_fork_prepare(disks->around.flights);
	cmn_descriptors_fork_prepare();
}

void cc_level_switch_fork_parent(struct cc_level_switch *disks)
{
	struct cc_level *disk;

	cmn_descriptors_fork_parent();
	if (disks->around.flights)
		cc_flights_fork_parent(disks->around.flights);
	DL_FOREACH(disks->all, disk) {
		if (disk->writer)
			cc_writer_fork_parent(disk->writer);
	}
	unlock(disks);
}

void cc_level_switch_fork_child(struct cc_level_switch *disks)
{
	struct cc_level *disk;

	disks->around.start_ns = cmn_clock_realtime();
	/* First: what the others drop may hold flights. */
	if (disks->around.flights)
		cc_flights_fork_child(disks->around.flights);
	cmn_descriptors_fork_child();
	DL_FOREACH(disks->all, disk) {
		if (disk->writer)
			cc_writer_fork_child(disk->writer);
	}
	unlock(disks);
}
