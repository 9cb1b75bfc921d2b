/* SPDX-License-Identifier: MIT */
/*
 * writer: a queue, a lock, and one thread that is started by a store and ends
 * when there is nothing to do. What it does is in writer_work.c.
 *
 * The lock guards the lists and the flags and is never held across the
 * store's or the statistics' work. Entries go first, then an eviction that is
 * due; access times and statistics when their time has come, or when a flush
 * asks for them.
 */
#include "cachecore/disk/writer/writer_internal.h"

#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "cachecore/disk/nonce.h"
#include "cachecore/disk/writer/hand_over.h"
#include "common/background.h"
#include "common/clock.h"
#include "common/condition.h"
#include "common/hash.h"
#include "common/mutex.h"

#define NS_PER_S UINT64_C(1000000000)
/* Of payloads and keys that wait. The memory level shares them; this bounds what outlives it there. */
#define MAX_QUEUED_BYTES ((uint64_t)64 << 20)
#define MAX_USES 1024
#define SOON_NS (NS_PER_S / 20)	/* hits of a start come together */
/*
 * Without work for so long the thread ends: a process whose main thread called
 * pthread_exit ends with its last thread, which must not be this one for ever.
 * Longer than a compiler takes for the next program of a burst; where it is
 * not, that program took so long that starting a thread is nothing.
 */
#define IDLE_NS (NS_PER_S / 2)
/*
 * How long an eviction goes on looking when a flush asks, as a process ends,
 * but for a third of the flush's time at most; then it still removes for a
 * while (evict.h). Some thousand entries, so that a store which only short
 * processes use is evicted from too.
 */
#define EVICT_GRACE_NS (NS_PER_S / 4)
/* For an entry that other processes wait for the application's thread waits too. */
#define LOCKED_NS NS_PER_S
/* What a thread that is told to stop gets for the file operation that it is in. */
#define STOP_GRACE_NS (NS_PER_S / 10)
struct cc_writer *cc_writer_new(struct cc_store *store, struct cc_stats *stats,
				const struct cmn_log *log)
{
	struct cc_writer *writer = calloc(1, sizeof(*writer));

	if (!writer)
		return NULL;
	writer->store = store;
	writer->stats = stats;
	writer->log = log;
	atomic_flag_clear(&writer->failure_logged);
	atomic_flag_clear(&writer->token_logged);
	writer->run = cc_nonce_run();
	writer->own_stats = cc_stats_new();
	if (!writer->own_stats || pthread_mutex_init(&writer->lock, NULL) != 0)
		goto failed;
	if (!cmn_conditions_init(&writer->work, &writer->idle)) {
		(void)pthread_mutex_destroy(&writer->lock);	/* nobody holds it */
		goto failed;
	}
	return writer;
failed:
	cc_stats_free(writer->own_stats);
	free(writer);
	return NULL;
}

void cc_writer_admit_all(struct cc_writer *writer)
{
	writer->admits_all = true;
}

void cc_writer_set_run(struct cc_writer *writer, uint64_t run)
{
	writer->run = run;
}

void cc_writer_set_remote(struct cc_writer *writer, struct cc_remote *remote)
{
	writer->remote = remote;
}

void cc_writer_set_hand_over(struct cc_writer *writer, struct cc_hand_over *hand_over)
{
	writer->hand_over = hand_over;
}

void cc_writer_set_program(struct cc_writer *writer, const char *program)
{
	writer->history.program = program;
	cc_stats_set_program(writer->own_stats, program);
}

void cc_writer_set_start(struct cc_writer *writer, uint64_t start_ns)
{
	writer->start_ns = start_ns;
}

void cc_writer_set_stats(struct cc_writer *writer, struct cc_stats *stats)
{
	cmn_mutex_lock(&writer->lock);
	if (writer->stats)
		cc_stats_move(writer->stats, writer->own_stats);
	writer->stats = stats;
	cmn_mutex_unlock(&writer->lock);
}

/*
 * One thing that is to do, or a wait for one; with the lock. false: there was
 * nothing for so long that the thread is to end. Whatever releases the lock
 * returns to the loop, so that no change goes unseen before a wait. A flush is
 * done when it was wanted before the lists were seen empty, and statistics
 * were written after that.
 */
static bool work_or_wait(struct cc_writer *writer)
{
	uint64_t wanted = writer->flush_wanted, now = cmn_clock_monotonic();
	uint64_t until = writer->idle_time;

	if (writer->stats_time && now >= writer->stats_time) {
		cc_writer_do_stats(writer);
	} else if (cc_writer_do_task(writer)) {
		writer->idle_time = cmn_clock_monotonic() + IDLE_NS;
	} else if (writer->evict_due) {
		cc_writer_do_evict(writer);
	} else if (wanted != writer->flush_done) {
		cc_writer_do_stats(writer);
		writer->flush_done = wanted;
		writer->evict_end = 0;
		(void)pthread_cond_broadcast(&writer->idle);
	} else if (now < until) {
		if (writer->stats_time && writer->stats_time < until)
			until = writer->stats_time;
		(void)cmn_condition_wait(&writer->work, &writer->lock, until);
	} else if (writer->stats_time) {
		writer->stats_time = now;	/* before it ends, they are due */
	} else {
		return false;
	}
	return true;
}

/*
 * What ends by itself leaves the writer as it was before the first store: it
 * may be the process's last thread, whose return makes the C library call
 * exit(), and with it a flush, on this very thread.
 */
static void run(void *arg)
{
	struct cc_writer *writer = arg;

	cmn_mutex_lock(&writer->lock);
	while (!writer->stop && work_or_wait(writer))
		continue;
	if (writer->stop) {
		writer->stopped = true;
		(void)pthread_cond_broadcast(&writer->idle);
	} else {
		writer->started = false;
		(void)pthread_detach(writer->thread);	/* it ends with this one, and nobody has joined it */
	}
	cmn_mutex_unlock(&writer->lock);
}

/* With the lock. Without a thread (none could be made) what is queued waits for the next put's attempt, or for a flush. */
static void start(struct cc_writer *writer)
{
	if (writer->started)
		return;
	writer->idle_time = cmn_clock_monotonic() + IDLE_NS;
	writer->started = cmn_background_start(run, writer, &writer->thread);
}

/* With the lock; true: the thread may be asleep without a time to wake. */
static bool note_event(struct cc_writer *writer)
{
	if (writer->stats_time)
		return false;
	writer->stats_time = cmn_clock_monotonic() + CC_WRITER_STATS_INTERVAL_NS;
	return true;
}

/* Takes the task; false: dropped. */
static bool enqueue(struct cc_writer *writer, struct cc_writer_task *task)
{
	bool taken;

	cmn_mutex_lock(&writer->lock);
	/* An entry larger than the bound goes alone. */
	taken = !writer->stop && (!writer->stores || (task->size <= MAX_QUEUED_BYTES &&
		 writer->stored_bytes <= MAX_QUEUED_BYTES - task->size));
	if (taken) {
		DL_APPEND(writer->stores, task);
		writer->stored_bytes += task->size;
		(void)note_event(writer);	/* it is woken in any case */
		start(writer);
		(void)pthread_cond_signal(&writer->work);
	}
	cmn_mutex_unlock(&writer->lock);
	if (!taken)
		cc_writer_task_free(task);
	return taken;
}

/* With the lock. What waits for an eviction is stored too late for who waits, as what has no thread. */
static bool is_at(const struct cc_writer *writer, const struct cc_writer_task *task)
{
	const struct cc_writer_task *other;

	DL_FOREACH(writer->stores, other) {
		if (other == task)
			return !task->waits;
	}
	return writer->current == task;
}

bool cc_writer_put(struct cc_writer *writer, const struct cc_key *key, struct cc_entry *entry,
		   struct cc_build_lock *lock)
{
	struct cc_writer_task *task = cc_writer_task_of_entry(key, entry);
	uint64_t deadline = cmn_clock_deadline(LOCKED_NS);
	bool taken = false;

	if (task) {
		task->locked = lock;
		taken = enqueue(writer, task);
	}
	if (taken && lock) {
		cmn_mutex_lock(&writer->lock);
		while (writer->started && !writer->held_up && is_at(writer, task) &&
		       cmn_condition_wait(&writer->idle, &writer->lock, deadline))
			continue;
		cmn_mutex_unlock(&writer->lock);
	}
	cc_build_lock_release(lock);
	return taken;
}

bool cc_writer_put_recipe(struct cc_writer *writer, struct cmn_buffer *encoded)
{
	struct cc_writer_task *task = cc_writer_task_of_recipe(encoded);

	return task && enqueue(writer, task);
}

static bool is_of_key(const struct cc_writer_task *task, const struct cc_key *key)
{
	return task && task->entry && cmn_view_equal(cc_key_view(&task->key), cc_key_view(key));
}

bool cc_writer_forget(struct cc_writer *writer, const struct cc_key *key, uint64_t timeout_ns)
{
	uint64_t deadline = cmn_clock_deadline(timeout_ns);
	struct cc_writer_task *task, *next, *all, *gone = NULL;
	bool is_stored;

	cmn_mutex_lock(&writer->lock);
	all = writer->stores;
	writer->stores = NULL;
	DL_FOREACH_SAFE(all, task, next) {
		if (is_of_key(task, key)) {
			writer->stored_bytes -= task->size;
			DL_APPEND(gone, task);
		} else {
			DL_APPEND(writer->stores, task);
		}
	}
	while (is_of_key(writer->current, key) && cmn_condition_wait(&writer->idle, &writer->lock, deadline))
		continue;
	is_stored = is_of_key(writer->current, key);
	if (is_stored)
		writer->current->unwanted = true;
	cmn_mutex_unlock(&writer->lock);
	cc_writer_tasks_free(&gone);
	return is_stored;
}

bool cc_writer_add_use(struct cc_writer *writer, const struct cc_store_place *place)
{
	struct cc_writer_uses *uses = &writer->uses;
	struct cc_store_place *places;

	for (size_t i = 0; i < uses->count; i++) {
		struct cc_store_place *there = &uses->places[i];

		if (there->n != place->n || strcmp(there->leaf, place->leaf) != 0)
			continue;
		if (there->used_ns < place->used_ns)
			there->used_ns = place->used_ns;
		return false;
	}
	if (uses->count >= MAX_USES)
		return false;
	places = cmn_array_grow(uses->places, uses->count, sizeof(*places));
	if (!places)
		return false;
	uses->places = places;
	places[uses->count++] = *place;
	return note_event(writer);
}

void cc_writer_touch(struct cc_writer *writer, const struct cc_store_place *place, bool soon)
{
	const uint64_t due = soon ? cmn_clock_monotonic() + SOON_NS : UINT64_MAX;

	cmn_mutex_lock(&writer->lock);
	/* Else the thread wakes by itself within a second. */
	if (!writer->stop && (cc_writer_add_use(writer, place) || soon)) {
		if (writer->stats_time > due)
			writer->stats_time = due;
		if (soon)
			start(writer);
		(void)pthread_cond_signal(&writer->work);
	}
	cmn_mutex_unlock(&writer->lock);
}

void cc_writer_note(struct cc_writer *writer, const struct cc_history_note *note)
{
	struct cc_history_task *task = cc_history_task_new(note);

	cmn_mutex_lock(&writer->lock);
	cc_history_add(&writer->history, task);
	/* As a touch. */
	if (!writer->stop && note_event(writer))
		(void)pthread_cond_signal(&writer->work);
	cmn_mutex_unlock(&writer->lock);
}

/* With the lock. */
static bool has_statistics(const struct cc_writer *writer)
{
	return writer->history.tasks || cc_stats_pending(writer->own_stats) ||
	       (writer->stats && cc_stats_pending(writer->stats));
}

/* With the lock; as cc_writer_flush. */
static bool flush_until(struct cc_writer *writer, uint64_t deadline)
{
	uint64_t wanted, now, third;

	/* Nothing to wait for: a process may end now. */
	if (!writer->stores && !writer->uses.count && !writer->evict_due && !writer->working &&
	    !has_statistics(writer))
		return true;
	now = cmn_clock_monotonic();
	third = now < deadline ? (deadline - now) / 3 : 0;
	writer->evict_end = now + (third < EVICT_GRACE_NS ? third : EVICT_GRACE_NS);
	if (!writer->started) {
		/* What another thread has taken is lost if this one ends the process now. */
		while (writer->working && cmn_condition_wait(&writer->idle, &writer->lock, deadline))
			continue;
		/* Time is left for what needs no lock, or has it at once. */
		cc_store_hurry(writer->store, now + third);
		while (cmn_clock_monotonic() < deadline && cc_writer_do_task(writer))
			continue;
		if (writer->evict_due && cmn_clock_monotonic() < writer->evict_end)
			cc_writer_do_evict(writer);
		/* What did not fit before. */
		while (cmn_clock_monotonic() < deadline && cc_writer_do_task(writer))
			continue;
		cc_writer_do_stats(writer);
		cc_store_hurry(writer->store, 0);
		writer->evict_end = 0;
		return !writer->stores && !writer->uses.count && !writer->working;
	}
	wanted = ++writer->flush_wanted;
	(void)pthread_cond_signal(&writer->work);
	while (writer->flush_done < wanted && !writer->stopped) {
		if (!cmn_condition_wait(&writer->idle, &writer->lock, deadline))
			break;
	}
	return writer->flush_done >= wanted;
}

bool cc_writer_flush(struct cc_writer *writer, uint64_t timeout_ns)
{
	uint64_t deadline = cmn_clock_deadline(timeout_ns);
	bool done;

	cmn_mutex_lock(&writer->lock);
	done = flush_until(writer, deadline);
	cmn_mutex_unlock(&writer->lock);
	return done;
}

/* With the lock; false: the thread did not end in time. */
static bool stop_thread(struct cc_writer *writer)
{
	uint64_t deadline = cmn_clock_deadline(STOP_GRACE_NS);

	writer->stop = true;
	(void)pthread_cond_signal(&writer->work);
	while (writer->started && !writer->stopped) {
		if (!cmn_condition_wait(&writer->idle, &writer->lock, deadline))
			break;
	}
	return !writer->started || writer->stopped;
}

bool cc_writer_free(struct cc_writer *writer, uint64_t timeout_ns)
{
	bool stopped;

	if (!writer)
		return true;
	cmn_mutex_lock(&writer->lock);
	(void)flush_until(writer, cmn_clock_deadline(timeout_ns));	/* what is left is dropped */
	stopped = stop_thread(writer);
	cmn_mutex_unlock(&writer->lock);
	if (!stopped) {
		(void)pthread_detach(writer->thread);	/* it is joinable */
		return false;
	}
	if (writer->started)
		(void)pthread_join(writer->thread, NULL);	/* it is past its last wait */
	cc_writer_tasks_free(&writer->stores);
	free(writer->uses.places);
	cc_history_drop(&writer->history);
	(void)pthread_cond_destroy(&writer->work);	/* nobody is left to use them */
	(void)pthread_cond_destroy(&writer->idle);
	(void)pthread_mutex_destroy(&writer->lock);
	cc_stats_free(writer->own_stats);
	cc_hand_over_free(writer->hand_over);
	free(writer);
	return true;
}

void cc_writer_fork_prepare(struct cc_writer *writer)
{
	cmn_mutex_lock(&writer->lock);
}

void cc_writer_fork_parent(struct cc_writer *writer)
{
	cmn_mutex_unlock(&writer->lock);
}

void cc_writer_fork_child(struct cc_writer *writer)
{
	cc_writer_tasks_free(&writer->stores);
	writer->stored_bytes = 0;
	writer->uses.count = 0;
	cc_history_drop(&writer->history);
	writer->evict_due = false;
	writer->evict_end = 0;
	writer->working = 0;
	writer->current = NULL;
	writer->held_up = false;
	writer->started = false;
	writer->stopped = false;
	writer->flush_done = writer->flush_wanted;
	writer->stats_time = 0;
	cc_stats_forget(writer->own_stats);
	if (writer->stats)
		cc_stats_forget(writer->stats);
	/* The conditions may count waiters that do not exist here: made anew, not destroyed. */
	(void)cmn_conditions_init(&writer->work, &writer->idle);	/* cannot fail: the first time did not */
	cmn_mutex_unlock(&writer->lock);
}
