/* SPDX-License-Identifier: MIT */
/*
 * level: one disk level: a root with its store, its writer and its flights. It
 * never changes; level_switch.h says which one is in use. A caller must have
 * entered it there. A NULL level behaves as an empty one that stores nothing.
 * Thread-safe.
 */
#ifndef CACHECORE_DISK_LEVEL_H
#define CACHECORE_DISK_LEVEL_H

#include <stdbool.h>
#include <stddef.h>

#include "cachecore/disk/flights/flights.h"
#include "cachecore/disk/writer/recipe.h"
#include "cachecore/entry.h"
#include "cachecore/key.h"
#include "cachecore/record/history.h"
#include "common/status.h"

struct cc_level;

/*
 * Like cc_store_get. Marks the entry as used; if a tier had it and promote is
 * set, queues it to be stored here.
 */
CMN_CHECKED enum cmn_status cc_level_get(struct cc_level *level, const struct cc_key *key,
					struct cc_file_memo *memo, size_t kept_len,
					struct cc_entry **ret);
/* Whether cc_level_put does anything; level may be NULL. */
bool cc_level_stores(const struct cc_level *level);
/* Queues the entry. Takes the flight (may be NULL), which ends when the entry can be found or was dropped. */
void cc_level_put(struct cc_level *level, const struct cc_key *key, struct cc_entry *entry,
		 struct cc_flight *flight);
/* As cc_writer_put_recipe, of a recipe that it borrows. */
bool cc_level_put_recipe(struct cc_level *level, const struct cc_recipe *recipe);
/*
 * Waits while another process builds the same. CMN_OK: the entry may be there
 * now; CMN_MISS: it is not. In both cases the caller ends *ret_flight (may be
 * NULL), at the latest by cc_level_put, before it leaves the level.
 */
CMN_CHECKED enum cmn_status cc_level_join_flight(struct cc_level *level, const struct cc_key *key,
						struct cc_flight **ret_flight);
/*
 * For the root's history, which is told when the process began; copied. Nothing
 * is noted of a level that is only read.
 */
void cc_level_note(struct cc_level *level, const struct cc_history_note *note);
/* As cc_store_remove, of what is queued too. */
CMN_CHECKED enum cmn_status cc_level_remove(struct cc_level *level, const struct cc_key *key);

#endif
