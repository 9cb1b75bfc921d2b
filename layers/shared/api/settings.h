/* SPDX-License-Identifier: MIT */
/*
 * settings: the settings of ckcache.h, of one cache. cache may be NULL: the
 * user switched it off. Thread-safe.
 */
#ifndef SHARED_API_SETTINGS_H
#define SHARED_API_SETTINGS_H

#include "cachecore/cache.h"
#include "layers/shared/api/user_status.h"

enum ckcache_status api_set_persistent(struct cc_cache *cache, int enable);
enum ckcache_status api_get_persistent(struct cc_cache *cache, int *ret_enabled);
enum ckcache_status api_set_capacity(struct cc_cache *cache, uint64_t bytes);
enum ckcache_status api_get_capacity(struct cc_cache *cache, uint64_t *ret_bytes);
enum ckcache_status api_set_dir(struct cc_cache *cache, const char *dir);
enum ckcache_status api_get_dir(struct cc_cache *cache, size_t *size, char *dir);
enum ckcache_status api_flush(struct cc_cache *cache);

#endif
