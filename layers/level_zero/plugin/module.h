/* SPDX-License-Identifier: MIT */
/*
 * module: the driver's own module: the steps of its build, what an entry has of
 * it, and a module from a native binary; for zeModuleCreate and for ckcache.h.
 * An entry has the native binary (CC_TAG_IMAGE 0) and the log (handles.h).
 */
#ifndef LEVEL_ZERO_MODULE_H
#define LEVEL_ZERO_MODULE_H

#include <stdbool.h>

#include "layers/shared/sequence/sequence.h"
#include "layers/level_zero/plugin/driver_identity.h"

/* One module on its way. */
struct lz_build {
	struct drv_sequence sequence;	/* first */
	struct lz_target target;
	const ze_module_desc_t *desc;
	struct cmn_view il;		/* of the descriptor, or the first of several */
	ze_module_handle_t *module;
	ze_module_build_log_handle_t *log;	/* NULL: none is wanted */
	ze_module_build_log_handle_t own_log;	/* for log */
	ze_result_t result;		/* of the driver */
};

/*
 * The steps of its sequence (sequence.h). What the driver leaves in *log is the caller's if it succeeds;
 * with several drivers a failed call's log is not wrapped, and may not be touched.
 */
extern const struct drv_sequence_steps lz_native_steps;

/* The hook: as zeModuleCreate (Level Zero core, Module). */
ze_result_t lz_module_create(struct lz_next *next, ze_context_handle_t context,
			     ze_device_handle_t device, const ze_module_desc_t *desc,
			     ze_module_handle_t *module, ze_module_build_log_handle_t *log);

bool lz_is_out_of_memory(ze_result_t result);

/* Destroy what no application has seen; NULL is fine. What the driver refuses to destroy is lost either way. */
void lz_module_discard(struct lz_next *next, ze_module_handle_t module);
void lz_log_discard(struct lz_next *next, ze_module_build_log_handle_t log);

/* Bytes of the module's native binary; 0: the driver has none to give. */
size_t lz_native_size(struct lz_next *next, ze_module_handle_t module);
/* Fills room of that size. false: the driver does not give it. */
bool lz_native_read(struct lz_next *next, ze_module_handle_t module, size_t size, uint8_t *room);

/*
 * A new module from a native binary. flags: those that it was built with; NULL: none. CMN_ERR_DRIVER:
 * the driver refuses it, or would compile it again from the intermediate language in it. CMN_ERR_NOMEM:
 * it or we ran out of memory. CMN_ERR_IO: the device is lost. On success *ret_log is the driver's own
 * log, which the caller destroys, or NULL. On failure nothing is left and no output is touched.
 */
CMN_CHECKED enum cmn_status lz_native_load(const struct lz_target *target, struct cmn_view native,
					   const char *flags, ze_module_handle_t *ret_module,
					   ze_module_build_log_handle_t *ret_log);

#endif
