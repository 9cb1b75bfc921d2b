/* SPDX-License-Identifier: MIT */
/* diff_session: what the subjects share: builds, counts, a kernel's value. */
#include "tests/opencl/differential.h"
#include "tests/opencl/references.h"

bool diff_is_older(const struct diff *diff, const char *name, int version)
{
	if (diff->version >= version)
		return false;
	diff_say(diff, name, "not before OpenCL %d.%d", version / 10, version % 10);
	return true;
}

cl_program diff_built(struct diff *diff, const char *source, const char *options)
{
	cl_program program = client_program(&diff->cl, source);
	cl_int error = client_build(program, options);

	if (error)
		client_fail("build", error);
	return program;
}

cl_program diff_compiled(struct diff *diff, const char *source, const char *options)
{
	cl_program program = client_program(&diff->cl, source);
	cl_int error = clCompileProgram(program, 0, NULL, options, 0, NULL, NULL, NULL, NULL);

	if (error)
		client_fail("compile", error);
	return program;
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
	return diff->cl.queue ? (int)client_value(&diff->cl, kernel) : -1;
}
