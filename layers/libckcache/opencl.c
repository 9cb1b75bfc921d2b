/* SPDX-License-Identifier: MIT */
/*
 * opencl: OpenCL's functions as the process has them: those below the layer, if the loader has it; else
 * the loader's own.
 */
#include <dlfcn.h>
#include <pthread.h>

#include "layers/opencl/api/program_desc.h"

#define LOADER "libOpenCL.so.1"

/* A handle for dlsym: the loader's, or of whatever else gave the process these functions. NULL: not there. */
static void *find_loader(void)
{
	void *loader = dlopen(LOADER, RTLD_LAZY | RTLD_NOLOAD);

	if (!loader && dlsym(RTLD_DEFAULT, "clGetPlatformIDs"))
		loader = dlopen(NULL, RTLD_LAZY);
	if (!loader)
		loader = dlopen(LOADER, RTLD_LAZY | RTLD_LOCAL);
	return loader;	/* kept for the process's life, as the loader is */
}

#define FUNCTION(call) { #call, offsetof(cl_icd_dispatch, call), true }
#define OPTIONAL(call) { #call, offsetof(cl_icd_dispatch, call), false }

/* What the layer's parts call (OpenCL 1.2, and later versions' where they are there). */
static const struct {
	const char *name;
	size_t offset;
	bool needed;
} calls[] = {
	FUNCTION(clGetPlatformIDs), FUNCTION(clGetPlatformInfo), FUNCTION(clGetDeviceInfo),
	FUNCTION(clRetainContext), FUNCTION(clReleaseContext), FUNCTION(clGetContextInfo),
	FUNCTION(clRetainDevice), FUNCTION(clReleaseDevice),
	FUNCTION(clCreateProgramWithSource), FUNCTION(clCreateProgramWithBinary),
	OPTIONAL(clCreateProgramWithIL), OPTIONAL(clSetProgramSpecializationConstant),
	FUNCTION(clRetainProgram), FUNCTION(clReleaseProgram), FUNCTION(clBuildProgram),
	FUNCTION(clGetProgramInfo), FUNCTION(clGetProgramBuildInfo), FUNCTION(clCreateKernel),
	FUNCTION(clCreateKernelsInProgram), FUNCTION(clReleaseKernel), FUNCTION(clGetKernelInfo),
	FUNCTION(clGetKernelWorkGroupInfo),
	FUNCTION(clGetExtensionFunctionAddressForPlatform),
};

/* What the process has of them. false: not all that are needed. Without a lock: the dynamic linker has its own. */
static bool find_functions(cl_icd_dispatch *ret)
{
	void *loader = find_loader();

	for (size_t i = 0; loader && i < sizeof(calls) / sizeof(calls[0]); i++) {
		void *function = dlsym(loader, calls[i].name);

		if (!function && calls[i].needed)
			return false;
		memcpy((char *)ret + calls[i].offset, &function, sizeof(function));
	}
	return loader != NULL;
}

static _Thread_local const cl_icd_dispatch *found;	/* by the thread that begins */

static void begin(void)
{
	(void)ocl_layer_begin(found, sizeof(*found), NULL);
}

/* Whether there are functions to call. Who has a device has a loader, which has the layer by then if it is to have it. */
static bool is_there(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	cl_icd_dispatch functions = { 0 };

	if (!ocl_layer_has_begun() && find_functions(&functions)) {
		found = &functions;
		(void)pthread_once(&once, begin);
		found = NULL;
	}
	return ocl_layer_has_begun();
}

enum ckcache_status ckcache_opencl_desc_new(struct _cl_context *context, struct _cl_device_id *device,
					    size_t count, const struct ckcache_program *programs,
					    struct ckcache_desc **ret_desc)
{
	if (!device)
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	return is_there() ? ocl_ckcache_desc_new(context, device, count, programs, ret_desc) :
			    CKCACHE_ERROR_UNAVAILABLE;
}

enum ckcache_status ckcache_opencl_device_desc_new(struct _cl_device_id *device,
						   const struct ckcache_library *library,
						   struct ckcache_desc **ret_desc)
{
	if (!device)
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	return is_there() ? ocl_ckcache_device_desc_new(device, library, ret_desc) : CKCACHE_ERROR_UNAVAILABLE;
}
