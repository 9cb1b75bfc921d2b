/* SPDX-License-Identifier: MIT */
/*
 * prototype: kernels of an E that an application creates again and again, as
 * PyOpenCL and many C++ programs do for each launch. Where the driver clones a
 * kernel faster than it creates one (drivers.h), the third creation of a name
 * and all later ones are clones of one that nobody has set an argument of
 * (clCloneKernel, OpenCL 2.1), which is what a new one is. Thread-safe.
 */
#ifndef OPENCL_PROTOTYPE_H
#define OPENCL_PROTOTYPE_H

#include "layers/opencl/effective.h"

/* As clCreateKernel of E's program; the caller holds a reference to E. */
cl_kernel ocl_prototype_create_kernel(struct ocl_effective *effective, const char *name,
				      cl_int *errcode_ret);
/* How many kernels of E are the layer's own. */
cl_uint ocl_prototypes_count(const struct ocl_effective *effective);
/* Releases them; E goes. Calls the driver. */
void ocl_prototypes_release(struct ocl_effective *effective);

#endif
