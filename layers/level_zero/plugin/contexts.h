/* SPDX-License-Identifier: MIT */
/*
 * contexts: which driver a context belongs to, because no query tells; remembered when the application
 * creates it. Unknown are contexts older than the plugin. Thread-safe.
 */
#ifndef LEVEL_ZERO_CONTEXTS_H
#define LEVEL_ZERO_CONTEXTS_H

#include "layers/level_zero/plugin/next.h"

/* NULL: not known. */
ze_driver_handle_t lz_context_driver(ze_context_handle_t context);
/*
 * The functions for handles of the context, or, if that is not known, of the
 * driver. NULL: there are several loaders, and no known context of this driver
 * tells which one.
 */
struct lz_next *lz_context_next(ze_context_handle_t context, ze_driver_handle_t driver);

/* The hooks: as zeContextCreate, zeContextCreateEx, zeContextDestroy (Level Zero core, Context). */
ze_result_t lz_context_create(struct lz_next *next, ze_driver_handle_t driver,
			      const ze_context_desc_t *desc, ze_context_handle_t *context);
ze_result_t lz_context_create_ex(struct lz_next *next, ze_driver_handle_t driver,
				 const ze_context_desc_t *desc, uint32_t count,
				 ze_device_handle_t *devices, ze_context_handle_t *context);
ze_result_t lz_context_destroy(struct lz_next *next, ze_context_handle_t context);

#endif
