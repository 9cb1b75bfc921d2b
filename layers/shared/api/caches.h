/* SPDX-License-Identifier: MIT */
/*
 * caches: the process's cache for each API, whoever comes to it first: a loader, for a layer, or the
 * program, for ckcache.h. Made by layers/libckcache, which joins the APIs.
 */
#ifndef SHARED_API_CACHES_H
#define SHARED_API_CACHES_H

#include "cachecore/cache.h"
#include "layers/shared/api/ckcache.h"

/*
 * Opens it at the first call; it is never closed, since applications call their API from other threads
 * and from atexit handlers until the very end. NULL: it is switched off, there is no memory for it, or
 * the process had another file's copy of this library before. Thread-safe.
 */
struct cc_cache *api_cache(enum ckcache_api api);

#endif
