/* SPDX-License-Identifier: MIT */
/*
 * opencl_loader: the OpenCL loader that programs get, for this command, which
 * is not linked with it. Once loaded it stays.
 */
#ifndef TOOLS_WORKER_OPENCL_LOADER_H
#define TOOLS_WORKER_OPENCL_LOADER_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#include <CL/cl.h>

enum { MAX_PLATFORMS = 64, MAX_DEVICES = 64 };

/* What this command calls; the optional ones came after OpenCL 1.1. */
#define OPENCL_LOADER_FUNCTIONS(NEEDED, OPTIONAL)                                          \
	NEEDED(get_platforms, clGetPlatformIDs)                                     \
	NEEDED(get_platform_info, clGetPlatformInfo)                                \
	NEEDED(get_devices, clGetDeviceIDs)                                         \
	NEEDED(get_device_info, clGetDeviceInfo)                                    \
	NEEDED(get_function, clGetExtensionFunctionAddress)                         \
	NEEDED(create_context, clCreateContext)                                     \
	NEEDED(release_context, clReleaseContext)                                   \
	NEEDED(create_with_source, clCreateProgramWithSource)                       \
	NEEDED(build, clBuildProgram)                                               \
	NEEDED(get_program_info, clGetProgramInfo)                                  \
	NEEDED(release_program, clReleaseProgram)                                   \
	NEEDED(create_kernel, clCreateKernel)                                       \
	OPTIONAL(get_platform_function, clGetExtensionFunctionAddressForPlatform)   \
	OPTIONAL(create_with_il, clCreateProgramWithIL)                             \
	OPTIONAL(set_constant, clSetProgramSpecializationConstant)                  \
	OPTIONAL(compile, clCompileProgram)                                         \
	OPTIONAL(link, clLinkProgram)

#define OPENCL_LOADER_MEMBER(member, function) __typeof__(&(function))(member);
struct opencl_loader {
	OPENCL_LOADER_FUNCTIONS(OPENCL_LOADER_MEMBER, OPENCL_LOADER_MEMBER)
};

/* NULL, or why not. *ret is zeroed by the caller. */
const char *opencl_loader_load(struct opencl_loader *ret);
/* How many there are; 0 also where the loader does not say. */
cl_uint opencl_loader_platforms(const struct opencl_loader *loader,
				cl_platform_id ret[MAX_PLATFORMS]);
cl_uint opencl_loader_devices(const struct opencl_loader *loader, cl_platform_id platform,
			      cl_device_id ret[MAX_DEVICES]);

#endif
