/* SPDX-License-Identifier: MIT */
/*
 * module_log: the build log of a module from the cache. The driver's own log of
 * loading a native binary is empty: it answers with the entry's (LZ_TAG_LOG). The
 * handle is the driver's own, so that every loader, and every layer above, sees one
 * that is genuine.
 */
#ifndef LEVEL_ZERO_MODULE_LOG_H
#define LEVEL_ZERO_MODULE_LOG_H

#include "cachecore/entry.h"
#include "layers/level_zero/plugin/next.h"

/* A field of an entry beside CC_TAG_IMAGE; index 0. */
enum {
	LZ_TAG_LOG = 2,		/* as the driver gave it, with its terminator; absent: it gave none */
};

/*
 * Lets the log of loading the entry's native binary answer as the entry says. Without memory it answers
 * as the driver does.
 */
void lz_module_log_of(ze_module_build_log_handle_t log, struct cc_entry *entry);

/* The hooks: zeModuleBuildLogGetString, zeModuleBuildLogDestroy (Level Zero core, Module). */
ze_result_t lz_module_log_get(struct lz_next *next, ze_module_build_log_handle_t log, size_t *size,
			      char *text);
ze_result_t lz_module_log_destroy(struct lz_next *next, ze_module_build_log_handle_t log);

#endif
