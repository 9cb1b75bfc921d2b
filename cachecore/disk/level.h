/* SPDX-License-Identifier: MIT */
/*
 * level: one disk level: a root with its store, what is written there and its build locks; and the
 * level switch, which knows the one in use. When a program sets a directory or
 * a bound, or switches the level on or off, another level replaces it. A thread
 * that looks up or stores enters the level in use and leaves it afterwards, so
 * it finishes in the level in which it began: a level itself never changes. One
 * that was replaced is freed when the last thread has left it.
 * A program cannot allow what the user's configuration forbids.
 *
 * After a build, the entry or recipe, the room that it takes of others, an upload that is due and
 * the event for the root's log are written in the thread that built, before its call returns.
 * Nothing is queued or left for later, so that a process may end, fork or be killed at any moment
 * after a call. How long it may take is a share of the compile that the caller has just waited for:
 * a 20th for an eviction, an 8th for locks that other processes hold, within bounds (level.c). What
 * is not written then is built again by a later run.
 * Thread-safe; while they write, threads do not wait for each other, and a fork waits for none. The
 * switch's lock is held for a few instructions only.
 */
#ifndef CACHECORE_DISK_LEVEL_H
#define CACHECORE_DISK_LEVEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cachecore/config.h"
#include "cachecore/disk/build_lock.h"
#include "cachecore/disk/writer/recipe.h"
#include "cachecore/entry.h"
#include "cachecore/key.h"
#include "cachecore/record/event.h"
#include "common/log.h"
#include "common/status.h"

struct cc_level;
struct cc_level_switch;
struct cc_remote;

/*
 * Opens the level that config describes; one that cannot be used is left out
 * and logged once. All three (remote may be NULL) are borrowed and outlive it. CMN_ERR_NOMEM.
 */
CMN_CHECKED enum cmn_status cc_level_switch_new(const struct cc_config *config,
						const struct cmn_log *log, struct cc_remote *remote,
						struct cc_level_switch **ret);
/* No thread may be inside. NULL is fine. */
void cc_level_switch_free(struct cc_level_switch *levels);

/* As cc_cache_set_* and its getters (cache.h) have them. */
CMN_CHECKED enum cmn_status cc_level_switch_set_on(struct cc_level_switch *levels, bool on);
CMN_CHECKED enum cmn_status cc_level_switch_set_dir(struct cc_level_switch *levels,
						    const char *dir);
CMN_CHECKED enum cmn_status cc_level_switch_set_capacity(struct cc_level_switch *levels,
							 uint64_t bytes);
bool cc_level_switch_on(struct cc_level_switch *levels);
/* The caller's; NULL: none, or no memory for it. */
char *cc_level_switch_dir(struct cc_level_switch *levels);
uint64_t cc_level_switch_capacity(struct cc_level_switch *levels);

/* The level in use; NULL: none. It must be left. */
struct cc_level *cc_level_switch_enter(struct cc_level_switch *levels);
void cc_level_switch_leave(struct cc_level_switch *levels, struct cc_level *level);	/* NULL is fine */

/* For pthread_atfork: prepare takes the switch's lock, the other two give it back. */
void cc_level_switch_fork_prepare(struct cc_level_switch *levels);
void cc_level_switch_fork_parent(struct cc_level_switch *levels);
void cc_level_switch_fork_child(struct cc_level_switch *levels);

/* The rest is for a caller that has entered the level. A NULL level is an empty one that stores nothing. */

/* As cc_store_get; damaged entries and changed files that it came across are noted (cc_level_note). */
CMN_CHECKED enum cmn_status cc_level_get(struct cc_level *level, const struct cc_key *key,
					struct cc_file_memo *memo, size_t kept_len,
					struct cc_entry **ret);
/* Whether cc_level_put does anything; level may be NULL. */
bool cc_level_stores(const struct cc_level *level);
/* Stores the entry. Takes the lock (may be NULL), which is released when the entry can be found or is not stored. */
void cc_level_put(struct cc_level *level, const struct cc_key *key, struct cc_entry *entry,
		 struct cc_build_lock *lock);
/*
 * Stores a failure of which nobody saw what it depends on, where another process saw that of the same one:
 * the entry, which has no other owner, takes it over. false: none did.
 */
bool cc_level_put_again(struct cc_level *level, const struct cc_key *key, struct cc_file_memo *memo,
			struct cc_entry *entry);
/* Stores the recipe. false: impossible (read-only, no memory). */
bool cc_level_put_recipe(struct cc_level *level, const struct cc_recipe *recipe);
/*
 * Waits while another process builds the same. CMN_OK: the entry may be there
 * now; CMN_MISS: it is not. In both cases the caller releases *ret_lock (may be
 * NULL), at the latest by cc_level_put, before it leaves the level.
 */
CMN_CHECKED enum cmn_status cc_level_lock_build(struct cc_level *level, const struct cc_key *key,
					       struct cc_build_lock **ret_lock);
/* For the root's log (record/events.h); not of a level that is only read, nor hits of a worker of ckcache replay. */
void cc_level_note(struct cc_level *level, const struct cc_event *event);
/* As cc_store_remove. */
CMN_CHECKED enum cmn_status cc_level_remove(struct cc_level *level, const struct cc_key *key);

#endif
