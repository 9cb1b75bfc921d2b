/* SPDX-License-Identifier: MIT */
/*
 * identity: what a device, its driver and its compiler are, as fields of the
 * key's device part, gathered once per root device and process.
 */
#ifndef OPENCL_KEY_IDENTITY_H
#define OPENCL_KEY_IDENTITY_H

#include "cachecore/key.h"
#include "layers/shared/driver/drivers.h"
#include "layers/opencl/hooks/layer.h"

struct ocl_identity {
	struct cc_key fields;		/* of CC_PART_DEVICE only */
	const struct drv_driver *driver;
	const void *address;		/* a function of the driver's library */
};

/*
 * Borrowed for the process's life; from a table where the device is known.
 * Thread-safe. For a sub-device it is its root device's. CMN_MISS: this device
 * cannot be identified (a handle that is no driver's own, or a layer below that
 * may change builds): do not cache for it.
 */
CMN_CHECKED enum cmn_status ocl_identity_of(cl_device_id device, const struct ocl_identity **ret);
/* The same, and adds all that identifies the device to a key. */
CMN_CHECKED enum cmn_status ocl_identity_add(cl_device_id device, struct cc_key *key,
					     const struct ocl_identity **ret);

/* Why a device is not identified: the word for a bypass. */
const char *ocl_identity_lack(void);

/* Gathers again: a compiler was loaded since. What _of gave before stays valid. */
CMN_CHECKED enum cmn_status ocl_identity_renew(cl_uint num_devices, const cl_device_id *devices);

#endif
