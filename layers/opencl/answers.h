/* SPDX-License-Identifier: MIT */
/*
 * answers: logs, options and names of a built program, and what its kernels
 * answer, as fields of its entry. What the driver does not answer is left out, and asked of E on a
 * hit; where memory ran out, the driver's or the layer's, the entry fails.
 */
#ifndef OPENCL_ANSWERS_H
#define OPENCL_ANSWERS_H

#include "layers/opencl/capture.h"

/* Of each target of the request. */
void ocl_answers_add_builds(struct cc_entry *entry, cl_program program,
			    const struct ocl_capture_request *request);
void ocl_answers_add_kernels(struct cc_entry *entry, cl_program program,
			     const struct ocl_capture_request *request);

#endif
