/* SPDX-License-Identifier: MIT */
/*
 * library: where libckcache's functions are done: by the layer of that API
 * where one is active in the process, so that there is one cache and nobody
 * waits for himself; else by this library's own copy, through the API's
 * loader. No API's types.
 */
#ifndef LIBCKCACHE_LIBRARY_H
#define LIBCKCACHE_LIBRARY_H

#include "cachecore/cache.h"
#include "layers/shared/api/ckcache_ext.h"

/*
 * The functions of an API. The handle is any of the process; NULL: none is
 * at hand, and its loader is not to be brought into the process. NULL: the API
 * is not there. Thread-safe; what it gives may change until a layer was found.
 */
const struct ckcache_functions *library_opencl(struct _cl_device_id *handle);
const struct ckcache_functions *library_level_zero(struct _ze_driver_handle_t *handle);

/* This library's own cache for an API; NULL: switched off. Opens it at the first call. */
struct cc_cache *library_cache(enum ckcache_api api);

/* Hands a layer that was just found what the program has set before; later calls do nothing. */
void library_found(enum ckcache_api api, const struct ckcache_functions *layer);

#endif
