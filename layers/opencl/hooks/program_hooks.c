/* SPDX-License-Identifier: MIT */
/* program_hooks: creation, specialization constants, retain and release. */
#include "layers/opencl/hooks/dispatch.h"

#include <string.h>

#include "common/cancel.h"

static size_t string_length(const char *string, const size_t *lengths, cl_uint i)
{
	return lengths && lengths[i] ? lengths[i] : strlen(string);
}

/* The strings as one text, as the driver sees them; NULL: out of memory. */
static struct ocl_program_text *join_strings(cl_uint count, const char **strings,
					     const size_t *lengths)
{
	size_t total = 0, at = 0;
	struct ocl_program_text *text;

	for (cl_uint i = 0; i < count; i++)
		total += string_length(strings[i], lengths, i);
	text = ocl_program_text_new(false, total);
	if (!text)
		return NULL;
	for (cl_uint i = 0; i < count; i++) {
		size_t len = string_length(strings[i], lengths, i);

		memcpy(text->data + at, strings[i], len);
		at += len;
	}
	return text;
}

cl_program CL_API_CALL ocl_clCreateProgramWithSource(cl_context context, cl_uint count,
						     const char **strings, const size_t *lengths,
						     cl_int *errcode_ret)
{
	cl_program handle = OCL_NEXT.clCreateProgramWithSource(context, count, strings, lengths,
							       errcode_ret);
	/* A program that the driver accepted has valid arguments. */
	struct ocl_program_text *text = handle ? join_strings(count, strings, lengths) : NULL;

	if (text)
		ocl_program_remember(handle, context, text);
	return handle;
}

cl_program CL_API_CALL ocl_clCreateProgramWithIL(cl_context context, const void *il, size_t length,
						 cl_int *errcode_ret)
{
	return ocl_program_create_with_il(OCL_NEXT.clCreateProgramWithIL, context, il, length,
					  errcode_ret);
}

cl_program ocl_program_create_with_il(ocl_create_with_il_fn next, cl_context context,
				      const void *il, size_t length, cl_int *errcode_ret)
{
	cl_program handle = next(context, il, length, errcode_ret);
	struct ocl_program_text *text = handle ? ocl_program_text_new(true, length) : NULL;

	if (text) {
		memcpy(text->data, il, length);
		ocl_program_remember(handle, context, text);
	}
	return handle;
}

cl_int ocl_program_set_constant(ocl_set_constant_fn next, cl_program handle, cl_uint spec_id,
				size_t spec_size, const void *spec_value)
{
	CMN_NOT_CANCELLED;
	struct ocl_program *program = ocl_program_find(handle);
	cl_int error;

	if (!program)
		return next(handle, spec_id, spec_size, spec_value);
	ocl_program_expect_constant(program);
	error = next(handle, spec_id, spec_size, spec_value);
	ocl_program_keep_constant(program, error == CL_SUCCESS, spec_id, spec_size, spec_value);
	ocl_program_unref(program);
	return error;
}

cl_int CL_API_CALL ocl_clSetProgramSpecializationConstant(cl_program handle, cl_uint spec_id,
							  size_t spec_size,
							  const void *spec_value)
{
	return ocl_program_set_constant(OCL_NEXT.clSetProgramSpecializationConstant, handle,
					spec_id, spec_size, spec_value);
}

cl_int CL_API_CALL ocl_clRetainProgram(cl_program handle)
{
	struct ocl_program *program = (struct ocl_program *)ocl_objects_find_and_lock(OCL_PROGRAMS, handle);
	bool kept_for_kernels = false, known = program;
	cl_int error;

	if (program) {
		/* The reference that the layer kept becomes the application's. */
		kept_for_kernels = program->held;
		program->held = false;
		program->object.app_refs++;
		ocl_object_unlock(&program->object);
	}
	error = kept_for_kernels ? CL_SUCCESS : OCL_NEXT.clRetainProgram(handle);
	if (error != CL_SUCCESS && known) {
		program = (struct ocl_program *)ocl_objects_find_and_lock(OCL_PROGRAMS, handle);
		if (program) {
			program->object.app_refs--;
			ocl_object_unlock(&program->object);
		}
	}
	return error;
}

cl_int CL_API_CALL ocl_clReleaseProgram(cl_program handle)
{
	CMN_NOT_CANCELLED;
	struct ocl_program *program = ocl_program_find(handle);
	cl_int error;

	if (!program)
		return OCL_NEXT.clReleaseProgram(handle);
	error = ocl_program_release(program);
	ocl_program_unref(program);
	return error;
}
