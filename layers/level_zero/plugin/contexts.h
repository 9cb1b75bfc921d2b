/* SPDX-License-Identifier: MIT */
/*
 * contexts: when an application creates a context, remembers its driver (driver_identity.h).
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

#endif
