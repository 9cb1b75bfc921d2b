/* SPDX-License-Identifier: MIT */
/*
 * level: the disk level: a root with its store and writer, and the flights that
 * lead there. One level (cc_level) never changes; another one takes its place
 * when a program sets a directory or a bound, or switches the level on or off.
 * cc_level_switch holds the one that is in use now. Whoever looks up or stores enters
 * that one and leaves it afterwards: what was begun in a level ends there, and
 * one that has been replaced goes when the last thread has left it.
 * What the user's configuration forbids no program can allow.
 * Thread-safe. The lock of cc_level_switch is held for a few instructions only.
 */
#ifndef CACHECORE_DISK_LEVEL_H
#define CACHECORE_DISK_LEVEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cachecore/config.h"
#include "cachecore/entry.h"
#include "cachecore/disk/flights.h"
#include "cachecore/record/history.h"
#include "cachecore/key.h"
#include "cachecore/disk/recipe.h"
#include "cachecore/record/stats.h"
#include "common/log.h"
#include "common/status.h"

struct cc_level;
struct cc_level_switch;

/*
 * Opens the level that config describes; one that cannot be used is left out
 * and logged once. All three are borrowed and outlive it. CMN_ERR_NOMEM.
 */
CMN_CHECKED enum cmn_status cc_level_switch_new(const struct cc_config *config, const struct cmn_log *log,
					 struct cc_stats *stats, struct cc_level_switch **ret);
/*
 * Writes what is pending within five seconds, then frees. No thread may be
 * inside. NULL is fine. false: a writer hangs in a file operation; nothing
 * that was borrowed may be freed.
 */
bool cc_level_switch_free(struct cc_level_switch *disks);
/* Writes what is pending, in levels that were replaced too, within that time; false: not all of it. */
bool cc_level_switch_flush(struct cc_level_switch *disks, uint64_t timeout_ns);

/*
 * As cc_cache_set_* and its getters (cache.h) have them. What was queued in a
 * level that is replaced is written before they return, within five seconds.
 */
CMN_CHECKED enum cmn_status cc_level_switch_set_on(struct cc_level_switch *disks, bool on);
CMN_CHECKED enum cmn_status cc_level_switch_set_dir(struct cc_level_switch *disks, const char *dir);
CMN_CHECKED enum cmn_status cc_level_switch_set_capacity(struct cc_level_switch *disks, uint64_t bytes);
bool cc_level_switch_on(struct cc_level_switch *disks);
char *cc_level_switch_dir(struct cc_level_switch *disks);	/* the caller's; NULL: none, or no memory for it */
uint64_t cc_level_switch_capacity(struct cc_level_switch *disks);

/* The level in use; NULL: none. It must be left by cc_level_switch_leave, which may write what it holds. */
struct cc_level *cc_level_switch_enter(struct cc_level_switch *disks);
void cc_level_switch_leave(struct cc_level_switch *disks, struct cc_level *disk);	/* NULL is fine */

/* For pthread_atfork: prepare takes all locks of the levels, the other two give them back. */
void cc_level_switch_fork_prepare(struct cc_level_switch *disks);
void cc_level_switch_fork_parent(struct cc_level_switch *disks);
void cc_level_switch_fork_child(struct cc_level_switch *disks);

/*
 * In a level that was entered; with NULL as if it were empty and took nothing.
 * cc_level_get: as cc_store_get; what it found is marked as used, or stored
 * here if a tier had it and the configuration asks for that.
 */
CMN_CHECKED enum cmn_status cc_level_get(struct cc_level *disk, const struct cc_key *key,
					struct cc_file_memo *memo, size_t kept_len,
					struct cc_entry **ret);
/* Queues the entry. Takes the flight (may be NULL), which ends when the entry can be found or was dropped. */
void cc_level_put(struct cc_level *disk, const struct cc_key *key, struct cc_entry *entry,
		 struct cc_flight *flight);
/* As cc_writer_put_recipe, of a recipe that it borrows. */
bool cc_level_put_recipe(struct cc_level *disk, const struct cc_recipe *recipe);
/*
 * Waits while another process builds the same. CMN_OK: the entry may be there
 * now; CMN_MISS: it is not. In both cases the caller ends *ret_flight (may be
 * NULL), at the latest by cc_level_put, before it leaves the level.
 */
CMN_CHECKED enum cmn_status cc_level_join_flight(struct cc_level *disk, const struct cc_key *key,
						struct cc_flight **ret_flight);
/*
 * For the root's history, which is told when the process began; copied.
 * Nothing is noted of a level that is only read. The second one is for who has
 * not entered a level: it goes to the one in use.
 */
void cc_level_note(struct cc_level *disk, const struct cc_history_note *note);
void cc_level_switch_note(struct cc_level_switch *disks, const struct cc_history_note *note);
/* As cc_store_remove, of what is queued too. */
CMN_CHECKED enum cmn_status cc_level_remove(struct cc_level *disk, const struct cc_key *key);

#endif
