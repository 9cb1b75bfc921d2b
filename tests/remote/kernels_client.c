/* SPDX-License-Identifier: MIT */
/*
 * kernels_client FIRST COUNT: builds that many small programs, each another one, from
 * that number on, in one process, and asks each for its kernel's name. Prints the
 * numbers of programs whose answers are wrong; its exit code says whether any is.
 */
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char *what, cl_int error)
{
	(void)fprintf(stderr, "kernels_client: %s: error %d\n", what, error);
	exit(2);
}

static int is_right(cl_context context, unsigned long number)
{
	char source[256], expected[32], name[64] = "";
	const char *text = source;
	cl_program program;
	cl_kernel kernel;
	cl_int error;

	(void)snprintf(expected, sizeof(expected), "program_%lu", number);
	(void)snprintf(source, sizeof(source),
		       "__kernel void %s(__global int *a) { a[get_global_id(0)] += %lu; }\n", expected,
		       number);
	program = clCreateProgramWithSource(context, 1, &text, NULL, &error);
	if (error)
		fail("clCreateProgramWithSource", error);
	error = clBuildProgram(program, 0, NULL, "", NULL, NULL);
	if (error)
		fail("clBuildProgram", error);
	kernel = clCreateKernel(program, expected, &error);
	if (error)
		fail("clCreateKernel", error);
	error = clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof(name), name, NULL);
	if (error)
		fail("clGetKernelInfo", error);
	(void)clReleaseKernel(kernel);
	(void)clReleaseProgram(program);
	return !strcmp(name, expected);
}

int main(int argc, char **argv)
{
	unsigned long first = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	unsigned long count = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
	cl_platform_id platform;
	cl_context context;
	cl_device_id device;
	cl_int error;
	int code = 0;

	error = clGetPlatformIDs(1, &platform, NULL);
	if (error)
		fail("clGetPlatformIDs", error);
	error = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
	if (error)
		fail("clGetDeviceIDs", error);
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
	if (error)
		fail("clCreateContext", error);
	for (unsigned long i = 0; i < count; i++) {
		if (is_right(context, first + i))
			continue;
		printf("%lu\n", first + i);
		code = 1;
	}
	(void)clReleaseContext(context);
	return code;
}
