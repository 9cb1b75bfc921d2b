/* SPDX-License-Identifier: MIT */
/*
 * driver_identity: what a device, its driver and its compiler are, as fields of the
 * key's device part, gathered once per device and driver handle. The fields:
 *
 *   api, driver.version, driver.api, driver.path and library.* (see libraries.h),
 *   device.* (ze_device_properties_t, ze_device_module_properties_t)
 *
 * The driver's uuid is not included: Intel's contains the time at which the
 * process started. A device's uuid differs between boards of one kind, which
 * share code; it is included only if neither the driver reports the device's IP
 * version, nor the kernel the board's revision (board.h), because then the uuid is
 * all that may tell two steppings apart.
 */
#ifndef LEVEL_ZERO_DRIVER_IDENTITY_H
#define LEVEL_ZERO_DRIVER_IDENTITY_H

#include "cachecore/key.h"
#include "layers/shared/driver/libraries.h"
#include "layers/level_zero/plugin/next.h"

/* A device and its driver, identified: valid for the process's life. */
struct lz_identity {
	struct lz_next *next;
	unsigned int closed;		/* next's, then */
	ze_driver_handle_t driver;	/* NULL: not known */
	ze_device_handle_t device;
	struct cc_key fields;
	const struct drv_driver *row;
	struct drv_library_epoch epoch;	/* before they were gathered */
	struct lz_identity *older;
};

/* Where a module is made. */
struct lz_target {
	struct lz_next *next;
	ze_context_handle_t context;	/* NULL: in none yet */
	ze_driver_handle_t driver;	/* NULL: not known */
	ze_device_handle_t device;
	const struct lz_identity *identity;	/* NULL: not identified */
};

/*
 * Sets target->identity, gathered once; and in any case target->driver, if that is NULL and the
 * context's driver is known. Thread-safe. CMN_MISS: the device or its driver's library cannot be
 * identified, or another layer is below: do not cache for it. CMN_ERR_NOMEM.
 */
CMN_CHECKED enum cmn_status lz_identity_of(struct lz_target *target);
/* Why not: the word for a bypass. */
const char *lz_identity_lack(void);
/* Gathers again: a compiler was loaded since. */
CMN_CHECKED enum cmn_status lz_identity_renew(struct lz_target *target);
/* Those of all drivers. */
extern const struct drv_libraries_query lz_libraries;

#endif
