/* SPDX-License-Identifier: MIT */
/* targets: from the application's list to the program's devices. */
#include "layers/opencl/key/targets.h"

#include <string.h>

bool ocl_targets_among(cl_device_id device, cl_uint count, const cl_device_id *list)
{
	for (cl_uint i = 0; i < count; i++) {
		if (list[i] == device)
			return true;
	}
	return false;
}

/* all: the program's devices. */
static enum cmn_status choose(cl_uint all_count, const cl_device_id *all, cl_uint list_count,
			      const cl_device_id *list, struct ocl_targets *ret)
{
	struct ocl_targets targets = { .program_count = all_count };

	if (all_count == 0)
		return CMN_MISS;
	for (cl_uint i = 0; list && i < list_count; i++) {
		/* Drivers differ in what they make of one that is listed twice. */
		if (!ocl_targets_among(list[i], all_count, all) || ocl_targets_among(list[i], i, list))
			return CMN_MISS;
	}
	targets.devices = calloc(all_count, 2 * sizeof(*targets.devices) + sizeof(*targets.indices));
	if (!targets.devices)
		return CMN_ERR_NOMEM;
	targets.all = targets.devices + all_count;
	targets.indices = (cl_uint *)(targets.all + all_count);
	for (cl_uint i = 0; i < all_count; i++) {
		targets.all[i] = all[i];
		if (list && !ocl_targets_among(all[i], list_count, list))
			continue;
		targets.devices[targets.count] = all[i];
		targets.indices[targets.count++] = i;
	}
	if (targets.count == 0) {
		ocl_targets_release(&targets);
		return CMN_MISS;
	}
	*ret = targets;
	return CMN_OK;
}

enum cmn_status ocl_targets_of_program(cl_program program, cl_uint list_count,
				       const cl_device_id *list, struct ocl_targets *ret)
{
	cl_device_id few[8], *all = few;
	size_t size = 0;
	enum cmn_status status = CMN_ERR_DRIVER;
	/* As a rule one question is enough. */
	cl_int error = OCL_NEXT.clGetProgramInfo(program, CL_PROGRAM_DEVICES, sizeof(few), few,
						 &size);

	if (error != CL_SUCCESS &&
	    OCL_NEXT.clGetProgramInfo(program, CL_PROGRAM_DEVICES, 0, NULL, &size) == CL_SUCCESS) {
		all = malloc(size ? size : 1);
		if (!all)
			return CMN_ERR_NOMEM;
		error = OCL_NEXT.clGetProgramInfo(program, CL_PROGRAM_DEVICES, size, all, NULL);
	}
	if (error == CL_SUCCESS)
		status = choose((cl_uint)(size / sizeof(*all)), all, list_count, list, ret);
	if (all != few)
		free(all);
	return status;
}

static enum cmn_status choose_in_context(cl_context context, cl_uint list_count,
					 const cl_device_id *list, struct ocl_targets *ret)
{
	enum cmn_status status = CMN_ERR_DRIVER;
	cl_device_id *all;
	size_t size = 0;

	if (OCL_NEXT.clGetContextInfo(context, CL_CONTEXT_DEVICES, 0, NULL, &size) != CL_SUCCESS ||
	    size == 0)
		return CMN_ERR_DRIVER;
	all = malloc(size);
	if (!all)
		return CMN_ERR_NOMEM;
	if (OCL_NEXT.clGetContextInfo(context, CL_CONTEXT_DEVICES, size, all, NULL) == CL_SUCCESS)
		status = choose((cl_uint)(size / sizeof(*all)), all, list_count, list, ret);
	free(all);
	return status;
}

enum cmn_status ocl_targets_of_context(cl_context context, cl_uint list_count,
				       const cl_device_id *list, struct ocl_targets *ret)
{
	/* A program that is linked for a list of devices has no others. */
	if (list)
		return choose(list_count, list, list_count, list, ret);
	return choose_in_context(context, 0, NULL, ret);
}

enum cmn_status ocl_targets_of_device(cl_context context, cl_device_id device,
				      struct ocl_targets *ret)
{
	return choose_in_context(context, 1, &device, ret);
}
