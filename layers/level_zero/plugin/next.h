/* SPDX-License-Identifier: MIT */
/*
 * next: the functions below the plugin, as loaders pass them to it, or those of a loader
 * without the plugin, for ckcache.h (layers/libckcache/level_zero.c). A process may
 * have several loaders, and a loader with several drivers has handles of its
 * own. Functions in the same object belong together. They are set once, and
 * cleared when that object is gone: until then threads may be inside. And the
 * cache, from when a loader hands over its first table, or the program calls ckcache.h.
 */
#ifndef LEVEL_ZERO_NEXT_H
#define LEVEL_ZERO_NEXT_H

#include <level_zero/ze_api.h>
#include <level_zero/ze_ddi.h>
#include <pthread.h>
#include <stdatomic.h>

#include "cachecore/cache.h"
#include "common/mutex.h"

struct lz_next {
	_Atomic(const void *) owner;	/* base address of the object that its functions are in; NULL: free */
	atomic_uint closed;	/* so many loaders were that had it: what was known of their handles is void */
	/* Each function that the plugin calls. */
	_Atomic(ze_pfnModuleCreate_t) module_create;
	_Atomic(ze_pfnModuleDestroy_t) module_destroy;
	_Atomic(ze_pfnModuleGetNativeBinary_t) module_get_native;
	_Atomic(ze_pfnModuleBuildLogGetString_t) log_get_string;
	_Atomic(ze_pfnModuleBuildLogDestroy_t) log_destroy;
	_Atomic(ze_pfnContextCreate_t) context_create;
	_Atomic(ze_pfnContextCreateEx_t) context_create_ex;
	_Atomic(ze_pfnContextDestroy_t) context_destroy;
	_Atomic(ze_pfnDeviceGetSubDevices_t) device_get_sub_devices;
	_Atomic(ze_pfnDeviceGetProperties_t) device_get_properties;
	_Atomic(ze_pfnDeviceGetModuleProperties_t) device_get_module_properties;
	_Atomic(ze_pfnDevicePciGetPropertiesExt_t) device_get_pci;
	_Atomic(ze_pfnDriverGetProperties_t) driver_get_properties;
	_Atomic(ze_pfnDriverGetApiVersion_t) driver_get_api_version;
	_Atomic(ze_pfnDriverGetExtensionProperties_t) driver_get_extensions;
	_Atomic(ze_pfnDriverGetExtensionFunctionAddress_t) driver_get_function;
};

/* More loaders and plugins than a process has: beyond, calls are not intercepted. */
#define LZ_NEXTS 4

extern struct lz_next lz_nexts[LZ_NEXTS];

/*
 * Guards the maps of their handles, in driver_identity and handles. Never held across a
 * driver call; free in a forked child.
 */
extern pthread_mutex_t lz_maps;

static inline void lz_maps_lock(void)
{
	cmn_mutex_lock(&lz_maps);
}

static inline void lz_maps_unlock(void)
{
	cmn_mutex_unlock(&lz_maps);
}

/* The loader whose function this is, a new one if needed. NULL: the plugin's own, no room, or unknown. Thread-safe. */
struct lz_next *lz_next_of(const void *function);

/* The function of this loader or, if another plugin is in between, of any other; NULL: none has it. */
#define LZ_NEXT_FIND(next, member)                                              \
	((next)->member ? (next)->member :                                      \
	 lz_nexts[0].member ? lz_nexts[0].member :                              \
	 lz_nexts[1].member ? lz_nexts[1].member :                              \
	 lz_nexts[2].member ? lz_nexts[2].member : lz_nexts[3].member)

/* The cache; NULL: switched off, no table is touched. Opens it at the first call. */
struct cc_cache *lz_plugin_cache(void);
/* The same for a hook, which no table has before the cache is open: never NULL there. */
extern struct cc_cache *lz_plugin_opened;

#endif
