/* SPDX-License-Identifier: MIT */
/*
 * program_info: logs, options and names of a built program, and what its kernels
 * answer, as fields of its entry. What the driver does not answer is left out, and asked of the
 * loaded program on a hit; where memory ran out, the driver's or the layer's, the entry fails.
 */
#ifndef OPENCL_PROGRAM_PROGRAM_INFO_H
#define OPENCL_PROGRAM_PROGRAM_INFO_H

#include "layers/opencl/program/capture.h"

/* Of each target of the request. */
void ocl_program_info_add_builds(struct cc_entry *entry, cl_program program,
			    const struct ocl_capture_request *request);
void ocl_program_info_add_kernels(struct cc_entry *entry, cl_program program,
			     const struct ocl_capture_request *request);

#endif
