/* SPDX-License-Identifier: MIT */
/* next: a few slots, claimed by address. */
#include "layers/level_zero/plugin/next.h"

#include <dlfcn.h>

#include "layers/shared/api/desc.h"
#include "layers/shared/driver/environment.h"

struct lz_next lz_nexts[LZ_NEXTS];
pthread_mutex_t lz_maps = PTHREAD_MUTEX_INITIALIZER;

struct lz_next *lz_next_of(const void *function)
{
	Dl_info info, own;

	if (!function || !dladdr(function, &info) || !info.dli_fbase ||
	    !dladdr((const void *)lz_next_of, &own) || own.dli_fbase == info.dli_fbase)
		return NULL;
	for (size_t i = 0; i < LZ_NEXTS; i++) {
		const void *owner = NULL;

		if (atomic_compare_exchange_strong(&lz_nexts[i].owner, &owner, info.dli_fbase) ||
		    owner == info.dli_fbase)
			return &lz_nexts[i];
	}
	return NULL;
}

struct cc_cache *lz_plugin_opened;	/* written by once */

static void open_cache(void)
{
	drv_environment_begin();	/* the loader has just loaded the drivers */
	lz_plugin_opened = api_cache(CKCACHE_API_LEVEL_ZERO);
}

struct cc_cache *lz_plugin_cache(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void)pthread_once(&once, open_cache);
	return lz_plugin_opened;
}
