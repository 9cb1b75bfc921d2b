/* SPDX-License-Identifier: MIT */
/*
 * capture: makes an entry of what the driver built: at once or, for drivers that
 * take long to return a binary, when the application itself asks for it.
 */
#ifndef OPENCL_PROGRAM_CAPTURE_H
#define OPENCL_PROGRAM_CAPTURE_H

#include "layers/opencl/program/capture_request.h"
#include "layers/shared/sequence/sequence.h"

struct ocl_program;

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
 * The entry of a build that failed with error, for memory alone. CMN_MISS: it
 * may have failed for a reason that passes (memory, disk, a file), or the
 * driver says nothing about it.
 */
CMN_CHECKED enum cmn_status ocl_capture_failure(struct drv_sequence *sequence, cl_program program,
						const struct ocl_capture_request *request,
						cl_int error, struct cc_entry **ret);
/*
 * ocl_capture_read for when the application asks. The program must have no capture. Without
 * memory nothing is kept.
 */
void ocl_capture_later(struct drv_sequence *sequence, struct ocl_program *program,
		       const struct ocl_capture_request *request);

/*
 * Before the driver is told to build or compile the program anew: what was to be
 * read of it is forgotten; the loaded program is detached and given to the caller.
 */
struct ocl_loaded_program *ocl_capture_supersede(struct ocl_program *program);
/*
 * The program has a kernel: what a driver compiles when that runs (drivers.h) is seen by nobody, so
 * that nothing is stored later.
 */
void ocl_capture_forget_what_may_run(struct ocl_program *program);
/* The application asks for the program's binaries or their sizes, for which a driver may compile. */
void ocl_capture_requested(struct ocl_program *program);

#endif
