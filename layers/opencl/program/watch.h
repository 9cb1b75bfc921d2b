/* SPDX-License-Identifier: MIT */
/*
 * watch: which files a driver looks for while it builds, compiles or links, as
 * an entry's manifest: the observer (layers/shared/observer/observer.h), told what it
 * needs to know of the call. Thread-safe.
 */
#ifndef OPENCL_PROGRAM_WATCH_H
#define OPENCL_PROGRAM_WATCH_H

#include "layers/shared/observer/observer.h"
#include "layers/opencl/key/targets.h"

struct ocl_program;

/*
 * Before the driver is called. goes_on: after the call, too. The result is ended once, or
 * dropped (drv_observer_drop). NULL: out of memory, or the device is not known.
 */
struct drv_observation *ocl_watch_begin(const struct ocl_targets *targets, bool goes_on);

/* What the driver was given. Borrowed. */
struct ocl_watched {
	const struct drv_driver *driver;
	const struct ocl_program *program;	/* NULL: a link */
	const char *options;			/* may be NULL */
};

/*
 * After it; observation may be NULL. true: *ret is the caller's, or NULL where the driver read
 * nothing. false: what it read is not known, and *ret_bypass is a static word that says why.
 */
bool ocl_watch_end(struct drv_observation *observation, const struct ocl_watched *watched,
		   struct cc_manifest **ret, const char **ret_bypass);

#endif
