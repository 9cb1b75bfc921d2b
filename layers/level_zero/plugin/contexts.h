/* SPDX-License-Identifier: MIT */
/*
 * contexts: remembers which driver a context belongs to, because no query tells,
 * and prepares things when a context is created, so that the first module need
 * not wait.
 */
#ifndef LEVEL_ZERO_CONTEXTS_H
#define LEVEL_ZERO_CONTEXTS_H

#include "layers/level_zero/plugin/next.h"

/* The hooks: as zeContextCreate, zeContextCreateEx, zeContextDestroy (Level Zero core, Context). */
ze_result_t lz_context_create(struct lz_next *next, ze_driver_handle_t driver,
			      const ze_context_desc_t *desc, ze_context_handle_t *context);
ze_result_t lz_context_create_ex(struct lz_next *next, ze_driver_handle_t driver,
				 const ze_context_desc_t *desc, uint32_t count,
				 ze_device_handle_t *devices, ze_context_handle_t *context);
ze_result_t lz_context_destroy(struct lz_next *next, ze_context_handle_t context);

/* NULL: not known; the context is older than the plugin, or there was no memory. */
ze_driver_handle_t lz_context_driver(ze_context_handle_t context);
/*
 * The functions for handles of the context, or, if that is not known, of the
 * driver. NULL: there are several loaders, and no known context of this driver
 * tells which one.
 */
struct lz_next *lz_context_next(ze_context_handle_t context, ze_driver_handle_t driver);

#endif
