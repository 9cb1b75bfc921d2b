/* SPDX-License-Identifier: MIT */
/*
 * handles: what the plugin remembers of handles. Which driver a context belongs to, because no query tells:
 * from when the application creates it; unknown are contexts older than the plugin. And the build log of a
 * module from the cache: the driver's own log of loading a native binary is empty, so it answers with the
 * entry's (LZ_TAG_LOG). The handle is the driver's own, so that every loader, and every layer
 * above, sees one that is genuine. Thread-safe.
 */
#ifndef LEVEL_ZERO_HANDLES_H
#define LEVEL_ZERO_HANDLES_H

#include "cachecore/entry.h"
#include "layers/level_zero/plugin/next.h"

/* A field of an entry beside CC_TAG_IMAGE; index 0. */
enum {
	LZ_TAG_LOG = 2,		/* as the driver gave it, with its terminator; absent: it gave none */
};

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

/*
 * Lets the log of loading the entry's native binary answer as the entry says. Without memory it answers
 * as the driver does.
 */
void lz_module_log_of(struct lz_next *next, ze_module_build_log_handle_t log, struct cc_entry *entry);

/* The hooks: zeModuleBuildLogGetString, zeModuleBuildLogDestroy (Level Zero core, Module). */
ze_result_t lz_module_log_get(struct lz_next *next, ze_module_build_log_handle_t log, size_t *size,
			      char *text);
ze_result_t lz_module_log_destroy(struct lz_next *next, ze_module_build_log_handle_t log);

#endif
