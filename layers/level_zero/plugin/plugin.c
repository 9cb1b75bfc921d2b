/* SPDX-License-Identifier: MIT */
/* plugin: the cache's opening, what happens at fork and at exit. */
#include "layers/level_zero/plugin/plugin.h"

#include <pthread.h>

#include "layers/shared/driver/environment.h"
#include "layers/level_zero/plugin/next.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
struct cc_cache *lz_plugin_opened;	/* written by once */

/* fork: the child gets both locks free, and no half-changed map. */
static void before_fork(void)
{
	lz_maps_lock();
	cc_cache_fork_prepare(lz_plugin_opened);
}

static void after_fork_parent(void)
{
	cc_cache_fork_parent(lz_plugin_opened);
	lz_maps_unlock();
}

static void after_fork_child(void)
{
	cc_cache_fork_child(lz_plugin_opened);
	lz_maps_unlock();
}

static void open_cache(void)
{
	struct cc_cache *cache;

	drv_environment_begin();	/* the loader has just loaded the drivers */
	/* Switched off, or without memory for a cache, the plugin stays inert. */
	if (cc_cache_open(&cache) != CMN_OK)
		return;
	lz_plugin_opened = cache;
	cc_cache_announce(cache, "Level Zero");
	if (pthread_atfork(before_fork, after_fork_parent, after_fork_child) != 0)
		cmn_log_write(cc_cache_log(cache), CMN_LOG_WARNING,
			      "no memory for fork handlers: do not fork while modules are built");
}

struct cc_cache *lz_plugin_cache(void)
{
	(void)pthread_once(&once, open_cache);
	return lz_plugin_opened;
}

/* After the application's exit handlers: the log's last line. */
__attribute__((destructor)) static void conclude_at_exit(void)
{
	cc_cache_conclude(lz_plugin_opened);
}
