/* SPDX-License-Identifier: MIT */
/* diff_session: what the subjects share: sources, builds, counts, a kernel's value. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/opencl/differential.h"
#include "tests/opencl/references.h"

const char diff_source[] =
	"#ifdef FAIL\n"
	"#error not today\n"
	"#endif\n"
	"kernel void scale(global const int *in, global int *out, int factor)\n"
	"{\n"
	"	size_t i = get_global_id(0);\n"
	"	out[i] = in[i] * factor + K;\n"
	"}\n"
	"kernel void shift(global int *data)\n"
	"{\n"
	"	data[get_global_id(0)] = K;\n"
	"}\n"
	"__attribute__((reqd_work_group_size(8, 1, 1)))\n"
	"kernel void fixed(global int *data, local int *room)\n"
	"{\n"
	"	room[get_local_id(0)] = K;\n"
	"	data[get_global_id(0)] = room[get_local_id(0)] + 1;\n"
	"}\n";

bool diff_is_older(const struct diff *diff, const char *name, int version)
{
	if (diff->version >= version)
		return false;
	diff_say(diff, name, "not before OpenCL %d.%d", version / 10, version % 10);
	return true;
}

cl_program diff_program(struct diff *diff, const char *source)
{
	cl_int error = 1;
	cl_program program = clCreateProgramWithSource(diff->context, 1, &source, NULL, &error);

	if (!program || error)
		diff_give_up(diff, "program", error);
	return program;
}

cl_int diff_build(cl_program program, const char *options)
{
	return clBuildProgram(program, 0, NULL, options, NULL, NULL);
}

cl_program diff_built(struct diff *diff, const char *source, const char *options)
{
	cl_program program = diff_program(diff, source);
	cl_int error = diff_build(program, options);

	if (error)
		diff_give_up(diff, "build", error);
	return program;
}

cl_program diff_compiled(struct diff *diff, const char *source, const char *options)
{
	cl_program program = diff_program(diff, source);
	cl_int error = clCompileProgram(program, 0, NULL, options, 0, NULL, NULL, NULL, NULL);

	if (error)
		diff_give_up(diff, "compile", error);
	return program;
}

cl_kernel diff_kernel(struct diff *diff, cl_program program, const char *name)
{
	cl_int error = 1;
	cl_kernel kernel = clCreateKernel(program, name, &error);

	if (!kernel || error)
		diff_give_up(diff, name, error);
	return kernel;
}

enum { UNKNOWN = 99 };	/* no count in this program is so high */

cl_uint diff_program_refs(cl_program program)
{
	cl_uint refs = UNKNOWN;

	return references_of(program, &refs) ? UNKNOWN : refs;
}

void diff_say_release(const struct diff *diff, const char *name, cl_program program)
{
	cl_uint refs = diff_program_refs(program);

	diff_say(diff, name, "refs %u %d", refs, clReleaseProgram(program));
}

cl_uint diff_kernel_refs(cl_kernel kernel)
{
	cl_uint refs = UNKNOWN;

	return clGetKernelInfo(kernel, CL_KERNEL_REFERENCE_COUNT, sizeof(refs), &refs, NULL) ?
		UNKNOWN : refs;
}

cl_uint diff_context_refs(cl_context context)
{
	cl_uint refs = UNKNOWN;

	return clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof(refs), &refs, NULL) ?
		UNKNOWN : refs;
}

int diff_value(struct diff *diff, cl_kernel kernel)
{
	const size_t items = DIFF_ITEMS;
	int values[DIFF_ITEMS] = { 0 };
	cl_int error;
	cl_mem out;

	if (!diff->queue)
		return -1;
	out = clCreateBuffer(diff->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
			     sizeof(values), values, &error);
	if (error)
		diff_give_up(diff, "buffer", error);
	error = clSetKernelArg(kernel, 0, sizeof(out), &out);
	if (error)
		diff_give_up(diff, "argument", error);
	error = clEnqueueNDRangeKernel(diff->queue, kernel, 1, NULL, &items, &items, 0, NULL, NULL);
	if (error)
		diff_give_up(diff, "enqueue", error);
	error = clEnqueueReadBuffer(diff->queue, out, CL_TRUE, 0, sizeof(values), values, 0, NULL,
				    NULL);
	if (error)
		diff_give_up(diff, "read", error);
	(void)clReleaseMemObject(out);	/* the subject is a program */
	return values[0];
}
