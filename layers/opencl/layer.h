/* SPDX-License-Identifier: MIT */
/*
 * layer: the one static structure of OpenCL's part (hooks/loader.c): never torn down, since
 * applications call OpenCL from other threads and from atexit handlers until the very end.
 */
#ifndef OPENCL_LAYER_H
#define OPENCL_LAYER_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl_icd.h>

#include "cachecore/cache.h"

struct ocl_layer {
	cl_icd_dispatch next;	/* what is below the layer, or a loader's functions; immutable while it is open */
	cl_icd_dispatch table;	/* ours; NULL where nothing is intercepted; immutable after init */
	struct cc_cache *cache;	/* NULL: switched off, every hook passes through */
};

extern struct ocl_layer ocl_layer;

/*
 * Takes the functions that all others call, and opens the cache. caller: an address in the loader that
 * passes a layer these functions; NULL: they are a loader's own, for ckcache.h in a process without the
 * layer. Whoever comes first has its way: true. What comes later, of another loader, is not intercepted, unless
 * the first one was closed since.
 */
bool ocl_layer_begin(const cl_icd_dispatch *next, size_t size, const void *caller);
/* Whether there are functions to call. */
bool ocl_layer_has_begun(void);

/* Shorthand for what every hook does. */
#define OCL_NEXT (ocl_layer.next)

#endif
