/* SPDX-License-Identifier: MIT */
/*
 * watch: tells the observer (layers/shared/observer/observer.h) what it must know
 * about a build, a compilation or a link to find out which files the driver read.
 */
#ifndef OPENCL_PROGRAM_WATCH_H
#define OPENCL_PROGRAM_WATCH_H

#include "layers/shared/observer/observer.h"
#include "layers/opencl/key/targets.h"

struct ocl_program;

/* Which driver is observed. false: the device is not known. */
bool ocl_watch_driver(const struct ocl_targets *targets, struct drv_observer_request *ret);

/* What the driver is given. Borrowed. */
struct ocl_watched {
	const struct drv_driver *driver;
	const struct ocl_program *program;	/* NULL: a link */
	const char *options;			/* may be NULL */
	bool compiled;				/* by clCompileProgram */
};

/* Borrows from the program. */
struct drv_observer_text ocl_watch_text(const struct ocl_watched *watched);

/* Whether PyOpenCL's token, which is not in the key of a build, could make a difference by these files; NULL: by none. */
bool ocl_watch_token_may_matter(const struct ocl_watched *watched,
				const struct cc_manifest *manifest);

#endif
