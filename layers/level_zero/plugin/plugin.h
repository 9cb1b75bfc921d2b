/* SPDX-License-Identifier: MIT */
/*
 * plugin: Level Zero's cache, from when a loader hands over its first table, or the
 * program calls ckcache.h for it.
 */
#ifndef LEVEL_ZERO_PLUGIN_H
#define LEVEL_ZERO_PLUGIN_H

#include "cachecore/cache.h"

/* The cache; NULL: switched off, no table is touched. Opens it at the first call. */
struct cc_cache *lz_plugin_cache(void);
/* The same for a hook, which no table has before the cache is open: never NULL there. */
extern struct cc_cache *lz_plugin_opened;

#endif
