/* SPDX-License-Identifier: MIT */
/*
 * environment: the variables and settings files that change what a driver compiles. Which ones count
 * depends on the driver (drivers.h). Variables that only say where a cache is or what is logged never
 * count, nor do those that only select devices.
 *
 * Drivers and compilers read them once per process, at different times: NEO when it is loaded, IGC at
 * its first build. So the key has the values from when the layer was loaded, and the driver with it.
 * A build is not cached while one of them has another value, and never again if the driver built
 * anything meanwhile. Nothing is cached where a settings file exists.
 *
 * There is one state for both APIs, since their drivers share compilers. Thread-safe; what another
 * thread changes meanwhile counts as changed (common/env.h).
 */
#ifndef SHARED_DRIVER_ENVIRONMENT_H
#define SHARED_DRIVER_ENVIRONMENT_H

#include <stdbool.h>

#include "cachecore/key.h"
#include "layers/shared/driver/drivers.h"

struct drv_linker_variables {
	const char *compiler_path, *path;	/* COMPILER_PATH and PATH, in which it is looked for */
	const char *library_path;		/* LIBRARY_PATH: what is linked */
};

/*
 * To be called when drivers are being loaded, for each API: the first call copies the environment, and
 * a later one counts like a build in the environment of that time.
 */
void drv_environment_begin(void);
/* The variable's value in that copy, or NULL. */
const char *drv_environment_at_begin(const char *name);
/* The variable ("NAME=value") of that copy that follows this one, or NULL; of NULL the first one. */
const char *drv_environment_next(const char *variable);
struct drv_linker_variables drv_environment_linker(void);	/* in that copy */

/* Whether the variable is part of a driver's keys; debug_keys: NEOReadDebugKeys is set. */
bool drv_environment_counts(const struct drv_driver *driver, const char *name, size_t len,
			    bool debug_keys);

/*
 * Whether a program that is started with these variables is loaded, and reads the driver's variables, as
 * it would be in that copy. Allocates nothing: for the child of a fork.
 */
bool drv_environment_passes(const struct drv_driver *driver, char *const variables[]);

/*
 * Adds an "env.<NAME>" field for each variable that counts, sorted by name, with the value that
 * it had at the beginning. NULL, or why nothing may be cached now:
 * "environment-changed" (also if one is there twice, with two values), "settings-file", "variable" (one that
 * is not harmless: harmless.h), "instrumented" or "no-memory".
 */
CMN_CHECKED const char *drv_environment_add(const struct drv_driver *driver, struct cc_key *key);
/* Whether _add would succeed; then it adds the same fields as always. */
bool drv_environment_holds(const struct drv_driver *driver);

/*
 * To be called before and after each build of any driver: a driver for which a variable has changed,
 * or a settings file exists, may just have read it for the rest of the process.
 */
void drv_environment_note_build(void);

/*
 * The program that a driver runs to link what it compiled (pocl: ld), and what clang and that program find by
 * variables. Another process reads files that nobody sees: so the key names the linker by its
 * content, and a build by any other program is not stored. Adds a "driver.linker" field for each file; none
 * where the driver runs no linker. false: no memory.
 */
CMN_CHECKED bool drv_linker_add(const struct drv_driver *driver,
				const struct drv_linker_variables *variables, struct cc_key *key);
/*
 * Whether that program has the content of the linker that each _add of the process found: also when that one was
 * replaced since.
 */
bool drv_linker_is(const struct drv_driver *driver, const char *program);
/* Whether PATH leads to such a path, so that _add looked there. */
bool drv_linker_is_in_path(const struct drv_linker_variables *variables, const char *program);

#endif
