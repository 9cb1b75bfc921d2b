/* SPDX-License-Identifier: MIT */
/*
 * hooked_objects: which loaded objects' calls of libc go to the hooks (libc_hooks.c): the drivers
 * whose builds were observed, their compilers, what these are linked with, and what was loaded since
 * the first such build. Thread-safe.
 */
#ifndef SHARED_OBSERVER_HOOKED_OBJECTS_H
#define SHARED_OBSERVER_HOOKED_OBJECTS_H

#include <pthread.h>
#include <stdbool.h>

#include "common/status.h"
#include "layers/shared/driver/libraries.h"

/*
 * Hooks what is not hooked yet. query: the driver's libraries; NULL: what was just loaded. again: looks
 * once more, too, at what was hooked a moment ago, where a thread may be binding a call. CMN_MISS: some
 * calls cannot be hooked, now or ever, or went past the hooks before. CMN_STALE: some did until now. Some 1 ms
 * the first time, likewise soon after it, next to nothing later while no object comes or goes.
 */
CMN_CHECKED enum cmn_status drv_hooked_objects_update(const struct drv_libraries_query *query, bool again);
/* Whether the code at that address is of a library that the program itself is linked with. */
bool drv_hooked_objects_is_of_program(const void *caller);

/*
 * Whether the code at that address is of a driver's own library, and not of a compiler: false for a
 * library that has its compiler within itself (drivers.h, linked_compiler).
 */
bool drv_hooked_objects_is_of_driver(const void *caller);
/* The same, but true for such a library: what it writes is no application's file, whichever part of it writes. */
bool drv_hooked_objects_is_of_driver_or_within(const void *caller);

/* To be called in the child of a fork. */
void drv_hooked_objects_after_fork(void);
/* Makes a lock free in the child, whoever had it at the fork. Whether nobody had it. */
bool drv_hooked_objects_free_lock(pthread_mutex_t *mutex);

#endif
