/* SPDX-License-Identifier: MIT */
/*
 * writer: does in a thread of its own (background.h) what need not delay the
 * application: stores entries and recipes, writes access times and statistics. A
 * store starts the thread. It ends half a second after its last work, so that it does not keep a process alive whose other threads have ended; the
 * next store starts another. The queue is bounded in bytes; what does not fit is
 * dropped, because a later run can build it again. Access times alone start no
 * thread: they wait for a store or a flush, and are dropped beyond a fixed number.
 * Thread-safe.
 */
#ifndef CACHECORE_DISK_WRITER_WRITER_H
#define CACHECORE_DISK_WRITER_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "cachecore/record/stats.h"
#include "cachecore/disk/build_lock.h"
#include "cachecore/record/history.h"
#include "cachecore/disk/store.h"

struct cc_writer;
struct cc_hand_over;
struct cc_remote;

/*
 * Borrows store and stats (may be NULL), which must outlive it. Not for a read-only cache:
 * the writer would write statistics. NULL: out of memory.
 */
struct cc_writer *cc_writer_new(struct cc_store *store, struct cc_stats *stats,
				const struct cmn_log *log);
/* Before the first store: nothing is refused for a random word (nonce.h). */
void cc_writer_admit_all(struct cc_writer *writer);
/* Likewise: what happens before and after in other writers belongs to the same run of the program. */
void cc_writer_set_run(struct cc_writer *writer, uint64_t run);
/* Likewise: where what it stores is uploaded too; borrowed, NULL: nowhere. */
void cc_writer_set_remote(struct cc_writer *writer, struct cc_remote *remote);
/* Likewise; takes it, NULL: nothing is handed over. */
void cc_writer_set_hand_over(struct cc_writer *writer, struct cc_hand_over *hand_over);
/* Likewise: the program whose counts and history it writes, instead of this process's; borrowed. */
void cc_writer_set_program(struct cc_writer *writer, const char *program);
/* Likewise, when the process began to use the cache: for what the writer itself notes. */
void cc_writer_set_start(struct cc_writer *writer, uint64_t start_ns);
/*
 * Whose counts it writes from now on. NULL: nobody's; what those of before have
 * counted so far is still written to its root, with what it does itself.
 */
void cc_writer_set_stats(struct cc_writer *writer, struct cc_stats *stats);
/*
 * Drains within timeout_ns, then stops; what is left is dropped. false: the
 * thread is still inside a file operation; nothing was freed, and the writer,
 * store and stats must be left alone for ever. NULL is fine (true).
 */
bool cc_writer_free(struct cc_writer *writer, uint64_t timeout_ns);
/*
 * Takes a reference to entry, copies the key. false: dropped (queue full, out of memory). lock (may
 * be NULL) is taken in any case: then waits until the entry is stored or others are not to wait for
 * that, a second at most, and releases the lock in the calling thread, since the writer's has other descriptors.
 */
bool cc_writer_put(struct cc_writer *writer, const struct cc_key *key, struct cc_entry *entry,
		   struct cc_build_lock *lock);
/* The same for an encoded recipe (recipe.h), which it takes in any case. */
bool cc_writer_put_recipe(struct cc_writer *writer, struct cmn_buffer *encoded);
/*
 * Drops everything under that key from the queue. If the thread is storing it
 * just now, waits for at most timeout_ns. true: it still is; what it stores
 * under the key will be removed right afterwards.
 */
bool cc_writer_forget(struct cc_writer *writer, const struct cc_key *key, uint64_t timeout_ns);
/* What happened, for the root's history: copied, written with the statistics, lost where that fails. */
void cc_writer_note(struct cc_writer *writer, const struct cc_history_note *note);
/*
 * The entry there was used. soon: a process that only finds entries has no thread, and writes this as it ends; but
 * then it may be killed. So the thread is started, and writes it in a moment.
 */
void cc_writer_touch(struct cc_writer *writer, const struct cc_store_place *place, bool soon);
/*
 * Waits until what was queued before the call is done and statistics are
 * written, as far as they can be; false: timeout. Without a thread the work
 * is done by the caller, who waits for locks for a third of the time.
 */
bool cc_writer_flush(struct cc_writer *writer, uint64_t timeout_ns);
/*
 * fork: prepare takes the queue's lock, parent gives it back, child also
 * forgets the thread and what was queued or counted (the parent writes it). A layer
 * registers them with pthread_atfork.
 */
void cc_writer_fork_prepare(struct cc_writer *writer);
void cc_writer_fork_parent(struct cc_writer *writer);
void cc_writer_fork_child(struct cc_writer *writer);

#endif
