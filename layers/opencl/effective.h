/* SPDX-License-Identifier: MIT */
/*
 * effective: the program E that stands for the application's P after a hit:
 * made from the entry's binaries, never shared by two P (their program-scope
 * variables would be), kept alive by P and by each kernel created from it.
 */
#ifndef OPENCL_EFFECTIVE_H
#define OPENCL_EFFECTIVE_H

#include <stdatomic.h>

#include "layers/opencl/layer.h"

/* Fields of an entry beside CC_TAG_IMAGE; index: the device's place, or a kernel's. */
enum {
	OCL_TAG_LOG = 2,		/* build log as the driver gave it, with its terminator */
	OCL_TAG_OPTIONS = 3,		/* build options as the driver reports them */
	OCL_TAG_KERNEL_NAME = 4,	/* of the kernel whose attributes have the same index */
	OCL_TAG_KERNEL_ATTRIBUTES = 5,
	OCL_TAG_KERNEL_NAMES = 6,	/* CL_PROGRAM_KERNEL_NAMES, since rusticl's order changes with each load; index 0 */
};

struct ocl_effective {
	atomic_uint refs;
	cl_program handle;
	struct cc_entry *entry;		/* until the driver has the images; then what else it answers */
	cl_uint num_devices;
	cl_device_id devices[];
};

/*
 * Creates and builds E. CMN_OK: *ret has one reference. CMN_ERR_DRIVER: the
 * driver refused the binaries. CMN_ERR_NOMEM: it or we ran out of memory.
 */
CMN_CHECKED enum cmn_status ocl_effective_new(cl_context context, cl_uint num_devices,
					      const cl_device_id *devices, const char *options,
					      struct cc_entry *entry, struct ocl_effective **ret);
struct ocl_effective *ocl_effective_ref(struct ocl_effective *effective);	/* NULL is fine */
void ocl_effective_unref(struct ocl_effective *effective);	/* NULL is fine; may call the driver */

#endif
