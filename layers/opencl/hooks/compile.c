/* SPDX-License-Identifier: MIT */
/*
 * compile: clCompileProgram. It runs the sequence of a build; here is what it
 * has beyond: the application's own headers, which are in the key, and which
 * may include files.
 */
#include <stdlib.h>

#include "layers/shared/driver/environment.h"
#include "common/cancel.h"
#include "layers/shared/driver/libraries.h"
#include "layers/opencl/hooks/build.h"
#include "layers/opencl/hooks/dispatch.h"
#include "layers/opencl/key/build_key.h"

static void release_headers(struct ocl_compile *compile)
{
	for (cl_uint i = 0; compile->headers && i < compile->count; i++)
		ocl_program_text_unref(compile->headers[i].text);
	free(compile->headers);
	compile->headers = NULL;
}

/* Leaves headers NULL where one of them is not made from source, or bad. */
static void find_headers(struct ocl_compile *compile)
{
	if (!compile->count || !compile->programs || !compile->names)
		return;
	compile->headers = calloc(compile->count, sizeof(*compile->headers));
	for (cl_uint i = 0; compile->headers && i < compile->count; i++) {
		struct ocl_program *program = compile->names[i] ?
			ocl_program_find(compile->programs[i]) : NULL;

		compile->headers[i].name = compile->names[i];
		if (program && ocl_program_text_is_source(program->text))
			compile->headers[i].text = ocl_program_text_ref(program->text);
		ocl_program_unref(program);
		if (!compile->headers[i].text)
			release_headers(compile);
	}
}

bool ocl_compile_has_bad_headers(const struct ocl_compile *compile)
{
	return (compile->count == 0) != (compile->programs == NULL) ||
	       (compile->count == 0) != (compile->names == NULL);
}

cl_int CL_API_CALL ocl_clCompileProgram(cl_program handle, cl_uint num_devices,
					const cl_device_id *device_list, const char *options,
					cl_uint num_input_headers, const cl_program *input_headers,
					const char **header_include_names,
					ocl_notify_fn pfn_notify, void *user_data)
{
	CMN_NOT_CANCELLED;
	struct ocl_compile compile = { num_input_headers, input_headers, header_include_names,
				       NULL };
	const struct ocl_build_request request = {
		.program = ocl_program_find(handle),
		.compile = &compile,
		.list_count = num_devices,
		.list = device_list,
		.options = options,
		.notify = pfn_notify,
		.user_data = user_data,
	};
	cl_int error;

	if (!request.program) {
		drv_environment_note_build();
		drv_libraries_note_unseen();
		return OCL_NEXT.clCompileProgram(handle, num_devices, device_list, options,
						 num_input_headers, input_headers,
						 header_include_names, pfn_notify, user_data);
	}
	find_headers(&compile);
	error = ocl_build(&request);
	release_headers(&compile);
	ocl_program_unref(request.program);
	return error;
}
