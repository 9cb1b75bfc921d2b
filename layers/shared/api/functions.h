/* SPDX-License-Identifier: MIT */
/*
 * functions: what the tables of ckcache_ext.h have in common. There is one table,
 * a copy, in the OpenCL layer, one in the plugin, and one for each API in the
 * library.
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

/* One of the table's functions by the name that ckcache.h gives it; NULL: it has none. */
void *api_function_named(const struct ckcache_functions *functions, const char *name);

#endif
