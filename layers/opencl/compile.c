/* SPDX-License-Identifier: MIT */
/*
 * compile: clCompileProgram and clLinkProgram, which are the driver's own;
 * the layer only keeps P and E consistent around them.
 */
#include <stdlib.h>

#include "layers/opencl/dispatch.h"
#include "layers/opencl/program.h"

cl_int CL_API_CALL ocl_clCompileProgram(cl_program handle, cl_uint num_devices,
					const cl_device_id *device_list, const char *options,
					cl_uint num_input_headers, const cl_program *input_headers,
					const char **header_include_names,
					void(CL_CALLBACK *pfn_notify)(cl_program, void *),
					void *user_data)
{
	struct ocl_program *program = ocl_program_find(handle);
	struct ocl_effective *effective;
	bool has_kernels;
	cl_int error;

	if (!program)
		return OCL_NEXT.clCompileProgram(handle, num_devices, device_list, options,
						 num_input_headers, input_headers,
						 header_include_names, pfn_notify, user_data);
	cc_cache_count_bypass(ocl_layer.cache, "compile", NULL);
	ocl_program_begin(program);
	ocl_objects_lock();
	has_kernels = program->effective_kernels != 0;
	ocl_objects_unlock();
	/* The kernels that P would have in the driver are E's. */
	if (has_kernels) {
		ocl_program_end(program);
		ocl_program_unref(program);
		return CL_INVALID_OPERATION;
	}
	effective = ocl_program_supersede(program);
	/* The application's callback may compile or build the program again, in this thread. */
	if (pfn_notify)
		ocl_program_end(program);
	error = OCL_NEXT.clCompileProgram(handle, num_devices, device_list, options,
					  num_input_headers, input_headers, header_include_names,
					  pfn_notify, user_data);
	ocl_program_superseded(program, effective, error);
	if (!pfn_notify)
		ocl_program_end(program);
	ocl_program_unref(program);
	return error;
}

cl_program CL_API_CALL ocl_clLinkProgram(cl_context context, cl_uint num_devices,
					 const cl_device_id *device_list, const char *options,
					 cl_uint num_input_programs,
					 const cl_program *input_programs,
					 void(CL_CALLBACK *pfn_notify)(cl_program, void *),
					 void *user_data, cl_int *errcode_ret)
{
	struct ocl_effective **effectives = NULL;
	cl_program *inputs = NULL;
	cl_program linked;

	if (ocl_layer.cache && input_programs && num_input_programs) {
		effectives = calloc(num_input_programs, sizeof(*effectives));
		inputs = calloc(num_input_programs, sizeof(*inputs));
		cc_cache_count_bypass(ocl_layer.cache, "link", NULL);
	}
	for (cl_uint i = 0; effectives && inputs && i < num_input_programs; i++) {
		struct ocl_program *program = ocl_program_find(input_programs[i]);

		if (program)
			effectives[i] = ocl_program_effective(program);
		inputs[i] = effectives[i] ? effectives[i]->handle : input_programs[i];
		ocl_program_unref(program);
	}
	linked = OCL_NEXT.clLinkProgram(context, num_devices, device_list, options,
					num_input_programs,
					effectives && inputs ? inputs : input_programs, pfn_notify,
					user_data, errcode_ret);
	for (cl_uint i = 0; effectives && i < num_input_programs; i++)
		ocl_effective_unref(effectives[i]);
	free(effectives);
	free(inputs);
	return linked;
}
