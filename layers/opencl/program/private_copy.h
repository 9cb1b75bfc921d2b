/* SPDX-License-Identifier: MIT */
/*
 * private_copy: a binary that shares no files with another load of it. Some drivers
 * write a directory's name into binaries, unpack each there, and remove it with
 * the program, while another process with the same binary still uses it.
 */
#ifndef OPENCL_PROGRAM_PRIVATE_COPY_H
#define OPENCL_PROGRAM_PRIVATE_COPY_H

#include "common/bytes.h"
#include "layers/shared/driver/drivers.h"

/*
 * The image, or in *ret_copy, which the caller frees, one with a directory's name of its own.
 * Without memory: the image. Thread-safe.
 */
struct cmn_view ocl_private_copy(const struct drv_driver *driver, struct cmn_view image,
				unsigned char **ret_copy);

#endif
