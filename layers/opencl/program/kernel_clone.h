/* SPDX-License-Identifier: MIT */
/*
 * kernel_clone: kernels of an E that an application creates again and again, as
 * PyOpenCL and many C++ programs do for each launch. Where the driver clones a
 * kernel faster than it creates one (drivers.h), the third creation of a name
 * and all later ones are clones of one that nobody has set an argument of
 * (clCloneKernel, OpenCL 2.1), which is what a new one is. Thread-safe.
 */
#ifndef OPENCL_PROGRAM_KERNEL_CLONE_H
#define OPENCL_PROGRAM_KERNEL_CLONE_H

#include "layers/opencl/program/loaded_program.h"

/* As clCreateKernel of E's program; the caller holds a reference to E. */
cl_kernel ocl_kernel_clone_create_kernel(struct ocl_loaded_program *effective, const char *name,
				      cl_int *errcode_ret);
/* How many kernels of E are the layer's own. */
cl_uint ocl_kernel_clones_count(const struct ocl_loaded_program *effective);
/* Releases them; E goes. Calls the driver. */
void ocl_kernel_clones_release(struct ocl_loaded_program *effective);

#endif
