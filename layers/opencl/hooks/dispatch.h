/* SPDX-License-Identifier: MIT */
/*
 * dispatch: every call that the layer intercepts, in one table; the rest of
 * the layer's dispatch table stays NULL and goes straight to the driver.
 * Each hook behaves as the OpenCL 3.0 specification says of the call that it
 * is named after, and never fails where the driver alone would not.
 */
#ifndef OPENCL_HOOKS_DISPATCH_H
#define OPENCL_HOOKS_DISPATCH_H

#include "layers/opencl/program/program.h"

/* Fills the slots of *ret that the layer intercepts and that the target has. */
void ocl_dispatch_fill(const cl_icd_dispatch *next, cl_icd_dispatch *ret);

/* The hooks, by the file that holds them: each is of the type of the call. */
#define OCL_HOOK(call) __typeof__(call) ocl_##call

/* program_hooks.c */
OCL_HOOK(clCreateProgramWithSource);
OCL_HOOK(clCreateProgramWithIL);
OCL_HOOK(clSetProgramSpecializationConstant);
OCL_HOOK(clRetainProgram);
OCL_HOOK(clReleaseProgram);

/* build.c, link.c */
OCL_HOOK(clBuildProgram);
OCL_HOOK(clCompileProgram);
OCL_HOOK(clLinkProgram);

/* kernel.c */
OCL_HOOK(clCreateKernel);
OCL_HOOK(clCreateKernelsInProgram);
OCL_HOOK(clCloneKernel);
OCL_HOOK(clRetainKernel);
OCL_HOOK(clReleaseKernel);

/* query.c */
OCL_HOOK(clGetProgramInfo);
OCL_HOOK(clGetProgramBuildInfo);
OCL_HOOK(clGetKernelInfo);
OCL_HOOK(clGetKernelWorkGroupInfo);

/* extension.c */
void *CL_API_CALL ocl_clGetExtensionFunctionAddress(const char *func_name);
void *CL_API_CALL ocl_clGetExtensionFunctionAddressForPlatform(cl_platform_id platform,
							       const char *func_name);

/* What the hooks call of each other. */

/* Answers from stored bytes as every clGet…Info does. */
cl_int ocl_give(struct cmn_view value, size_t size, void *ret_value, size_t *ret_size);

typedef void(CL_CALLBACK *ocl_notify_fn)(cl_program program, void *user_data);

/* The functions that can also be fetched by address: next is the driver's own. */
typedef cl_program(CL_API_CALL *ocl_create_with_il_fn)(cl_context context, const void *il,
						       size_t length, cl_int *errcode_ret);
typedef cl_int(CL_API_CALL *ocl_set_constant_fn)(cl_program program, cl_uint spec_id,
						 size_t spec_size, const void *spec_value);
cl_program ocl_program_create_with_il(ocl_create_with_il_fn next, cl_context context,
				      const void *il, size_t length, cl_int *errcode_ret);
cl_int ocl_program_set_constant(ocl_set_constant_fn next, cl_program program, cl_uint spec_id,
				size_t spec_size, const void *spec_value);

/*
 * The application asks for what a remembered failure (loaded, the program's) does not say: the binaries
 * that a driver may have of a build that failed. The driver builds the program, which answers for itself then.
 */
void ocl_build_failure(struct ocl_program *program, const struct ocl_loaded_program *loaded);

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
