/* SPDX-License-Identifier: MIT */
/*
 * kernel: which program an application's kernel came from. The handle is the
 * driver's own, so that everything an application does with a kernel goes
 * straight to the driver.
 */
#ifndef OPENCL_HOOKS_KERNEL_H
#define OPENCL_HOOKS_KERNEL_H

#include "layers/opencl/program/program.h"

struct ocl_kernel {
	struct ocl_object object;	/* first; handle is the kernel */
	struct ocl_program *program;	/* immutable, one reference; counts among its live kernels */
	struct ocl_loaded_program *loaded;	/* immutable; NULL: created from the program itself */
};

/* A new reference, or NULL: not one of ours. */
struct ocl_kernel *ocl_kernel_find(cl_kernel handle);
void ocl_kernel_unref(struct ocl_kernel *kernel);	/* NULL is fine */

enum { OCL_FEW_NAME = 256 };
/* Its name: in few where it fits, else to be freed. NULL: out of memory, or the driver does not say. */
char *ocl_kernel_name(cl_kernel handle, char few[OCL_FEW_NAME]);

#endif
