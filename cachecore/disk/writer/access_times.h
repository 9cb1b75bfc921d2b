/* SPDX-License-Identifier: MIT */
/*
 * access_times: places of entries that were used and whose access times the writer
 * has yet to write; each once, with its last use, and no more than a fixed number: what is
 * beyond is dropped. Not thread-safe: the writer's lock guards them.
 */
#ifndef CACHECORE_DISK_WRITER_ACCESS_TIMES_H
#define CACHECORE_DISK_WRITER_ACCESS_TIMES_H

#include <stdbool.h>
#include <stddef.h>

#include "cachecore/disk/store.h"

struct cc_access_times {
	struct cc_store_place *places;
	size_t count, cap;
};

/* Copies the place. false: it is there already, or dropped (too many, out of memory). */
bool cc_access_times_add(struct cc_access_times *times, const struct cc_store_place *place);
/* Takes all out, for the caller to release. */
struct cc_access_times cc_access_times_take(struct cc_access_times *times);
void cc_access_times_release(struct cc_access_times *times);	/* {0} is fine */

#endif
