/* SPDX-License-Identifier: MIT */
/*
 * extension: functions that take a program and are fetched by address, past
 * the dispatch table (cl_intel_global_variable_pointers and
 * cl_intel_function_pointers). What they ask of P, E answers.
 */
#include <string.h>

#include "layers/opencl/dispatch.h"
#include "layers/opencl/program.h"

typedef cl_int(CL_API_CALL *global_pointer_fn)(cl_device_id device, cl_program program,
					       const char *name, size_t *size_ret,
					       void **pointer_ret);
typedef cl_int(CL_API_CALL *function_pointer_fn)(cl_device_id device, cl_program program,
						 const char *name, cl_ulong *pointer_ret);

/* The driver's own function, found through the device that the call is for. */
static void *driver_function(cl_device_id device, const char *name)
{
	cl_platform_id platform;

	if (OCL_NEXT.clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform,
				     NULL) != CL_SUCCESS)
		return NULL;
	return OCL_NEXT.clGetExtensionFunctionAddressForPlatform(platform, name);
}

static struct ocl_effective *effective_of(cl_program handle)
{
	struct ocl_program *program = ocl_program_find(handle);
	struct ocl_effective *effective = program ? ocl_program_effective(program) : NULL;

	ocl_program_unref(program);
	return effective;
}

static cl_int CL_API_CALL get_global_pointer(cl_device_id device, cl_program program,
					     const char *name, size_t *size_ret,
					     void **pointer_ret)
{
	global_pointer_fn next = (global_pointer_fn)driver_function(
		device, "clGetDeviceGlobalVariablePointerINTEL");
	struct ocl_effective *effective;
	cl_int error;

	if (!next)
		return CL_INVALID_DEVICE;
	effective = effective_of(program);
	error = next(device, effective ? effective->handle : program, name, size_ret, pointer_ret);
	ocl_effective_unref(effective);
	return error;
}

static cl_int CL_API_CALL get_function_pointer(cl_device_id device, cl_program program,
					       const char *name, cl_ulong *pointer_ret)
{
	function_pointer_fn next =
		(function_pointer_fn)driver_function(device, "clGetDeviceFunctionPointerINTEL");
	struct ocl_effective *effective;
	cl_int error;

	if (!next)
		return CL_INVALID_DEVICE;
	effective = effective_of(program);
	error = next(device, effective ? effective->handle : program, name, pointer_ret);
	ocl_effective_unref(effective);
	return error;
}

/* The layer's function in place of the driver's, where the driver has one at all. */
static void *replace(const char *name, void *driver)
{
	if (!driver || !name || !ocl_layer.cache ||
	    !OCL_NEXT.clGetExtensionFunctionAddressForPlatform)
		return driver;
	if (strcmp(name, "clGetDeviceGlobalVariablePointerINTEL") == 0)
		return (void *)get_global_pointer;
	if (strcmp(name, "clGetDeviceFunctionPointerINTEL") == 0)
		return (void *)get_function_pointer;
	return driver;
}

void *CL_API_CALL ocl_clGetExtensionFunctionAddress(const char *func_name)
{
	return replace(func_name, OCL_NEXT.clGetExtensionFunctionAddress(func_name));
}

void *CL_API_CALL ocl_clGetExtensionFunctionAddressForPlatform(cl_platform_id platform,
							       const char *func_name)
{
	return replace(func_name,
		       OCL_NEXT.clGetExtensionFunctionAddressForPlatform(platform, func_name));
}
