/* SPDX-License-Identifier: MIT */
/* program_failure: what the driver says of a program that it could not build, compile or link. */
#ifndef OPENCL_PROGRAM_PROGRAM_FAILURE_H
#define OPENCL_PROGRAM_PROGRAM_FAILURE_H

#include "layers/opencl/key/targets.h"

/* For the failure step of a sequence. program: the driver's handle, alive; NULL: there is none. */
char *ocl_failure_text(cl_program program, cl_int error, const struct ocl_targets *targets);

#endif
