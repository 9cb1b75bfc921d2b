/* SPDX-License-Identifier: MIT */
/*
 * exit_time: what a process may spend at its end for the cache. A process may have several layers,
 * each of which is told of the end more than once, by the loader, as its main thread ends, and as
 * it is unloaded: what all of them may take together is exit_wait of the configuration.
 */
#ifndef SHARED_DRIVER_EXIT_TIME_H
#define SHARED_DRIVER_EXIT_TIME_H

#include "cachecore/cache.h"

/* Writes what is pending within what is left of that time. Thread-safe; NULL is fine. */
void drv_exit_time_flush(struct cc_cache *cache);

#endif
