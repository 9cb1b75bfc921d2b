/* SPDX-License-Identifier: MIT */
/*
 * image_place: where a driver unpacks a binary (pocl). The binary has the directory's name in it, below the
 * driver's own cache. What is there already is used: that is where a driver finds again what it
 * compiled for the launches of earlier runs.
 */
#ifndef OPENCL_PROGRAM_IMAGE_PLACE_H
#define OPENCL_PROGRAM_IMAGE_PLACE_H

#include <stdbool.h>

#include "common/bytes.h"
#include "layers/shared/driver/drivers.h"

/* Whether this process's driver has its own cache on, as far as the environment tells. */
bool ocl_image_place_stays(const struct drv_driver *driver);

/*
 * Only for a driver with a private_directory: in *ret_copy, which the caller frees, the image as it is to
 * be loaded. stays: the driver's own cache is on, and keeps what lies there: the image itself if it is named as the cache names
 * programs, else one that is named so by its content. Without: one with a directory's name of
 * its own, since the driver removes that with the program, although another process may still use
 * it. The image itself if it has no name, or without memory. Thread-safe.
 */
struct cmn_view ocl_image_place(const struct drv_driver *driver, bool stays, struct cmn_view image,
				unsigned char **ret_copy);

/* Names the directory in an image that was just built; nothing where name is none of the driver's cache. */
void ocl_image_set_place(const struct drv_driver *driver, unsigned char *image, size_t len, const char *name);

#endif
