/* SPDX-License-Identifier: MIT */
/*
 * build_logs: the build log of a module that came from the cache. The driver's
 * own log of loading a native is empty; its handle stands for the stored text,
 * so that every loader, and every layer above, sees a handle that is genuine.
 */
#ifndef LEVEL_ZERO_BUILD_LOGS_H
#define LEVEL_ZERO_BUILD_LOGS_H

#include "cachecore/entry.h"
#include "layers/level_zero/plugin/next.h"

/* Lets the handle answer with the entry's log from now on. false: out of memory, it answers as the driver does. */
bool lz_build_log_replay(ze_module_build_log_handle_t log, struct cc_entry *entry);

/* The hooks: as zeModuleBuildLogGetString and zeModuleBuildLogDestroy (Level Zero core, Module). */
ze_result_t lz_build_log_get_string(struct lz_next *next, ze_module_build_log_handle_t log,
				    size_t *size, char *text);
ze_result_t lz_build_log_destroy(struct lz_next *next, ze_module_build_log_handle_t log);

#endif
