/* SPDX-License-Identifier: MIT */
/*
 * capture_request: what was built and is to become an entry, and the copy that a
 * program keeps of it when it is read later (capture.h).
 */
#ifndef OPENCL_PROGRAM_CAPTURE_REQUEST_H
#define OPENCL_PROGRAM_CAPTURE_REQUEST_H

#include "layers/opencl/key/targets.h"
#include "layers/opencl/program/loaded_program.h"

/* What was built. Borrowed. */
struct ocl_capture_request {
	enum ocl_loaded_program_kind kind;
	const struct ocl_targets *targets;
	const struct drv_driver *driver;	/* what its binaries lose is read too */
	uint64_t build_ns;
	unsigned int load_rate;	/* as cc_entry_set_load_rate */
};

/* A build whose binary is to be read when the application asks for it. */
struct ocl_capture {
	struct cc_key key;
	struct cc_manifest *manifest;
	struct ocl_targets targets;
	struct ocl_capture_request request;	/* whose targets are these */
};

/* Takes the manifest, copies the rest. NULL: out of memory. */
struct ocl_capture *ocl_capture_new(const struct cc_key *key,
				    const struct ocl_capture_request *request,
				    struct cc_manifest *manifest);
void ocl_capture_free(struct ocl_capture *capture);	/* NULL is fine */

#endif
