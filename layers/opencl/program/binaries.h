/* SPDX-License-Identifier: MIT */
/*
 * binaries: answers CL_PROGRAM_BINARY_SIZES and CL_PROGRAM_BINARIES after a hit.
 * The answers have a place for each device of the application's program, while
 * the loaded program may be built for only some of them. For an object they come
 * from the entry, because a program that was only loaded may not return its
 * binary.
 */
#ifndef OPENCL_PROGRAM_BINARIES_H
#define OPENCL_PROGRAM_BINARIES_H

#include "layers/opencl/program/loaded_program.h"

/* As clGetProgramInfo(handle, param_name, …), where handle is the application's program; loaded is not a failure. */
cl_int ocl_binaries_get(cl_program handle, const struct ocl_loaded_program *loaded,
			cl_program_info param_name, size_t size, void *ret_value, size_t *ret_size);

#endif
