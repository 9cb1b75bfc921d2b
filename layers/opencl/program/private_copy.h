/* SPDX-License-Identifier: MIT */
/*
 * private_copy: a copy of a binary that shares no files with other loads of it. Some
 * drivers write a directory's name into a binary, unpack the binary there, and remove
 * the directory with the program, although another process may still use it.
 */
#ifndef OPENCL_PROGRAM_PRIVATE_COPY_H
#define OPENCL_PROGRAM_PRIVATE_COPY_H

#include "common/bytes.h"
#include "layers/shared/driver/drivers.h"

/*
 * Only for a driver with a private_directory: in *ret_copy, which the caller frees, one with a directory's
 * name of its own; the image itself if it has none, or without memory. Thread-safe.
 */
struct cmn_view ocl_private_copy(const struct drv_driver *driver, struct cmn_view image,
				unsigned char **ret_copy);

#endif
