/* SPDX-License-Identifier: MIT */
/*
 * environment: the variables, and the settings files, that change what a driver
 * compiles. Which ones count is a fact of each driver (drivers.h); names that
 * only say where a cache lies or what is logged never count, nor do those that only select devices.
 *
 * Drivers and compilers read them once in a process, at different times: NEO when it is loaded,
 * IGC at its first build. So the key has their values of the time when the layer, and the driver
 * with it, was loaded; and a build is not cached while one of them has another value, nor
 * ever again once the driver built anything meanwhile. Nor is anything where a settings file is.
 *
 * State of the process, whichever copies of this module it has (owner.h): compilers are shared by the
 * layers. Thread-safe, as far as environ is.
 */
#ifndef SHARED_DRIVER_ENVIRONMENT_H
#define SHARED_DRIVER_ENVIRONMENT_H

#include <stdbool.h>

#include "cachecore/key.h"
#include "layers/shared/driver/drivers.h"

/*
 * The drivers are being loaded: copies the environment, the first time that any copy calls it. A
 * later copy's first call counts as a build does, in the environment of that time.
 */
void drv_environment_begin(void);
/* The variable's value then, or NULL. */
const char *drv_environment_at_begin(const char *name);

/* Whether the variable belongs to the keys of a driver; debug_keys: NEOReadDebugKeys is set. */
bool drv_environment_counts(const struct drv_driver *driver, const char *name, size_t len,
			    bool debug_keys);

/*
 * Adds an "env.<NAME>" field for each variable that counts, sorted by name, with the value that
 * it had at the beginning. false: nothing may be cached now, and *ret_reason says why:
 * "environment-changed" (or there twice, with two values), "settings-file" or "no-memory".
 */
CMN_CHECKED bool drv_environment_add(const struct drv_driver *driver, struct cc_key *key,
				     const char **ret_reason);
/* Whether _add would add anything, and thus the same as ever. */
bool drv_environment_holds(const struct drv_driver *driver);

/*
 * Some driver builds, or has just built: drivers for which a variable is not
 * what it was, or has a settings file now, may have read that for good. Called around each build of theirs.
 */
void drv_environment_note_build(void);

#endif
