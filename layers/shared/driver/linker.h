/* SPDX-License-Identifier: MIT */
/*
 * linker: the program that a driver runs to link what it compiled (pocl: ld), and what clang and that
 * program find by variables. Another process reads files that nobody sees: so the key names the linker
 * by its content, and a build by any other program is not stored. Thread-safe.
 */
#ifndef SHARED_DRIVER_LINKER_H
#define SHARED_DRIVER_LINKER_H

#include <stdbool.h>

#include "cachecore/key.h"
#include "layers/shared/driver/drivers.h"

struct drv_linker_variables {
	const char *compiler_path, *path;	/* COMPILER_PATH and PATH, in which it is looked for */
	const char *library_path;		/* LIBRARY_PATH: what is linked */
};

/* Adds a "driver.linker" field for each file; none where the driver runs no linker. false: no memory. */
CMN_CHECKED bool drv_linker_add(const struct drv_driver *driver,
				const struct drv_linker_variables *variables, struct cc_key *key);
/* Whether that program is the one that _add named, or another file of the same content. */
bool drv_linker_is(const struct drv_driver *driver, const struct drv_linker_variables *variables,
		   const char *program);
/* Whether PATH leads to such a path, so that _add looked there. */
bool drv_linker_is_in_path(const struct drv_linker_variables *variables, const char *program);

#endif
