/* SPDX-License-Identifier: MIT */
/* plugin: the cache, from the first loader or the first call of ckcache.h on. */
#include "layers/level_zero/plugin/plugin.h"

#include <pthread.h>

#include "layers/shared/api/caches.h"
#include "layers/shared/driver/environment.h"

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
