/* SPDX-License-Identifier: MIT */
/*
 * layer: the one static structure of the layer (hooks/loader.c) or of libckcache (its opencl.c),
 * whoever fills it: never torn down, since applications call OpenCL from other threads and from
 * atexit handlers until the very end.
 */
#ifndef OPENCL_LAYER_H
#define OPENCL_LAYER_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl_icd.h>

#include "cachecore/cache.h"

struct ocl_layer {
	cl_icd_dispatch next;	/* the loader's table, as far as it went; immutable after init */
	cl_icd_dispatch table;	/* ours; NULL where nothing is intercepted; immutable after init */
	struct cc_cache *cache;	/* NULL: switched off, every hook passes through */
};

extern struct ocl_layer ocl_layer;

/* Shorthand for what every hook does. */
#define OCL_NEXT (ocl_layer.next)

#endif
