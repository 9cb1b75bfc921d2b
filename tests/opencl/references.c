/* SPDX-License-Identifier: MIT */
/* references: asks again where the driver is one that lets go late. */
#define CL_TARGET_OPENCL_VERSION 300
#include "tests/opencl/references.h"

#include <stdbool.h>
#include <string.h>
#include <time.h>

enum { TRIES = 50 };	/* a millisecond each: a thread that waits for a busy processor */

static bool lets_go_late(cl_program program)
{
	cl_platform_id platform;
	cl_device_id devices[8];
	char name[64] = "";

	return !clGetProgramInfo(program, CL_PROGRAM_DEVICES, sizeof(devices), devices, NULL) &&
		!clGetDeviceInfo(devices[0], CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL) &&
		!clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(name), name, NULL) &&
		!strcmp(name, "rusticl");
}

cl_int references_of(cl_program program, cl_uint *ret_count)
{
	const struct timespec millisecond = { .tv_nsec = 1000000 };
	cl_uint count = 0;
	cl_int error = clGetProgramInfo(program, CL_PROGRAM_REFERENCE_COUNT, sizeof(count), &count,
					NULL);

	for (int i = 0; !error && count > 1 && i < TRIES && (i || lets_go_late(program)); i++) {
		(void)nanosleep(&millisecond, NULL);	/* a shorter one is no harm */
		error = clGetProgramInfo(program, CL_PROGRAM_REFERENCE_COUNT, sizeof(count), &count,
					 NULL);
	}
	if (!error)
		*ret_count = count;
	return error;
}
