/* SPDX-License-Identifier: MIT */
/* program_text: its memory, and the driver's programs of it. */
#include "layers/opencl/program/program_text.h"

#include <stdlib.h>

struct ocl_program_text *ocl_program_text_new(bool is_il, size_t len)
{
	size_t whole = sizeof(struct ocl_program_text) + len + 1;
	struct ocl_program_text *text = whole > len ? malloc(whole) : NULL;

	if (!text)
		return NULL;
	atomic_init(&text->refs, 1);
	text->is_il = is_il;
	text->len = len;
	text->data[len] = '\0';
	return text;
}

void ocl_program_text_unref(struct ocl_program_text *text)
{
	if (text && atomic_fetch_sub_explicit(&text->refs, 1, memory_order_acq_rel) == 1)
		free(text);
}

cl_program ocl_program_text_make_program(const struct ocl_program_text *text, cl_context context,
					 const struct ocl_constant *constants,
					 size_t constant_count, cl_int *ret_error)
{
	const char *source = text->data;
	cl_program made;

	if (!text->is_il)
		return OCL_NEXT.clCreateProgramWithSource(context, 1, &source, &text->len,
							  ret_error);
	*ret_error = CL_INVALID_OPERATION;
	if (!OCL_NEXT.clCreateProgramWithIL ||
	    (constant_count && !OCL_NEXT.clSetProgramSpecializationConstant))
		return NULL;
	made = OCL_NEXT.clCreateProgramWithIL(context, text->data, text->len, ret_error);
	for (size_t i = 0; made && *ret_error == CL_SUCCESS && i < constant_count; i++)
		*ret_error = OCL_NEXT.clSetProgramSpecializationConstant(
			made, constants[i].id, constants[i].size, constants[i].value);
	if (made && *ret_error != CL_SUCCESS) {
		(void)OCL_NEXT.clReleaseProgram(made);	/* ours alone */
		made = NULL;
	}
	return made;
}
