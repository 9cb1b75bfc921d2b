/* SPDX-License-Identifier: MIT */
/*
 * program_desc: descriptions of OpenCL programs (layers/shared/api/ckcache.h), their blobs,
 * and programs made from blobs. Calls the driver through OCL_NEXT: below the
 * layer in the layer's process, through the loader in a program that links the
 * library.
 */
#ifndef OPENCL_API_PROGRAM_DESC_H
#define OPENCL_API_PROGRAM_DESC_H

#include "layers/opencl/layer.h"
#include "layers/shared/api/ckcache_ext.h"

/* Those of ckcache.h, where there are functions to call. */
ckcache_opencl_desc_new_fn ocl_ckcache_desc_new;
ckcache_opencl_device_desc_new_fn ocl_ckcache_device_desc_new;

/* One of ckcache.h's, but for Level Zero's, by the name that ckcache.h gives it, or NULL. */
void *ocl_ckcache_function(const char *name);

#endif
