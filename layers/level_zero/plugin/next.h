/* SPDX-License-Identifier: MIT */
/*
 * next: the functions below the plugin, as loaders pass them to it, or those of a loader
 * without the plugin, for ckcache.h (layers/libckcache/level_zero.c). A process may
 * have several loaders, and a loader with several drivers has handles of its
 * own. Functions in the same object belong together. They are set once and
 * never cleared, because threads may be inside.
 */
#ifndef LEVEL_ZERO_NEXT_H
#define LEVEL_ZERO_NEXT_H

#include <level_zero/ze_api.h>
#include <level_zero/ze_ddi.h>
#include <pthread.h>
#include <stdatomic.h>

#include "common/mutex.h"

/* zeDriverGetLastErrorDescription, of 1.6, and zerGetLastErrorDescription, of 1.14; older headers lack them. */
typedef ze_result_t(ZE_APICALL *lz_get_last_error_fn)(ze_driver_handle_t driver, const char **text);
typedef ze_result_t(ZE_APICALL *lz_get_default_error_fn)(const char **text);

/* Each function that the plugin calls: its member's name, and its type in ze_ddi.h. */
#define LZ_NEXT_FUNCTIONS(_)                                       \
	_(module_create, ze_pfnModuleCreate_t)                     \
	_(module_destroy, ze_pfnModuleDestroy_t)                   \
	_(module_get_native, ze_pfnModuleGetNativeBinary_t)        \
	_(module_get_function, ze_pfnModuleGetFunctionPointer_t)   \
	_(module_get_global, ze_pfnModuleGetGlobalPointer_t)       \
	_(log_get_string, ze_pfnModuleBuildLogGetString_t)         \
	_(log_destroy, ze_pfnModuleBuildLogDestroy_t)              \
	_(context_create, ze_pfnContextCreate_t)                   \
	_(context_create_ex, ze_pfnContextCreateEx_t)              \
	_(context_destroy, ze_pfnContextDestroy_t)                 \
	_(device_get_sub_devices, ze_pfnDeviceGetSubDevices_t)     \
	_(device_get_properties, ze_pfnDeviceGetProperties_t)      \
	_(device_get_module_properties, ze_pfnDeviceGetModuleProperties_t) \
	_(device_get_pci, ze_pfnDevicePciGetPropertiesExt_t)       \
	_(driver_get_properties, ze_pfnDriverGetProperties_t)      \
	_(driver_get_api_version, ze_pfnDriverGetApiVersion_t)                 \
	_(driver_get_extensions, ze_pfnDriverGetExtensionProperties_t)         \
	_(driver_get_function, ze_pfnDriverGetExtensionFunctionAddress_t)      \
	_(driver_get_last_error, lz_get_last_error_fn)                         \
	_(default_get_last_error, lz_get_default_error_fn)

struct lz_next {
	_Atomic(const void *) owner;	/* base address of the object that its functions are in; NULL: free */
#define LZ_NEXT_MEMBER(name, type) _Atomic(type) name;	/* NOLINT(bugprone-macro-parentheses) */
	LZ_NEXT_FUNCTIONS(LZ_NEXT_MEMBER)
#undef LZ_NEXT_MEMBER
};

/* More loaders and plugins than a process has: beyond, calls are not intercepted. */
#define LZ_NEXTS 4

extern struct lz_next lz_nexts[LZ_NEXTS];

/* Guards the maps of their handles, in identity and answers. Never held across a driver call; free in a forked child. */
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

#endif
