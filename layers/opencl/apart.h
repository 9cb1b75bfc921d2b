/* SPDX-License-Identifier: MIT */
/*
 * apart: a binary that shares no files with another load of it. Some drivers
 * write a directory's name into binaries, unpack each there, and remove it with
 * the program, while another process with the same binary still uses it.
 */
#ifndef OPENCL_APART_H
#define OPENCL_APART_H

#include "common/bytes.h"
#include "layers/driver/drivers.h"

/*
 * The image, or in *ret_copy, which the caller frees, one with a directory's name of its own.
 * Without memory: the image. Thread-safe.
 */
struct cmn_view ocl_image_apart(const struct drv_driver *driver, struct cmn_view image,
				unsigned char **ret_copy);

#endif
