/* SPDX-License-Identifier: MIT */
/* capture: makes an entry of what the driver built, or a recipe; and what the observer is told of its build. */
#ifndef OPENCL_PROGRAM_CAPTURE_H
#define OPENCL_PROGRAM_CAPTURE_H

#include "layers/opencl/program/program_info.h"
#include "layers/opencl/program/original.h"
#include "layers/shared/sequence/sequence.h"

/* What the driver is given to build or compile. Borrows all; options may be NULL. */
struct drv_observer_text ocl_observer_text(const struct drv_driver *driver, const struct ocl_program_text *text,
					   const char *options);
/* What an error of its call means. */
enum drv_outcome ocl_outcome_of(cl_int error);
/* Whether PyOpenCL's token, which is not in the key of a build, could make a difference by these files; NULL: by none. */
bool ocl_token_may_matter(const struct ocl_program_text *text, const char *options,
			  const struct cc_manifest *manifest, const struct cc_include_paths *paths);

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
/*
 * Leaves the recipe of a sequence's build that went well, for ckcache replay: where taking the binary from the
 * driver would hold the application up, or where the driver's own cache had it. manifest: what it
 * read; may be NULL. false: it could not be had, as for sub-devices.
 */
bool ocl_recipe_record(const struct drv_sequence *sequence, const struct ocl_targets *targets,
		       const struct cc_manifest *manifest);

#endif
