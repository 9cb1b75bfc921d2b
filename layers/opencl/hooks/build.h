/* SPDX-License-Identifier: MIT */
/*
 * build: one call of clBuildProgram or clCompileProgram, from the cache or by
 * the driver. compile.c has what is particular to compiling.
 */
#ifndef OPENCL_HOOKS_BUILD_H
#define OPENCL_HOOKS_BUILD_H

#include "layers/opencl/hooks/program_hooks.h"

/* What clCompileProgram is given beyond clBuildProgram. */
struct ocl_compile {
	cl_uint count;
	const cl_program *programs;
	const char **names;
	struct ocl_header *headers;	/* the same, as far as they are known; holds the texts */
};

/* The call, as the application made it. */
struct ocl_build_request {
	struct ocl_program *program;
	const struct ocl_compile *compile;	/* NULL: clBuildProgram */
	cl_uint list_count;
	const cl_device_id *list;
	const char *options;
	ocl_notify_fn notify;
	void *user_data;
};

/* Carries out the call; calls back where the cache had it. The driver's answer. */
cl_int ocl_build(const struct ocl_build_request *request);

/*
 * The application asks for what a remembered failure (loaded, the program's) does not say: the binaries
 * that a driver may have of a build that failed. The driver builds the program, which answers for itself then.
 */
void ocl_build_failure(struct ocl_program *program, const struct ocl_loaded_program *loaded);

/* Header arguments that a driver has to refuse (OpenCL 3.0, clCompileProgram, Errors). */
bool ocl_compile_has_bad_headers(const struct ocl_compile *compile);

#endif
