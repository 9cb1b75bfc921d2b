/* SPDX-License-Identifier: MIT */
/*
 * module: zeModuleCreate, from the cache or by the driver (native.h says what
 * an entry holds). Each module is the driver's own, made for this one caller:
 * its global variables are.
 */
#ifndef LEVEL_ZERO_MODULE_H
#define LEVEL_ZERO_MODULE_H

#include "layers/level_zero/plugin/next.h"

/* The hook: as zeModuleCreate (Level Zero core, Module). */
ze_result_t lz_module_create(struct lz_next *next, ze_context_handle_t context,
			     ze_device_handle_t device, const ze_module_desc_t *desc,
			     ze_module_handle_t *module, ze_module_build_log_handle_t *log);

#endif
