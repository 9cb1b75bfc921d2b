/* SPDX-License-Identifier: MIT */
/* bench_opencl: what the benchmarks of OpenCL do with the driver's own calls; each ends the program where one fails. */
#ifndef TESTS_BENCH_BENCH_OPENCL_H
#define TESTS_BENCH_BENCH_OPENCL_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "tests/bench/bench_run.h"

static inline void check(cl_int error, const char *what)
{
	if (error != CL_SUCCESS)
		bench_fail("%s failed (%d)", what, error);
}

/* A program that cannot give its kernels was not worth timing. */
static inline void check_kernels(cl_program program)
{
	cl_uint count = 0;

	check(clCreateKernelsInProgram(program, 0, NULL, &count), "clCreateKernelsInProgram");
	if (count == 0)
		bench_fail("the program has no kernel");
}

/* Of its first device; heap. */
static inline unsigned char *take_binary(cl_program program, size_t *ret_len)
{
	unsigned char *bytes;

	check(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(*ret_len), ret_len, NULL),
	      "CL_PROGRAM_BINARY_SIZES");
	bytes = malloc(*ret_len);
	if (bytes == NULL || *ret_len == 0)
		bench_fail("cannot take the binary");
	check(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(bytes), &bytes, NULL), "CL_PROGRAM_BINARIES");
	return bytes;
}

/* Creates it of a binary and builds it; *ret_ns: the time of both. */
static inline cl_program load_binary(cl_context context, cl_device_id device, const char *options,
				     const unsigned char *bytes, size_t len, uint64_t *ret_ns)
{
	uint64_t start = bench_now();
	cl_int error, status;
	cl_program program = clCreateProgramWithBinary(context, 1, &device, &len, &bytes, &status, &error);

	check(error, "clCreateProgramWithBinary");
	check(status, "clCreateProgramWithBinary (binary status)");
	error = clBuildProgram(program, 1, &device, options, NULL, NULL);
	*ret_ns = bench_now() - start;
	check(error, "clBuildProgram from the binary");
	return program;
}

#endif
