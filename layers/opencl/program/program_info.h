/* SPDX-License-Identifier: MIT */
/*
 * program_info: reads a program's binaries; adds the logs, options and names of a built program, and the
 * answers of its kernels, to its entry. Answers that the driver does not give are left out;
 * on a hit the loaded program is asked for them. If the driver or the layer runs out
 * of memory, the entry fails.
 */
#ifndef OPENCL_PROGRAM_PROGRAM_INFO_H
#define OPENCL_PROGRAM_PROGRAM_INFO_H

#include "layers/opencl/key/targets.h"
#include "layers/opencl/program/loaded_program.h"

/* What was built and is to become an entry. Borrowed. */
struct ocl_capture_request {
	enum ocl_loaded_program_kind kind;
	const struct ocl_targets *targets;
	unsigned int load_rate;	/* as cc_entry_set_load_rate */
	const struct ocl_program_text *text;	/* that was built, and its options; NULL: a link */
	const char *options;
};

/* clGetProgramInfo, of the driver or with the layer. */
typedef cl_int(CL_API_CALL *ocl_program_info_fn)(cl_program program, cl_program_info name, size_t size,
						 void *ret_value, size_t *ret_size);

/* A program's binaries, in the driver's order of its devices. {0} is a valid empty one. */
struct ocl_images {
	size_t count;
	size_t *lens;
	unsigned char **data;	/* NULL where the length is 0 */
};

/* CMN_MISS: the driver does not say; CMN_ERR_NOMEM. The caller releases *ret in any case. */
CMN_CHECKED enum cmn_status ocl_images_measure(ocl_program_info_fn get, cl_program program,
					       struct ocl_images *ret);
/* Reads those that were measured. CMN_MISS: the driver does not give them; CMN_ERR_NOMEM. */
CMN_CHECKED enum cmn_status ocl_images_read(ocl_program_info_fn get, cl_program program,
					    struct ocl_images *images);
void ocl_images_release(struct ocl_images *images);

/* Of each target of the request. */
void ocl_program_info_add_builds(struct cc_entry *entry, cl_program program,
				 const struct ocl_capture_request *request);
/* What the driver's binaries lose is read too. */
void ocl_program_info_add_kernels(struct cc_entry *entry, cl_program program,
				  const struct drv_driver *driver, const struct ocl_capture_request *request);

/*
 * What the driver says of a program that it could not build, compile or link, for the failure step of a
 * sequence. program: the driver's handle, alive; NULL: there is none.
 */
char *ocl_failure_text(cl_program program, cl_int error, const struct ocl_targets *targets);

#endif
