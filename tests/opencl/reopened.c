/* SPDX-License-Identifier: MIT */
/* reopened: a program that closes OpenCL's loader and opens it again, and builds another program each time. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define LOADER "libOpenCL.so.1"
#define CALL(name) __typeof__(name) *name##_ = (__typeof__(name) *)dlsym(loader, #name)

static int build(void *loader, const char *source)
{
	CALL(clGetPlatformIDs);
	CALL(clGetDeviceIDs);
	CALL(clCreateContext);
	CALL(clCreateProgramWithSource);
	CALL(clBuildProgram);
	CALL(clReleaseProgram);
	CALL(clReleaseContext);
	cl_platform_id platform;
	cl_device_id device;
	cl_context context;
	cl_program program;
	cl_int error;

	if (clGetPlatformIDs_(1, &platform, NULL) != CL_SUCCESS ||
	    clGetDeviceIDs_(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
		return 3;
	context = clCreateContext_(NULL, 1, &device, NULL, NULL, &error);
	program = clCreateProgramWithSource_(context, 1, &source, NULL, &error);
	error = clBuildProgram_(program, 1, &device, "", NULL, NULL);
	return clReleaseProgram_(program) || clReleaseContext_(context) || error != CL_SUCCESS ? 4 : 0;
}

int main(void)
{
	for (int i = 0; i < 3; i++) {
		void *loader = dlopen(LOADER, RTLD_NOW | RTLD_LOCAL);
		char source[64];
		int failed;

		(void)snprintf(source, sizeof(source), "kernel void k%d(global int *a) { *a = 0; }", i);
		failed = loader ? build(loader, source) : 2;
		if (failed)
			return failed;
		(void)dlclose(loader);
		if (dlopen(LOADER, RTLD_NOW | RTLD_NOLOAD))
			return 5;	/* nothing was reopened */
	}
	return 0;
}
