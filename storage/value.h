/* SPDX-License-Identifier: MIT */
/*
 * value: the bytes of one value on their way, and the room that all values of a
 * helper share. Small ones always have room: each client may have one of 64 KiB,
 * which is not counted. Whoever finds no room does without: nobody waits for it.
 * The room is for all threads; a value belongs to one of them.
 */
#ifndef STORAGE_VALUE_H
#define STORAGE_VALUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/bytes.h"

#define STORAGE_VALUE_KEPT ((size_t)64 * 1024)	/* bytes that are not counted, and kept for the next value */

struct storage_room {
	atomic_size_t used;	/* bytes */
	size_t max;
};

struct storage_value {
	struct cmn_buffer bytes;
	struct storage_room *room;
	size_t counted;		/* of the room's bytes */
};

/* The value takes so much memory now, or is about to. false: that is not left, and nothing has changed. */
bool storage_value_count(struct storage_value *value, size_t size);
/*
 * Memory for some bytes more, which grows by what has come: twice as much as before, but not beyond
 * most bytes in all unless they are needed. false: no room, or no memory.
 */
bool storage_value_reserve(struct storage_value *value, size_t extra, size_t most);
/* After a request: gives back what was large. */
void storage_value_end(struct storage_value *value);
void storage_value_release(struct storage_value *value);

#endif
