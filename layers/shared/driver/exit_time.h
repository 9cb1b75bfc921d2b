/* SPDX-License-Identifier: MIT */
/*
 * exit_time: how long a process may wait for the cache at its end. A process may have several
 * layers, and each is told of the end more than once: by the loader, when the main thread ends, and
 * when it is unloaded. All of them together may take exit_wait of the configuration.
 */
#ifndef SHARED_DRIVER_EXIT_TIME_H
#define SHARED_DRIVER_EXIT_TIME_H

#include "cachecore/cache.h"

/* Writes what is pending, within what is left of that time. Thread-safe; NULL is fine. */
void drv_exit_time_flush(struct cc_cache *cache);

#endif
