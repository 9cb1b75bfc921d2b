/* SPDX-License-Identifier: MIT */
/*
 * writer: what is written after a build, in the thread that built, before its call returns: the
 * entry or recipe, the room that it takes of others, an upload that is due, the event for the
 * root's log. Nothing is queued or left for later, so that a process may end, fork or be
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
#include "cachecore/record/event.h"

struct cc_writer;
struct cc_recorder;
struct cc_remote;

/* All borrowed: they outlive the writer. */
struct cc_writer_setup {
	const struct cc_config *config;
	struct cc_store *store;
	struct cc_recorder *recorder;
	struct cc_remote *remote;	/* where what is stored is uploaded too; NULL: nowhere */
	const struct cmn_log *log;
	uint64_t run;			/* nonce.h: of this run of the program */
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
/* What happened, for the root's log; lost where it cannot be written. */
void cc_writer_note(struct cc_writer *writer, const struct cc_event *event);

#endif
