/* SPDX-License-Identifier: MIT */
/*
 * spirv_files: names of files in SPIR-V that change nothing in what a driver makes of it, such as a
 * temporary file's: the text of an OpString that only OpLine and OpSource refer to. In keys such a text is
 * as many zeros, so all else about the module, its size too, is compared. Other texts are left as they are:
 * types of arguments ("kernel_arg_type..."), to which nothing refers; all of a module that imports
 * instructions for debugging, whose names are in binaries (docs/architecture/drivers.md). Thread-safe.
 */
#ifndef SHARED_DRIVER_SPIRV_FILES_H
#define SHARED_DRIVER_SPIRV_FILES_H

#include "cachecore/key.h"
#include "layers/shared/driver/drivers.h"

/*
 * Adds the field "source". The module is a view of any bytes; what is not understood stays as it is, as it
 * all does if the driver's row or the options (NULL: none) say that names may matter.
 */
void drv_spirv_add(struct cc_key *key, const struct drv_driver *driver, const char *options,
		   struct cmn_view module);
/* Whether a build log has one of the texts that the key lacks: then it belongs to one module alone. */
bool drv_spirv_is_in_log(const struct drv_driver *driver, const char *options, struct cmn_view module,
			 struct cmn_view log);

#endif
