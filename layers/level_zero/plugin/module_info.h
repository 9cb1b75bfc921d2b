/* SPDX-License-Identifier: MIT */
/*
 * module_info: what a module from the cache and its build log answer, from the entry.
 * The handles are the driver's own, so that every loader, and every layer above,
 * sees handles that are genuine.
 *
 * The driver's own log of loading a native binary is empty: it answers with the
 * entry's log (LZ_TAG_LOG).
 *
 * A module made from a native binary answers differently from one made from
 * SPIR-V when it is asked for a name that it does not have: for the latter,
 * NEO 26.27 says that it does not support such pointers without a build flag,
 * and why. So the plugin asks a module that was just built for a name that no
 * module has, and stores the answer in the entry (LZ_TAG_NO_FUNCTION,
 * LZ_TAG_NO_GLOBAL): the result in 4 bytes, little-endian, and the driver's
 * description with its terminator. The field is absent if the result only says
 * that there is no such name, as for native binaries.
 */
#ifndef LEVEL_ZERO_MODULE_INFO_H
#define LEVEL_ZERO_MODULE_INFO_H

#include "cachecore/entry.h"
#include "layers/level_zero/plugin/driver_identity.h"

/* Fields of an entry beside CC_TAG_IMAGE; index 0. */
enum {
	LZ_TAG_LOG = 2,		/* as the driver gave it, with its terminator; absent: it gave none */
	LZ_TAG_NO_FUNCTION = 3,
	LZ_TAG_NO_GLOBAL = 4,
};

/*
 * Asks the module that was just built, and adds the answers to its entry. Does
 * so only if the driver is known not to crash on it, and from a thread of its
 * own: drivers keep a description for each thread, and the application's must
 * not change.
 */
void lz_module_info_learn(const struct lz_target *target, ze_module_handle_t module,
		      struct cc_entry *entry);

/*
 * Let a module made of the entry's native binary, or the log of that, answer as
 * the entry says. Without memory it answers as the driver does. For a module
 * needed only if the entry has such a field, or if a module ever had one, whose
 * handle may be this one's now.
 */
void lz_module_info_of_module(ze_module_handle_t module, ze_driver_handle_t driver,
			  struct cc_entry *entry);
void lz_module_info_of_log(ze_module_build_log_handle_t log, struct cc_entry *entry);
extern atomic_bool lz_module_info_any_module;	/* had one */

/* The hooks: zeModuleGetFunctionPointer, zeModuleGetGlobalPointer, zeModuleDestroy (Level Zero core, Module). */
ze_result_t lz_module_info_get_function(struct lz_next *next, ze_module_handle_t module,
				    const char *name, void **ret);
ze_result_t lz_module_info_get_global(struct lz_next *next, ze_module_handle_t module,
				  const char *name, size_t *ret_size, void **ret);
ze_result_t lz_module_info_destroy_module(struct lz_next *next, ze_module_handle_t module);

/* The hooks: zeModuleBuildLogGetString, zeModuleBuildLogDestroy (Level Zero core, Module). */
ze_result_t lz_module_info_get_log(struct lz_next *next, ze_module_build_log_handle_t log,
			       size_t *size, char *text);
ze_result_t lz_module_info_destroy_log(struct lz_next *next, ze_module_build_log_handle_t log);

/*
 * zeDriverGetLastErrorDescription (Level Zero core, Driver): after one of the above
 * has answered from the entry, returns the entry's description, once, unless the
 * driver has a newer one.
 */
ze_result_t lz_module_info_get_last_error(struct lz_next *next, ze_driver_handle_t driver,
				      const char **ret);
/* zerGetLastErrorDescription (Level Zero runtime): the same, of the default driver. */
ze_result_t lz_module_info_get_default_error(struct lz_next *next, const char **ret);

#endif
