/* SPDX-License-Identifier: MIT */
/*
 * program_info: adds the logs, options and names of a built program, and the answers
 * of its kernels, to its entry. Answers that the driver does not give are left out;
 * on a hit the loaded program is asked for them. If the driver or the layer runs out
 * of memory, the entry fails.
 */
#ifndef OPENCL_PROGRAM_PROGRAM_INFO_H
#define OPENCL_PROGRAM_PROGRAM_INFO_H

#include "layers/opencl/program/capture_request.h"

/* Of each target of the request. */
void ocl_program_info_add_builds(struct cc_entry *entry, cl_program program,
			    const struct ocl_capture_request *request);
void ocl_program_info_add_kernels(struct cc_entry *entry, cl_program program,
			     const struct ocl_capture_request *request);

#endif
