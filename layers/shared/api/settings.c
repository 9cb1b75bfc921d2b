/* SPDX-License-Identifier: MIT */
/* settings: cachecore's, as ckcache.h has them. */
#include "layers/shared/api/settings.h"

#include <stdlib.h>
#include <string.h>

#include "common/cancel.h"
#include "layers/shared/api/desc.h"

enum ckcache_status api_set_persistent(struct cc_cache *cache, int enable)
{
	CMN_NOT_CANCELLED;
	if (!cache)
		return enable ? CKCACHE_ERROR_DENIED : CKCACHE_OK;
	return api_status_of(cc_cache_set_persistent(cache, enable != 0));
}

enum ckcache_status api_get_persistent(struct cc_cache *cache, int *ret_enabled)
{
	if (!ret_enabled)
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	*ret_enabled = cache && cc_cache_persistent(cache);
	return CKCACHE_OK;
}

enum ckcache_status api_set_capacity(struct cc_cache *cache, uint64_t bytes)
{
	return cache ? api_status_of(cc_cache_set_capacity(cache, bytes)) : CKCACHE_ERROR_DENIED;
}

enum ckcache_status api_get_capacity(struct cc_cache *cache, uint64_t *ret_bytes)
{
	if (!ret_bytes)
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	if (!cache)
		return CKCACHE_ERROR_DENIED;
	*ret_bytes = cc_cache_capacity(cache);
	return CKCACHE_OK;
}

enum ckcache_status api_set_dir(struct cc_cache *cache, const char *dir)
{
	CMN_NOT_CANCELLED;
	return cache ? api_status_of(cc_cache_set_dir(cache, dir)) : CKCACHE_ERROR_DENIED;
}

enum ckcache_status api_get_dir(struct cc_cache *cache, size_t *size, char *dir)
{
	enum ckcache_status status;
	char *copy;

	if (!size)
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	copy = cache ? cc_cache_dir(cache) : NULL;
	status = api_give((struct cmn_view){ copy, copy ? strlen(copy) + 1 : 0 }, size, dir);
	free(copy);
	return status;
}

enum ckcache_status api_flush(struct cc_cache *cache)
{
	(void)cache;	/* whatever it did is written */
	return CKCACHE_OK;
}
