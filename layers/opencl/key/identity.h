/* SPDX-License-Identifier: MIT */
/*
 * identity: what identifies a device, its driver and its compiler, as fields of the key's device
 * part, gathered once per root device and process.
 */
#ifndef OPENCL_KEY_IDENTITY_H
#define OPENCL_KEY_IDENTITY_H

#include "cachecore/key.h"
#include "layers/shared/driver/libraries.h"
#include "layers/opencl/layer.h"

struct ocl_identity {
	struct cc_key fields;		/* of CC_PART_DEVICE only */
	const struct drv_driver *driver;
	struct drv_libraries_query libraries;	/* the driver's, by a function of it */
	bool parts_share_code;		/* its sub-devices take what is built for it (drivers.h) */
	enum cc_capture capture;	/* what "auto" means for it */
};

/*
 * The identity of a device, or of its root device if it is a sub-device; valid for the process's
 * life. Adds to a key all fields that identify the device for its compiler; exact: for what
 * somebody learns about the device itself, where each part and each number of units counts.
 * Thread-safe. CMN_MISS: the device cannot be identified (the handle is not a driver's own, or
 * a layer below may change builds), so nothing may be cached for it.
 */
CMN_CHECKED enum cmn_status ocl_identity_add(cl_device_id device, struct cc_key *key, bool exact,
					     const struct ocl_identity **ret);
/* Handles may be other devices' from now on. */
void ocl_identity_forget(void);
/* NULL: it cannot be identified. */
const struct ocl_identity *ocl_identity_of(cl_device_id device);
/* The device that a build for this one is made on elsewhere: itself, or the one whose code it shares. */
cl_device_id ocl_identity_builder(cl_device_id device);

/* The setting capture, or what "auto" means for a program of these devices, which can be identified. */
enum cc_capture ocl_identity_capture(cl_uint count, const cl_device_id *devices);

/* The reason to report for a bypass when a device cannot be identified. */
const char *ocl_identity_lack(void);

/* Gathers again, because a compiler was loaded since. What _add gave before stays valid. */
CMN_CHECKED enum cmn_status ocl_identity_renew(cl_uint num_devices, const cl_device_id *devices);

#endif
