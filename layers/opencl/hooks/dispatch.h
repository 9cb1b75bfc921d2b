/* SPDX-License-Identifier: MIT */
/*
 * dispatch: every call that the layer intercepts, in one table; the rest of
 * the layer's dispatch table stays NULL and goes straight to the driver.
 * Each hook behaves as the OpenCL 3.0 specification says of the call that it
 * is named after, and never fails where the driver alone would not.
 */
#ifndef OPENCL_HOOKS_DISPATCH_H
#define OPENCL_HOOKS_DISPATCH_H

#include "layers/opencl/layer.h"

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

/* build.c, compile.c, link.c */
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

#endif
