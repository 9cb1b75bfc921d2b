/* SPDX-License-Identifier: MIT */
/*
 * drivers: what is known of particular drivers, by measurement, in one table,
 * for both APIs. An unknown driver gets defaults that are safe for all.
 */
#ifndef DRIVER_DRIVERS_H
#define DRIVER_DRIVERS_H

#include <stdbool.h>

#include "cachecore/config.h"

#define DRV_LISTS 6

struct drv_driver {
	const char *library;		/* how the driver library's file name starts; NULL: the default row */
	enum cc_capture capture;	/* what "auto" means for it */
	bool binaries_lose_attributes;	/* CL_KERNEL_ATTRIBUTES is empty after a build from a binary */
	/* A program whose kernels live is compiled all the same, against the specification. */
	bool compiles_with_kernels;
	/* clCloneKernel is much faster than clCreateKernel. */
	bool clones_kernels;
	/* Building a linked program ends the process once its binary was read, or if it was loaded. */
	bool linked_builds_abort;
	/*
	 * What it takes at least to load an executable's binary and build it, in nanoseconds a
	 * byte, its own caches warm (docs/COMPRESSION.md); 0: unknown.
	 */
	unsigned int load_rate;
	/* In build options without ' and \, a pair of " keeps blanks together and goes, wherever it stands. */
	bool quotes_group;
	/* File names (prefixes) of compilers that it loads itself, beside what it is linked with. */
	const char *compilers[DRV_LISTS];
	/* Those that some versions load only when they first compile, as they ask for them. */
	const char *late_compilers[DRV_LISTS];
	/* Patterns (glob) of files that it compiles into programs or runs. */
	const char *files[DRV_LISTS];
};

/* Never NULL. library: a path or file name. */
const struct drv_driver *drv_driver_of(const char *library);

#endif
