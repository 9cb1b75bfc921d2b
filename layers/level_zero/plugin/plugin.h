/* SPDX-License-Identifier: MIT */
/*
 * plugin: the plugin's one static structure, and its life: made when a loader
 * hands over its first table, never torn down, since applications call Level
 * Zero from other threads and from atexit handlers until the very end.
 */
#ifndef LEVEL_ZERO_PLUGIN_H
#define LEVEL_ZERO_PLUGIN_H

#include <level_zero/ze_api.h>
#include <level_zero/ze_ddi.h>

#include "cachecore/cache.h"

/* The cache; NULL: switched off, no table is touched. Opens it at the first call. */
struct cc_cache *lz_plugin_cache(void);

/* Guards the maps of contexts, devices and build logs. Never held across a driver call; free in a forked child. */
void lz_plugin_lock(void);
void lz_plugin_unlock(void);

#endif
