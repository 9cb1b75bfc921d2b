/* SPDX-License-Identifier: MIT */
/*
 * functions: what the tables of ckcache_ext.h have in common. A copy is the
 * OpenCL layer's, the plugin's, or the library's for one of both APIs.
 */
#ifndef SHARED_API_FUNCTIONS_H
#define SHARED_API_FUNCTIONS_H

#include "layers/shared/api/desc.h"
#include "layers/shared/api/device.h"
#include "layers/shared/api/settings.h"

/* The settings' functions of a copy: of its own API, and with its cache, an expression. */
#define API_DEFINE_SETTINGS(own, cache)                                                   \
	static enum ckcache_status set_persistent(enum ckcache_api api, int enable)       \
	{                                                                                 \
		return api == (own) ? api_set_persistent(cache, enable) :                 \
				      CKCACHE_ERROR_UNAVAILABLE;                          \
	}                                                                                 \
	static enum ckcache_status get_persistent(enum ckcache_api api, int *ret_enabled) \
	{                                                                                 \
		return api == (own) ? api_get_persistent(cache, ret_enabled) :            \
				      CKCACHE_ERROR_UNAVAILABLE;                          \
	}                                                                                 \
	static enum ckcache_status set_capacity(uint64_t bytes)                           \
	{                                                                                 \
		return api_set_capacity(cache, bytes);                                    \
	}                                                                                 \
	static enum ckcache_status get_capacity(uint64_t *ret_bytes)                      \
	{                                                                                 \
		return api_get_capacity(cache, ret_bytes);                                \
	}                                                                                 \
	static enum ckcache_status set_dir(const char *dir)                               \
	{                                                                                 \
		return api_set_dir(cache, dir);                                           \
	}                                                                                 \
	static enum ckcache_status get_dir(size_t *size, char *dir)                       \
	{                                                                                 \
		return api_get_dir(cache, size, dir);                                     \
	}                                                                                 \
	static enum ckcache_status flush(void)                                            \
	{                                                                                 \
		return api_flush(cache);                                                  \
	}

/* Of a table in a file with these settings: all but what is an API's own. */
#define API_COMMON_FUNCTIONS                                                              \
	.struct_size = sizeof(struct ckcache_functions),                                  \
	.status_string = ckcache_status_string, .version = ckcache_version,               \
	.set_persistent = set_persistent, .get_persistent = get_persistent,               \
	.set_capacity = set_capacity, .get_capacity = get_capacity,                       \
	.set_dir = set_dir, .get_dir = get_dir, .flush = flush,                           \
	.desc_free = api_desc_free, .desc_get_id = api_desc_get_id,                       \
	.desc_evict = api_desc_evict, .device_get_blob = api_device_get_blob,             \
	.device_get_data = api_device_get_data, .device_store = api_device_store,         \
	.device_load = api_device_load

/* One of the table's functions by the name that ckcache.h gives it; NULL: it has none. */
void *api_function_named(const struct ckcache_functions *functions, const char *name);

#endif
