/* SPDX-License-Identifier: MIT */
/*
 * extension: the plugin's functions of ckcache.h: by name, through
 * zeDriverGetExtensionFunctionAddress, and as a table for libckcache, which
 * leaves Level Zero to the plugin if one is in use.
 */
#ifndef LEVEL_ZERO_EXTENSION_H
#define LEVEL_ZERO_EXTENSION_H

#include "layers/shared/api/ckcache_ext.h"
#include "layers/level_zero/plugin/next.h"

/* The hook: as zeDriverGetExtensionFunctionAddress (Level Zero core, Driver), also for names of ckcache_ext.h. */
ze_result_t lz_extension_get_function(struct lz_next *next, ze_driver_handle_t driver,
				      const char *name, void **ret);

/*
 * Exported. NULL: the plugin is loaded, and no loader creates modules through
 * it (yet), or it is switched off.
 */
__attribute__((visibility("default"))) ckcache_functions_fn ckcache_functions;

/* After zeModuleCreate was hooked: lets the library, if it is loaded, pass on what the program has set. */
void lz_extension_announce(void);

#endif
