/* SPDX-License-Identifier: MIT */
/*
 * writer_work: what the writer's thread does, one thing at a time: storing,
 * access times, eviction, statistics. The lock fails only on misuse, and is
 * never held across the store's or the statistics' work.
 */
#include "cachecore/disk/writer/writer_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include <utlist.h>

#include "cachecore/disk/nonce.h"
#include "cachecore/disk/root.h"
#include "cachecore/disk/writer/hand_over.h"
#include "cachecore/disk/writer/recipes.h"
#include "cachecore/remote/remote.h"
#include "common/clock.h"
#include "common/descriptor.h"
#include "common/mutex.h"

/* Leaves that an eviction looks at even if its time is over: some ms of work, where a machine is busy. */
#define LEAST_STEPS 64
#define STATS_PATIENCE_NS UINT64_C(20000000)

struct cc_writer_task *cc_writer_task_of_entry(const struct cc_key *key, struct cc_entry *entry)
{
	struct cc_writer_task *task = calloc(1, sizeof(*task));

	if (!task)
		return NULL;
	cc_key_init_copy(&task->key, key);
	if (cc_key_status(&task->key) != CMN_OK) {
		cc_key_release(&task->key);
		free(task);
		return NULL;
	}
	task->entry = cc_entry_ref(entry);
	task->size = cc_key_view(&task->key).len + cc_entry_payload_size(entry);
	return task;
}

struct cc_writer_task *cc_writer_task_of_recipe(struct cmn_buffer *encoded)
{
	struct cc_writer_task *task = calloc(1, sizeof(*task));

	if (!task) {
		cmn_buffer_release(encoded);
		return NULL;
	}
	cc_key_init(&task->key);
	task->recipe = *encoded;
	task->size = encoded->len;
	*encoded = (struct cmn_buffer){ 0 };
	return task;
}

void cc_writer_task_free(struct cc_writer_task *task)
{
	cc_entry_unref(task->entry);
	cc_key_release(&task->key);
	cmn_buffer_release(&task->recipe);
	free(task);
}

void cc_writer_tasks_free(struct cc_writer_task **list)
{
	struct cc_writer_task *task, *next;

	DL_FOREACH_SAFE(*list, task, next)
		cc_writer_task_free(task);
	*list = NULL;
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
static void log_failure(struct cc_writer *writer, const char *what, enum cmn_status status, size_t size)
{
	bool limited = status == CMN_ERR_NOSPACE && is_file_limit(cc_store_root(writer->store), size);

	cmn_log_once(writer->log, &writer->failure_logged, CMN_LOG_ERROR, "cannot write %s: %s", what,
		     limited ? "a file may not grow so large (RLIMIT_FSIZE)" : cmn_status_string(status));
}

/* The lock: whose counts they are may change (cc_writer_set_stats). */
static void count(struct cc_writer *writer, enum cc_counter counter)
{
	cmn_mutex_lock(&writer->lock);
	cc_stats_add(writer->stats ? writer->stats : writer->own_stats, counter, 1);
	cmn_mutex_unlock(&writer->lock);
}

/* For the history: why an entry is not there. Nor will it be uploaded to those who wait. */
static void note_not_stored(struct cc_writer *writer, const struct cc_writer_task *task,
			    const char *reason)
{
	char size[24], leaf[CC_LEAF_PATH_SIZE];
	const struct cc_history_note note = {
		.kind = CC_HISTORY_NOT_STORED, .key = &task->key, .reason = reason, .detail = size,
		.start_ns = writer->start_ns,
	};

	if (!task->entry)
		return;
	(void)snprintf(size, sizeof(size), "%zu", cc_entry_image_size(task->entry));
	cc_writer_note(writer, &note);
	if (writer->log && writer->log->level >= CMN_LOG_DEBUG) {
		cc_leaf_path_of(&task->key, leaf);
		cmn_log_write(writer->log, CMN_LOG_DEBUG, "not stored: entry %s: %s", leaf, reason);
	}
	if (cc_entry_is_claimed(task->entry))
		cc_remote_release(writer->remote, &task->key);
}

/* By what cc_store_add answered. */
static const char *reason_of(struct cc_writer *writer, const struct cc_writer_task *task,
			     enum cmn_status status)
{
	const char *bound = cc_store_bound_of(writer->store, task->entry), *why;
	const char *root = cc_store_root(writer->store);
	struct statvfs disk;

	switch (status) {
	case CMN_ERR_TOO_LARGE:
		return bound ? bound : cc_store_makes_room(writer->store) ? "max_size" : "full";
	case CMN_ERR_ACCESS:
		if (cc_root_check(root, CC_ROOT_GROUP, &why) == CMN_ERR_ACCESS)
			return "foreign";
		return statvfs(root, &disk) == 0 && (disk.f_flag & ST_RDONLY) ? "read-only-disk" : "access";
	case CMN_BUSY:
		return "busy";
	case CMN_ERR_NOSPACE:
		return is_file_limit(root, task->size) ? "file-limit" : "no-space";
	default:
		return "failed";
	}
}

/* false: it would be one more of many that nobody ever asks for again. */
static bool is_welcome(struct cc_writer *writer, const struct cc_writer_task *task)
{
	struct cmn_view key = cc_key_view(&task->key);
	struct cc_recipe recipe;

	if (writer->admits_all)
		return true;
	if (!task->entry && cc_recipe_decode(cmn_buffer_view(&task->recipe), &recipe) == CMN_OK)
		key = recipe.key;
	if (cc_nonce_admits(cc_store_root(writer->store), key, writer->run,
				   cmn_clock_realtime()))
		return true;
	cmn_mutex_lock(&writer->lock);
	cc_stats_bypass(writer->stats ? writer->stats : writer->own_stats, "random-token");
	cmn_mutex_unlock(&writer->lock);
	cmn_log_once(writer->log, &writer->token_logged, CMN_LOG_WARNING,
		     "this program's kernels differ by a random word each time: they are not stored");
	return false;
}

/* Who has the lock that is wanted may be stopped: others wait for 10 ms of that, not for a second. */
static enum cmn_status add_entry(struct cc_writer *writer, struct cc_writer_task *task, bool *ret_evict)
{
	enum cmn_status status = CMN_BUSY;

	if (task->locked)
		status = cc_store_add_soon(writer->store, &task->key, task->entry, ret_evict);
	if (status != CMN_BUSY)
		return status;
	cmn_mutex_lock(&writer->lock);
	writer->held_up = true;
	(void)pthread_cond_broadcast(&writer->idle);
	cmn_mutex_unlock(&writer->lock);
	status = cc_store_add(writer->store, &task->key, task->entry, ret_evict);
	cmn_mutex_lock(&writer->lock);
	writer->held_up = false;
	cmn_mutex_unlock(&writer->lock);
	return status;
}

/* Without the lock. true: it did not fit, and may after an eviction. */
static bool do_store(struct cc_writer *writer, struct cc_writer_task *task, bool *ret_evict)
{
	enum cmn_status status;

	*ret_evict = false;
	if (!task->waits && !is_welcome(writer, task)) {
		note_not_stored(writer, task, "random-token");
		return false;
	}
	if (task->entry)
		status = add_entry(writer, task, ret_evict);
	else if (cc_store_is_full(writer->store, task->recipe.len))
		return false;	/* a recipe only saves time */
	else
		status = cc_recipes_put(cc_store_root(writer->store), cmn_buffer_view(&task->recipe));
	if (status == CMN_OK && !task->entry)
		return false;
	if (status == CMN_ERR_TOO_LARGE && *ret_evict && !task->waits)
		return true;
	*ret_evict &= status == CMN_OK;	/* else there was one, in vain */
	if (status != CMN_OK && task->entry)
		note_not_stored(writer, task, reason_of(writer, task, status));
	if (status == CMN_OK) {
		count(writer, CC_STORES);
		if (!cc_entry_is_remote(task->entry))
			cc_remote_stored(writer->remote, cc_store_root(writer->store), &task->key);
		if (!cc_entry_is_remote(task->entry))
			cc_hand_over_stored(writer->hand_over, &task->key);
	} else if (status < 0 && status != CMN_ERR_TOO_LARGE && status != CMN_ERR_ACCESS) {
		count(writer, CC_ERRORS);
		log_failure(writer, task->entry ? "an entry" : "a recipe", status, task->size);
	}
	return false;
}

bool cc_writer_do_task(struct cc_writer *writer)
{
	struct cc_writer_task *task = writer->stores;
	bool evict = false, again = false;

	if (!task || (task->waits && writer->evict_due))
		return false;
	DL_DELETE(writer->stores, task);
	writer->stored_bytes -= task->size;
	writer->working++;
	writer->current = task;
	cmn_mutex_unlock(&writer->lock);
	again = do_store(writer, task, &evict);
	cmn_mutex_lock(&writer->lock);
	writer->current = NULL;
	again = again && !task->unwanted;
	if (again) {
		task->waits = true;
		DL_PREPEND(writer->stores, task);
		writer->stored_bytes += task->size;
	}
	cmn_mutex_unlock(&writer->lock);
	if (!again) {
		/* Where even that fails it is as if it had been stored afterwards. */
		if (task->unwanted)
			(void)!cc_store_remove(writer->store, &task->key);
		cc_writer_task_free(task);
	}
	cmn_mutex_lock(&writer->lock);
	writer->evict_due |= evict;
	writer->working--;
	(void)pthread_cond_broadcast(&writer->idle);
	return true;
}

/*
 * Between an eviction's entries, on its thread: what was queued meanwhile is
 * stored, since others may wait for it.
 */
static bool pace_eviction(void *ctx)
{
	struct cc_writer *writer = ctx;
	bool more;

	cmn_mutex_lock(&writer->lock);
	while (cc_writer_do_task(writer))
		continue;
	more = !writer->stop && (!writer->evict_end || writer->evict_steps++ < LEAST_STEPS ||
				 cmn_clock_monotonic() < writer->evict_end);
	cmn_mutex_unlock(&writer->lock);
	return more;
}

static uint64_t evict_lock_until(void *ctx)
{
	const struct cc_writer *writer = ctx;

	return cc_store_lock_until(writer->store);
}

/* With the lock. */
static struct cc_writer_uses take_uses(struct cc_writer *writer)
{
	struct cc_writer_uses uses = writer->uses;

	writer->uses = (struct cc_writer_uses){ 0 };
	return uses;
}

/* With the lock. What a slow file system did not come to is tried again. */
static void end_uses(struct cc_writer *writer, struct cc_writer_uses *uses, size_t done)
{
	for (; done < uses->count; done++)
		(void)cc_writer_add_use(writer, &uses->places[done]);	/* best effort */
	free(uses->places);
}

void cc_writer_do_evict(struct cc_writer *writer)
{
	struct cc_writer_uses uses = take_uses(writer);
	const struct cc_evict_pace pace = {
		.go_on = pace_eviction, .lock_until = evict_lock_until, .ctx = writer,
	};
	enum cmn_status status;
	size_t touched = uses.count;
	int root_fd;

	writer->working++;
	writer->evict_steps = 0;
	cmn_mutex_unlock(&writer->lock);
	/* It goes by them. */
	if (uses.count && cc_store_open_root(writer->store, &root_fd) == CMN_OK) {
		touched = cc_store_touch(writer->store, root_fd, uses.places, uses.count);
		(void)cmn_descriptor_close(root_fd);	/* read only */
	}
	status = cc_store_evict_paced(writer->store, &pace);
	(void)status;	/* it was logged; a later put tries again */
	cmn_mutex_lock(&writer->lock);
	end_uses(writer, &uses, touched);
	writer->evict_due = false;	/* also what its own stores asked for */
	writer->working--;
	(void)pthread_cond_broadcast(&writer->idle);
}

void cc_writer_do_stats(struct cc_writer *writer)
{
	uint64_t until = cc_store_lock_until(writer->store);
	uint64_t near = cmn_clock_monotonic() + STATS_PATIENCE_NS;
	struct cc_writer_uses uses = take_uses(writer);
	struct cc_history history;
	enum cmn_status status;
	size_t touched = uses.count;
	int root_fd = -1;

	/* Others may wait for what is queued behind it, and it is tried again. */
	if (writer->flush_wanted == writer->flush_done && writer->started && near < until)
		until = near;
	writer->stats_time = 0;
	writer->working++;
	if (writer->stats)
		cc_stats_move(writer->stats, writer->own_stats);
	history = cc_history_take(&writer->history);
	cmn_mutex_unlock(&writer->lock);
	if (history.tasks)
		cc_store_trim(writer->store);
	cc_history_write(&history, cc_store_root(writer->store));
	/* As a process ends: once for both. */
	if (cc_store_open_root(writer->store, &root_fd) == CMN_OK)
		touched = cc_store_touch(writer->store, root_fd, uses.places, uses.count);
	status = cc_stats_flush(writer->own_stats, cc_store_root(writer->store), root_fd, until);
	if (root_fd >= 0)
		(void)cmn_descriptor_close(root_fd);	/* read only */
	/* A root that is not ours is the store's complaint; a busy one is tried again. */
	if (status < 0 && status != CMN_ERR_ACCESS)
		log_failure(writer, "statistics", status, 0);
	cmn_mutex_lock(&writer->lock);
	cc_history_learn(&writer->history, &history);
	end_uses(writer, &uses, touched);
	writer->working--;
	(void)pthread_cond_broadcast(&writer->idle);
}
