/* SPDX-License-Identifier: MIT */
/* dispatch: the hook table. A call that is not listed here is not touched. */
#include "layers/opencl/hooks/dispatch.h"

#include <string.h>

struct hook {
	size_t offset;
	void *function;
};

/* POSIX lets a function pointer pass through void *. */
#define HOOK(call) { offsetof(cl_icd_dispatch, call), (void *)ocl_##call }

static const struct hook hooks[] = {
	/* Programs: the application's, and the one that a hit loads in its place. */
	HOOK(clCreateProgramWithSource),	/* forward, keep the text */
	HOOK(clCreateProgramWithIL),
	HOOK(clSetProgramSpecializationConstant),	/* a part of the key */
	HOOK(clBuildProgram),			/* hit: load; miss: build, and keep the binary */
	HOOK(clCompileProgram),			/* likewise */
	HOOK(clLinkProgram),			/* inputs: the loaded ones; hit: load */
	HOOK(clRetainProgram),			/* own counter */
	HOOK(clReleaseProgram),
	HOOK(clGetProgramInfo),			/* what the binary decides: of the loaded one */
	HOOK(clGetProgramBuildInfo),		/* likewise; log and options from the entry */
	/* Kernels: made from the loaded program, the driver's own handles. */
	HOOK(clCreateKernel),
	HOOK(clCreateKernelsInProgram),
	HOOK(clCloneKernel),
	HOOK(clRetainKernel),
	HOOK(clReleaseKernel),
	HOOK(clGetKernelInfo),			/* the application's program; what a binary loses: from the entry */
	HOOK(clGetKernelWorkGroupInfo),		/* likewise */
	/* Extension functions that take a program bypass this table. */
	HOOK(clGetExtensionFunctionAddress),
	HOOK(clGetExtensionFunctionAddressForPlatform),
};

void ocl_dispatch_fill(const cl_icd_dispatch *next, cl_icd_dispatch *ret)
{
	for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++) {
		void *target;

		memcpy(&target, (const char *)next + hooks[i].offset, sizeof(target));
		if (target)
			memcpy((char *)ret + hooks[i].offset, &hooks[i].function, sizeof(target));
	}
}
