/* SPDX-License-Identifier: MIT */
/*
 * extension: functions that take or make a program and are fetched by address,
 * past the dispatch table: cl_khr_il_program, specialization constants, and
 * cl_intel_global_variable_pointers and cl_intel_function_pointers, which the
 * loaded program answers. And the layer's own, of ckcache.h.
 */
#include <stdlib.h>
#include <string.h>

#include "layers/opencl/api/program_desc.h"
#include "layers/opencl/hooks/dispatch.h"

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

static struct ocl_loaded_program *loaded_of(cl_program handle)
{
	struct ocl_program *program = ocl_program_find(handle);
	struct ocl_loaded_program *loaded = program ? ocl_program_loaded(program) : NULL;

	ocl_program_unref(program);
	return loaded;
}

static cl_int CL_API_CALL get_global_pointer(cl_device_id device, cl_program program,
					     const char *name, size_t *size_ret,
					     void **pointer_ret)
{
	global_pointer_fn next = (global_pointer_fn)driver_function(
		device, "clGetDeviceGlobalVariablePointerINTEL");
	struct ocl_loaded_program *loaded;
	cl_int error;

	if (!next)
		return CL_INVALID_DEVICE;
	loaded = loaded_of(program);
	error = next(device, ocl_loaded_program_target(loaded, program), name, size_ret, pointer_ret);
	ocl_loaded_program_unref(loaded);
	return error;
}

static cl_int CL_API_CALL get_function_pointer(cl_device_id device, cl_program program,
					       const char *name, cl_ulong *pointer_ret)
{
	function_pointer_fn next =
		(function_pointer_fn)driver_function(device, "clGetDeviceFunctionPointerINTEL");
	struct ocl_loaded_program *loaded;
	cl_int error;

	if (!next)
		return CL_INVALID_DEVICE;
	loaded = loaded_of(program);
	error = next(device, ocl_loaded_program_target(loaded, program), name, pointer_ret);
	ocl_loaded_program_unref(loaded);
	return error;
}

static void *context_function(cl_context context, const char *name)
{
	cl_device_id device;
	size_t size;

	/* The context's devices are all of one platform; room for the first is found by asking for all. */
	if (OCL_NEXT.clGetContextInfo(context, CL_CONTEXT_DEVICES, 0, NULL, &size) != CL_SUCCESS ||
	    size < sizeof(device))
		return NULL;
	if (size > sizeof(device)) {
		cl_device_id *devices = malloc(size);

		if (!devices || OCL_NEXT.clGetContextInfo(context, CL_CONTEXT_DEVICES, size,
							  devices, NULL) != CL_SUCCESS) {
			free(devices);
			return NULL;
		}
		device = devices[0];
		free(devices);
	} else if (OCL_NEXT.clGetContextInfo(context, CL_CONTEXT_DEVICES, size, &device, NULL) !=
		   CL_SUCCESS) {
		return NULL;
	}
	return driver_function(device, name);
}

static cl_program CL_API_CALL create_with_il(cl_context context, const void *il, size_t length,
					     cl_int *errcode_ret)
{
	ocl_create_with_il_fn next =
		(ocl_create_with_il_fn)context_function(context, "clCreateProgramWithILKHR");

	if (!next) {
		if (errcode_ret)
			*errcode_ret = CL_INVALID_CONTEXT;
		return NULL;
	}
	return ocl_program_create_with_il(next, context, il, length, errcode_ret);
}

static cl_int CL_API_CALL set_constant(cl_program program, cl_uint spec_id, size_t spec_size,
				       const void *spec_value)
{
	ocl_set_constant_fn next = NULL;
	cl_context context;

	if (OCL_NEXT.clGetProgramInfo(program, CL_PROGRAM_CONTEXT, sizeof(context), &context,
				      NULL) == CL_SUCCESS)
		next = (ocl_set_constant_fn)context_function(
			context, "clSetProgramSpecializationConstant");
	if (!next)
		return CL_INVALID_PROGRAM;
	return ocl_program_set_constant(next, program, spec_id, spec_size, spec_value);
}

/* The layer's function: one of ckcache.h, or in place of the driver's, where the driver has one at all. */
static void *replace(const char *name, void *driver)
{
	void *own = name ? ocl_ckcache_function(name) : NULL;

	if (own)
		return own;
	if (!driver || !name || !ocl_layer.cache ||
	    !OCL_NEXT.clGetExtensionFunctionAddressForPlatform)
		return driver;
	if (strcmp(name, "clGetDeviceGlobalVariablePointerINTEL") == 0)
		return (void *)get_global_pointer;
	if (strcmp(name, "clGetDeviceFunctionPointerINTEL") == 0)
		return (void *)get_function_pointer;
	if (strcmp(name, "clCreateProgramWithILKHR") == 0)
		return (void *)create_with_il;
	if (strcmp(name, "clSetProgramSpecializationConstant") == 0)
		return (void *)set_constant;
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
