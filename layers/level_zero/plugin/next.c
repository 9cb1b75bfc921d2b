/* SPDX-License-Identifier: MIT */
/* next: a few slots, claimed by address, and freed when what was there is gone. */
#include "layers/level_zero/plugin/next.h"

#include <dlfcn.h>
#include <stddef.h>

#include "layers/shared/api/desc.h"
#include "layers/shared/driver/environment.h"
#include "layers/shared/driver/libraries.h"

struct lz_next lz_nexts[LZ_NEXTS];
pthread_mutex_t lz_maps = PTHREAD_MUTEX_INITIALIZER;

/* A loader was closed: its handles may be others' from now on, and drivers are loaded again. */
static void begin_anew(struct lz_next *next)
{
	atomic_fetch_add(&next->closed, 1);
	drv_environment_begin();
}

/* Nobody is in functions that are gone. Until it is free it is this plugin's. */
static void free_slot(struct lz_next *next, const void *owner)
{
	if (!atomic_compare_exchange_strong(&next->owner, &owner, lz_nexts))
		return;		/* another thread is at it */
	for (size_t at = offsetof(struct lz_next, module_create); at < sizeof(*next); at += sizeof(void *))
		atomic_store((_Atomic(void *) *)((char *)next + at), NULL);
	begin_anew(next);
	atomic_store(&next->owner, NULL);
}

struct lz_next *lz_next_of(const void *function)
{
	static _Atomic(unsigned long long) unloaded[LZ_NEXTS];
	unsigned long long now = drv_libraries_epoch().unloaded;
	Dl_info info, own;

	if (!function || !dladdr(function, &info) || !info.dli_fbase ||
	    !dladdr((const void *)lz_next_of, &own) || own.dli_fbase == info.dli_fbase)
		return NULL;
	for (size_t i = 0; i < LZ_NEXTS; i++) {
		if (atomic_load(&lz_nexts[i].owner) != info.dli_fbase)
			continue;
		/* Perhaps another one at the same place. */
		if (atomic_exchange(&unloaded[i], now) != now)
			begin_anew(&lz_nexts[i]);
		return &lz_nexts[i];
	}
	for (size_t i = 0; i < LZ_NEXTS; i++) {
		const void *owner = atomic_load(&lz_nexts[i].owner);
		Dl_info gone;

		if (owner && atomic_load(&unloaded[i]) != now && !dladdr(owner, &gone))
			free_slot(&lz_nexts[i], owner);
	}
	for (size_t i = 0; i < LZ_NEXTS; i++) {
		const void *owner = NULL;

		if (atomic_compare_exchange_strong(&lz_nexts[i].owner, &owner, info.dli_fbase) ||
		    owner == info.dli_fbase) {
			atomic_store(&unloaded[i], now);
			return &lz_nexts[i];
		}
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
