/* SPDX-License-Identifier: MIT */
/*
 * module_desc: descriptions of modules (layers/shared/api/ckcache.h), their blobs, and
 * modules made from blobs. Calls go to the functions below the plugin in the
 * plugin's process, to the loader's own in a program that links the library.
 */
#ifndef LEVEL_ZERO_MODULE_DESC_H
#define LEVEL_ZERO_MODULE_DESC_H

#include "layers/shared/api/ckcache_ext.h"
#include "layers/level_zero/plugin/next.h"

/* Those of ckcache.h, where there are functions to call. */
ckcache_level_zero_desc_new_fn lz_ckcache_desc_new;
ckcache_level_zero_device_desc_new_fn lz_ckcache_device_desc_new;

/* The hook: as zeDriverGetExtensionFunctionAddress (Level Zero core, Driver), also for names of ckcache_ext.h, but OpenCL's. */
ze_result_t lz_ckcache_get_function(struct lz_next *next, ze_driver_handle_t driver,
				    const char *name, void **ret);

#endif
