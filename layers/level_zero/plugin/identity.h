/* SPDX-License-Identifier: MIT */
/*
 * identity: what a device, its driver and its compiler are, as fields of the
 * key's device part, gathered once per device and driver handle:
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
#ifndef LEVEL_ZERO_IDENTITY_H
#define LEVEL_ZERO_IDENTITY_H

#include "cachecore/key.h"
#include "layers/shared/observer/observer.h"
#include "layers/level_zero/plugin/next.h"

/*
 * The fields of a device, valid for the process's life; gathered once. driver
 * may be NULL: not known. Thread-safe. CMN_MISS: the device or its driver's
 * library cannot be identified, or another layer is below: do not cache for it.
 * CMN_ERR_NOMEM.
 */
CMN_CHECKED enum cmn_status lz_identity_of(struct lz_next *next, ze_driver_handle_t driver,
					   ze_device_handle_t device, const struct cc_key **ret);
/* Why not: the word for a bypass. */
const char *lz_identity_lack(void);
/* Gathers again: a compiler was loaded since. What _of gave before stays valid. */
CMN_CHECKED enum cmn_status lz_identity_renew(struct lz_next *next, ze_driver_handle_t driver,
					      ze_device_handle_t device, const struct cc_key **ret);
/* Which drivers are observed (observer.h), of a device that _of has identified. false: it has not. */
bool lz_identity_observe(struct lz_next *next, ze_driver_handle_t driver,
			 ze_device_handle_t device, struct drv_observer_request *ret);
/* The driver of a device that _of has identified; of any other the default row. */
const struct drv_driver *lz_identity_driver(struct lz_next *next, ze_driver_handle_t driver,
					    ze_device_handle_t device);

#endif
