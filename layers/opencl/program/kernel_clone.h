/* SPDX-License-Identifier: MIT */
/*
 * kernel_clone: kernels of a loaded program that an application creates again and
 * again, as PyOpenCL and many C++ programs do for each launch. If the driver clones
 * a kernel faster than it creates one (drivers.h), the third and later creation of a
 * name is a clone (clCloneKernel, OpenCL 2.1) of a kernel whose arguments nobody
 * has set, which equals a new one. Thread-safe.
 */
#ifndef OPENCL_PROGRAM_KERNEL_CLONE_H
#define OPENCL_PROGRAM_KERNEL_CLONE_H

#include "layers/opencl/layer.h"

struct ocl_kernel_clone;

/* Of one loaded program, which holds them; {0}: none yet. Guarded by the layer's lock. */
struct ocl_kernel_clones {
	struct ocl_kernel_clone *by_name;
	cl_uint count;
};

/* As clCreateKernel of the program whose clones they are; the caller holds a reference. */
cl_kernel ocl_kernel_clone_create_kernel(struct ocl_kernel_clones *clones, cl_program program,
					 const char *name, cl_int *errcode_ret);
/* How many of the program's kernels are the layer's own. */
cl_uint ocl_kernel_clones_count(const struct ocl_kernel_clones *clones);
/* Releases them; the program goes. Calls the driver. */
void ocl_kernel_clones_release(struct ocl_kernel_clones *clones);

#endif
