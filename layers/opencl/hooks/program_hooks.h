/* SPDX-License-Identifier: MIT */
/* program_hooks: the hooks of programs, as far as others call them. */
#ifndef OPENCL_HOOKS_PROGRAM_HOOKS_H
#define OPENCL_HOOKS_PROGRAM_HOOKS_H

#include "layers/opencl/program/program.h"

typedef void(CL_CALLBACK *ocl_notify_fn)(cl_program program, void *user_data);

/* The functions that can also be fetched by address: next is the driver's own. */
typedef cl_program(CL_API_CALL *ocl_create_with_il_fn)(cl_context context, const void *il,
						       size_t length, cl_int *errcode_ret);
typedef cl_int(CL_API_CALL *ocl_set_constant_fn)(cl_program program, cl_uint spec_id,
						 size_t spec_size, const void *spec_value);
cl_program ocl_program_create_with_il(ocl_create_with_il_fn next, cl_context context,
				      const void *il, size_t length, cl_int *errcode_ret);
cl_int ocl_program_set_constant(ocl_set_constant_fn next, cl_program program, cl_uint spec_id,
				size_t spec_size, const void *spec_value);

#endif
