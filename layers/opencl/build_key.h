/* SPDX-License-Identifier: MIT */
/*
 * build_key: what identifies a build of a program from source. This file
 * alone chooses the fields:
 *
 *   device     platform.* device.* driver.* library.* processor.*, for each device
 *   image      kind, source
 *   constants  (none for source)
 *   options    options as given, devices (their number), env.*
 *
 * Headers are not in the key but in the entry's manifest.
 */
#ifndef OPENCL_BUILD_KEY_H
#define OPENCL_BUILD_KEY_H

#include "layers/opencl/identity.h"
#include "layers/opencl/program.h"

/*
 * Initialises *ret in every case; the caller releases it, best by
 * ocl_build_key_release. CMN_MISS: a device cannot be identified.
 * *ret_driver: the first device's.
 */
CMN_CHECKED enum cmn_status ocl_build_key(const struct ocl_program *program, cl_uint num_devices,
					  const cl_device_id *devices, const char *options,
					  struct cc_key *ret, const struct ocl_driver **ret_driver);
/* Leaves the key's room for the next one. */
void ocl_build_key_release(struct cc_key *key);

#endif
