/* SPDX-License-Identifier: MIT */
/*
 * program_desc: descriptions of OpenCL programs (layers/shared/api/ckcache.h), their blobs,
 * and programs made from blobs. Calls the driver through OCL_NEXT: below the
 * layer in the layer's process, through the loader in a program that links the
 * library.
 */
#ifndef OPENCL_API_PROGRAM_DESC_H
#define OPENCL_API_PROGRAM_DESC_H

#include "layers/shared/api/desc.h"
#include "layers/shared/driver/drivers.h"
#include "layers/shared/driver/libraries.h"
#include "layers/opencl/program/program.h"
#include "layers/opencl/key/targets.h"

struct ocl_desc {
	struct ckcache_desc base;	/* first */
	cl_context context;		/* retained */
	cl_device_id device;		/* NULL unless it is a sub-device, retained */
	struct ocl_targets targets;	/* the device, among the context's */
	const struct drv_driver *driver;	/* NULL: nothing is cached */
	struct ocl_desc_program *programs;	/* base.count */
};

/* What is built: a source, IL or constants as a program has them, but no driver's handle; never in a map. */
struct ocl_desc_program {
	struct ocl_program *parts;
	char *options;			/* NULL: none */
	struct cmn_hash image;		/* that was made or loaded last; guarded by the description's lock */
};

/* Whether environment and compiler are what they were when it was made. */
bool ocl_desc_holds(struct ocl_desc *desc);
/* desc if it is of OpenCL programs, else NULL. */
struct ocl_desc *ocl_desc_of(struct ckcache_desc *desc);

/* Of a program of the description's own: by it others are known, too. */
void ocl_desc_note_image(struct ocl_desc *desc, size_t i, struct cmn_view image);
/*
 * The binary of a built program, as a field of a blob; *ret_image is borrowed from it, until the
 * next field. CMN_MISS: the driver has none; CMN_ERR_NOMEM.
 */
CMN_CHECKED enum cmn_status ocl_desc_add_image(const struct ocl_desc *desc, size_t i,
					       cl_program program, struct cmn_buffer *blob,
					       struct cmn_view *ret_image);
/* The same of a program that the application says is the i-th (desc_build.h). */
CMN_CHECKED enum cmn_status ocl_desc_add(struct ckcache_desc *desc, size_t i, void *program,
					 struct cmn_buffer *blob);

/* The functions of ckcache.h. */
ckcache_opencl_desc_new_fn ocl_ckcache_desc_new;
ckcache_opencl_get_blob_fn ocl_ckcache_get_blob;	/* this and the next two: program_desc_build.c */
ckcache_opencl_create_from_blob_fn ocl_ckcache_create_from_blob;
ckcache_opencl_build_fn ocl_ckcache_build;
ckcache_opencl_device_desc_new_fn ocl_ckcache_device_desc_new;

/* interface.c: the table of these and of those that are no API's own. */
const struct ckcache_functions *ocl_ckcache_functions(void);
/* One of them by the name that ckcache.h gives it, or NULL. */
void *ocl_ckcache_function(const char *name);

#endif
