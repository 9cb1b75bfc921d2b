/* SPDX-License-Identifier: MIT */
/*
 * writer_task: what the writer has to store: an entry under its key, or a recipe.
 * A task belongs to whoever has it in a list.
 */
#ifndef CACHECORE_DISK_WRITER_TASK_H
#define CACHECORE_DISK_WRITER_TASK_H

#include <stdbool.h>
#include <stdint.h>

#include "cachecore/entry.h"
#include "cachecore/disk/flights.h"
#include "cachecore/key.h"

struct cc_writer_task {
	struct cc_key key;
	struct cc_entry *entry;		/* NULL: a recipe, and no key */
	struct cmn_buffer recipe;
	struct cc_flight *flight;	/* ended when the task is done or dropped; may be NULL */
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

#endif
