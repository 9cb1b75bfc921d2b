/* SPDX-License-Identifier: MIT */
/*
 * libraries: which shared objects make up a driver and its compiler, and what
 * identifies each: the GNU build-id where there is one, else path, size and
 * mtime. Only what the driver is linked with (transitively) and the compilers
 * that its row names count, never the application's own libraries, so that
 * two applications on one driver share entries. Linux, ELF (gABI chapter 5).
 */
#ifndef OPENCL_LIBRARIES_H
#define OPENCL_LIBRARIES_H

#include <stdbool.h>

#include "cachecore/key.h"
#include "layers/opencl/drivers.h"

/*
 * Adds a "library.<file name>" field for each, sorted by name. address: any
 * function of the driver. CMN_MISS: the address is in no shared object.
 * *ret_driver: the driver's row. Takes about 20 µs.
 */
CMN_CHECKED enum cmn_status ocl_libraries_identify(const void *address, struct cc_key *key,
						   const struct ocl_driver **ret_driver);

/* How many objects the process ever loaded and unloaded: equal numbers, equal set. */
struct ocl_library_epoch {
	unsigned long long loaded, unloaded;
};
struct ocl_library_epoch ocl_libraries_epoch(void);

#endif
