/* SPDX-License-Identifier: MIT */
/*
 * writer: what is written after a build, in the thread that built, before its call returns: the
 * entry or recipe, the room that it takes of others, an upload that is due, the event for the
 * history, the counts. Nothing is queued or left for later, so that a process may end, fork or be
 * killed at any moment after a call.
 *
 * How long it may take is a share of the compile that the caller has just waited for: a 20th for an
 * eviction, an 8th for locks that other processes hold, within bounds (writer.c). What is not
 * written then is built again by a later run. Thread-safe; threads do not wait for each other, and
 * a fork waits for none.
 */
#ifndef CACHECORE_DISK_WRITER_WRITER_H
#define CACHECORE_DISK_WRITER_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "cachecore/config.h"
#include "cachecore/disk/build_lock.h"
#include "cachecore/disk/store.h"
#include "cachecore/record/history.h"
#include "cachecore/record/stats.h"

struct cc_writer;
struct cc_remote;

/* All borrowed: they outlive the writer. */
struct cc_writer_setup {
	const struct cc_config *config;
	struct cc_store *store;
	struct cc_stats *stats;
	struct cc_remote *remote;	/* where what is stored is uploaded too; NULL: nowhere */
	const struct cmn_log *log;
	uint64_t run;			/* nonce.h: of this run of the program */
	uint64_t start_ns;		/* since the epoch, when the process began to use the cache */
};

/* Not for a read-only cache. NULL: out of memory. */
struct cc_writer *cc_writer_new(const struct cc_writer_setup *setup);
/* No thread may be inside. NULL is fine. */
void cc_writer_free(struct cc_writer *writer);

/*
 * Stores the entry. Takes the lock (may be NULL), and releases it as soon as the entry can be
 * found, or is not stored.
 */
void cc_writer_put(struct cc_writer *writer, const struct cc_key *key, struct cc_entry *entry,
		   struct cc_build_lock *lock);
/* The same for an encoded recipe of that key (recipe.h). */
void cc_writer_put_recipe(struct cc_writer *writer, struct cmn_view key, struct cmn_view encoded);
/* What happened, for the root's history; lost where it cannot be written within some ms. */
void cc_writer_note(struct cc_writer *writer, const struct cc_history_note *note);
/* Writes what was counted since the last time. What cannot be written within some ms stays counted. */
void cc_writer_count(struct cc_writer *writer);
/* The same, but on a network file system, whose locks take milliseconds, at most once a second. */
void cc_writer_count_soon(struct cc_writer *writer);

/* For the child's handler of pthread_atfork: what its parent began is the parent's. */
void cc_writer_fork_child(struct cc_writer *writer);

#endif
