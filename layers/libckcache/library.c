/* SPDX-License-Identifier: MIT */
/* library: the settings of ckcache.h, which are those of all the process's caches. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/cancel.h"
#include "layers/libckcache/library.h"
#include "layers/shared/api/desc.h"
#include "layers/shared/driver/environment.h"

/* When the program's drivers are loaded is not known; they are not before this library. */
__attribute__((constructor)) static void note_environment(void)
{
	drv_environment_begin();
}

/* CKCACHE_OK: there is one. */
static enum ckcache_status check_api(enum ckcache_api api)
{
	if (api != CKCACHE_API_OPENCL && api != CKCACHE_API_LEVEL_ZERO)
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	return api == CKCACHE_API_OPENCL || library_has_level_zero ? CKCACHE_OK :
								      CKCACHE_ERROR_UNAVAILABLE;
}

CKCACHE_EXPORT enum ckcache_status ckcache_set_persistent(enum ckcache_api api, int enable)
{
	CMN_NOT_CANCELLED;
	enum ckcache_status status = check_api(api);
	struct cc_cache *cache;

	if (status != CKCACHE_OK)
		return status;
	cache = api_cache(api);
	if (!cache)
		return enable ? CKCACHE_ERROR_DENIED : CKCACHE_OK;
	return api_status_of(cc_cache_set_persistent(cache, enable != 0));
}

CKCACHE_EXPORT enum ckcache_status ckcache_get_persistent(enum ckcache_api api, int *ret_enabled)
{
	enum ckcache_status status = check_api(api);
	struct cc_cache *cache;

	if (status != CKCACHE_OK)
		return status;
	if (!ret_enabled)
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	cache = api_cache(api);
	*ret_enabled = cache && cc_cache_persistent(cache);
	return CKCACHE_OK;
}

/* Sets in the cache of each API that is built in; the first failure is the result. */
static enum ckcache_status set_in_all(enum cmn_status (*set)(struct cc_cache *cache, const void *value),
				      const void *value)
{
	static const enum ckcache_api apis[] = { CKCACHE_API_OPENCL, CKCACHE_API_LEVEL_ZERO };
	enum ckcache_status status = CKCACHE_OK;

	for (size_t i = 0; i < 2 && status == CKCACHE_OK; i++) {
		struct cc_cache *cache;

		if (check_api(apis[i]) != CKCACHE_OK)
			continue;
		cache = api_cache(apis[i]);
		status = cache ? api_status_of(set(cache, value)) : CKCACHE_ERROR_DENIED;
	}
	return status;
}

static enum cmn_status set_capacity(struct cc_cache *cache, const void *bytes)
{
	return cc_cache_set_capacity(cache, *(const uint64_t *)bytes);
}

static enum cmn_status set_dir(struct cc_cache *cache, const void *dir)
{
	return cc_cache_set_dir(cache, dir);
}

CKCACHE_EXPORT enum ckcache_status ckcache_set_capacity(uint64_t bytes)
{
	return set_in_all(set_capacity, &bytes);
}

CKCACHE_EXPORT enum ckcache_status ckcache_get_capacity(uint64_t *ret_bytes)
{
	struct cc_cache *cache = api_cache(CKCACHE_API_OPENCL);

	if (!ret_bytes)
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	if (!cache)
		return CKCACHE_ERROR_DENIED;
	*ret_bytes = cc_cache_capacity(cache);
	return CKCACHE_OK;
}

CKCACHE_EXPORT enum ckcache_status ckcache_set_dir(const char *dir)
{
	CMN_NOT_CANCELLED;
	return set_in_all(set_dir, dir);
}

CKCACHE_EXPORT enum ckcache_status ckcache_get_dir(size_t *size, char *dir)
{
	struct cc_cache *cache = api_cache(CKCACHE_API_OPENCL);
	enum ckcache_status status;
	char *copy;

	if (!size)
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	copy = cache ? cc_cache_dir(cache) : NULL;
	status = api_give((struct cmn_view){ copy, copy ? strlen(copy) + 1 : 0 }, size, dir);
	free(copy);
	return status;
}

CKCACHE_EXPORT enum ckcache_status ckcache_flush(void)
{
	return CKCACHE_OK;	/* whatever was done is written */
}
