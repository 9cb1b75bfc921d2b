/* SPDX-License-Identifier: MIT */
/*
 * library: decides who carries out libckcache's functions. If a layer of the API
 * is active in the process, the layer does, so that the process has one cache
 * and never waits for itself. Otherwise this library's own copy does, through
 * the API's loader. Knows no API's types.
 */
#ifndef LIBCKCACHE_LIBRARY_H
#define LIBCKCACHE_LIBRARY_H

#include "cachecore/cache.h"
#include "layers/shared/api/ckcache_ext.h"

/*
 * The functions of an API. handle is any handle of the API in the process; NULL:
 * the caller has none, and the API's loader is not loaded for this. Returns NULL
 * if the API is absent. Thread-safe. The result may change until a layer is
 * found.
 */
const struct ckcache_functions *library_opencl(struct _cl_device_id *handle);
const struct ckcache_functions *library_level_zero(struct _ze_driver_handle_t *handle);

/* This library's own cache for an API; NULL: switched off. Opens it at the first call. */
struct cc_cache *library_cache(enum ckcache_api api);

/* Passes the settings that the program has made so far to a layer that was just found; later calls do nothing. */
void library_found(enum ckcache_api api, const struct ckcache_functions *layer);

#endif
