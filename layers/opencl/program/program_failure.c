/* SPDX-License-Identifier: MIT */
/* program_failure: the first build log that says something. */
#include "layers/opencl/program/program_failure.h"

#include <stdio.h>

#include "layers/opencl/layer.h"
#include "layers/shared/sequence/failure.h"

/* Its first error comes long before. */
#define MAX_LOG ((size_t)4 << 20)

static void read_log(cl_program program, cl_device_id device, struct cmn_buffer *ret)
{
	size_t size = 0;

	if (OCL_NEXT.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size) !=
	    CL_SUCCESS || size < 2 || size > MAX_LOG || !cmn_buffer_reserve(ret, size))
		return;
	if (OCL_NEXT.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, ret->data,
					   NULL) == CL_SUCCESS)
		ret->len = size;
}

char *ocl_failure_text(cl_program program, cl_int error, const struct ocl_targets *targets)
{
	struct cmn_buffer log = { 0 };
	char code[16], *text;

	for (cl_uint i = 0; program && i < targets->count && !log.len; i++)
		read_log(program, targets->devices[i], &log);
	(void)snprintf(code, sizeof(code), "%d", error);	/* it fits */
	text = drv_failure_text(code, cmn_buffer_view(&log));
	cmn_buffer_release(&log);
	return text;
}
