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

/* The functions of ckcache.h. */
ckcache_opencl_desc_new_fn ocl_ckcache_desc_new;
ckcache_opencl_get_blob_fn ocl_ckcache_get_blob;
ckcache_opencl_create_from_blob_fn ocl_ckcache_create_from_blob;
ckcache_opencl_build_fn ocl_ckcache_build;
ckcache_opencl_device_desc_new_fn ocl_ckcache_device_desc_new;

/* The table of these and of those that are no API's own. */
const struct ckcache_functions *ocl_ckcache_functions(void);
/* One of them by the name that ckcache.h gives it, or NULL. */
void *ocl_ckcache_function(const char *name);

#endif
