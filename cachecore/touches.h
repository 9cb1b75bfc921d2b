/* SPDX-License-Identifier: MIT */
/*
 * touches: places of entries that were used and whose access times the writer
 * has yet to write; each once, and no more than a fixed number: what is
 * beyond is dropped. Not thread-safe: the writer's lock guards them.
 */
#ifndef CACHECORE_TOUCHES_H
#define CACHECORE_TOUCHES_H

#include <stdbool.h>
#include <stddef.h>

#include "cachecore/store.h"

struct cc_touches {
	struct cc_store_place *places;
	size_t count, cap;
};

/* Copies the place. false: it is there already, or dropped (too many, out of memory). */
bool cc_touches_add(struct cc_touches *touches, const struct cc_store_place *place);
/* Takes one out. false: there is none. */
bool cc_touches_take(struct cc_touches *touches, struct cc_store_place *ret);
void cc_touches_release(struct cc_touches *touches);	/* {0} is fine */

#endif
