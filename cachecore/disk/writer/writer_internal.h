/* SPDX-License-Identifier: MIT */
/* writer_internal: what the writer's two files share: its state, and the work it does. */
#ifndef CACHECORE_DISK_WRITER_WRITER_INTERNAL_H
#define CACHECORE_DISK_WRITER_WRITER_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cachecore/disk/writer/writer.h"

/* From the first event that they do not have yet until statistics are written. */
#define CC_WRITER_STATS_INTERVAL_NS UINT64_C(1000000000)

/* Entries whose time of use still has to be written: each once, with its last use. */
struct cc_writer_uses {
	struct cc_store_place *places;
	size_t count;
};

/* What is to be stored: an entry under its key, or a recipe. It belongs to whoever has it in a list. */
struct cc_writer_task {
	struct cc_key key;
	struct cc_entry *entry;		/* NULL: a recipe, and no key */
	struct cmn_buffer recipe;
	bool locked;			/* other processes wait until it is stored */
	uint64_t size;			/* of what it holds */
	bool unwanted;			/* to be removed when it is stored */
	bool waits;			/* it did not fit: it is tried once more after an eviction */
	struct cc_writer_task *prev, *next;	/* of a utlist */
};

/* Copies the key, takes a reference to entry. NULL: out of memory. */
struct cc_writer_task *cc_writer_task_of_entry(const struct cc_key *key, struct cc_entry *entry);
/* Takes the encoded recipe in any case. NULL: out of memory. */
struct cc_writer_task *cc_writer_task_of_recipe(struct cmn_buffer *encoded);
void cc_writer_task_free(struct cc_writer_task *task);
void cc_writer_tasks_free(struct cc_writer_task **list);	/* leaves an empty one */

struct cc_writer {
	struct cc_store *store;
	struct cc_stats *own_stats;	/* to be written: taken from stats, or counted here without these */
	const struct cmn_log *log;
	atomic_flag failure_logged, token_logged;
	struct cc_remote *remote;	/* NULL: none */
	struct cc_hand_over *hand_over;	/* NULL: none; the thread's */
	uint64_t run;
	uint64_t start_ns;
	bool admits_all;
	pthread_mutex_t lock;
	pthread_cond_t work;		/* to the thread: something changed */
	pthread_cond_t idle;		/* from the thread: a flush is done, or it stopped */
	/* guarded by lock, all that follows */
	struct cc_stats *stats;		/* NULL: only its own are written */
	struct cc_writer_task *stores;
	uint64_t stored_bytes;		/* of what waits in stores */
	struct cc_writer_uses uses;
	struct cc_history history;
	bool evict_due;
	unsigned int evict_steps;	/* of the eviction that goes on */
	uint64_t evict_end;	/* monotonic, when an eviction is to end; 0: a flush has not asked */
	bool started;
	pthread_t thread;
	bool stop;			/* as soon as the work at hand is done */
	bool stopped;
	bool held_up;			/* it may wait long for a lock: nobody is to wait for it meanwhile */
	unsigned int working;		/* threads at something that they took from the lists */
	struct cc_writer_task *current;	/* what is being stored; NULL: nothing */
	uint64_t flush_wanted, flush_done;	/* serial numbers */
	uint64_t stats_time;	/* monotonic, when statistics are to be written; 0: nothing happened */
	uint64_t idle_time;	/* monotonic, when the thread ends unless it gets work */
};

/*
 * With the lock: records a use, or drops it (too many, out of memory). true: the
 * thread may be asleep without a time to wake.
 */
bool cc_writer_add_use(struct cc_writer *writer, const struct cc_store_place *place);

/*
 * All of these are called with the lock, which they release while they work.
 * cc_writer_do_task stores the next entry; false: there was none. Access times
 * are written before an eviction, and with the statistics.
 */
bool cc_writer_do_task(struct cc_writer *writer);
void cc_writer_do_evict(struct cc_writer *writer);
void cc_writer_do_stats(struct cc_writer *writer);

#endif
