/* SPDX-License-Identifier: MIT */
/* capture: makes an entry of what the driver built. */
#ifndef OPENCL_PROGRAM_CAPTURE_H
#define OPENCL_PROGRAM_CAPTURE_H

#include "layers/opencl/program/program_info.h"
#include "layers/shared/sequence/sequence.h"

/*
 * For the capture step of a sequence: what was built goes to an entry with the
 * sequence's manifest, which is taken on success and failure alike.
 */

/*
 * The entry of a program just built, compiled or linked. CMN_OK: *ret is a new
 * reference. Else the sequence's bypass says whether the driver has no binary to
 * give, or it is of one random token alone (pyopencl_nonce.h).
 */
CMN_CHECKED enum cmn_status ocl_capture_read(struct drv_sequence *sequence, cl_program program,
					     const struct ocl_capture_request *request,
					     struct cc_entry **ret);
/*
 * The entry of a build that failed with error; for memory alone, where the log does not name a place
 * in the program. CMN_MISS: it may have failed for a reason that passes (memory, disk, a file), or
 * the driver says nothing about it.
 */
CMN_CHECKED enum cmn_status ocl_capture_failure(struct drv_sequence *sequence, cl_program program,
						const struct ocl_capture_request *request,
						cl_int error, struct cc_entry **ret);
#endif
