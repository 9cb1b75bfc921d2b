/* SPDX-License-Identifier: MIT */
/*
 * native: reads the native binary and the build log of a module that was built,
 * and makes a module from a native binary; for zeModuleCreate and for ckcache.h.
 * An entry has the native binary (CC_TAG_IMAGE 0) and the build log.
 */
#ifndef LEVEL_ZERO_NATIVE_H
#define LEVEL_ZERO_NATIVE_H

#include <stdbool.h>

#include "layers/shared/course/course.h"
#include "layers/level_zero/plugin/next.h"

/* A field of an entry beside CC_TAG_IMAGE and those of names.h; index 0. */
enum {
	LZ_TAG_LOG = 2,		/* as the driver gave it, with its terminator; absent: it gave none */
};

bool lz_is_out_of_memory(ze_result_t result);
/* Of a build by the driver. */
enum drv_outcome lz_outcome(ze_result_t result);
/*
 * For the failure step of a course: the result, and what it means. Not the build log: with several
 * drivers a failed call's is not wrapped, and may not be touched. On the heap; NULL: no memory.
 */
char *lz_native_failure(ze_result_t result);
/* A result of lz_native_load: the driver refuses the binary; neither memory nor the device is at fault. */
bool lz_native_is_refused(ze_result_t result);
/* The same as the status of a course's attach step. */
enum cmn_status lz_native_status(ze_result_t result);

/* Destroy what no application has seen; NULL is fine. What the driver refuses to destroy is lost either way. */
void lz_module_discard(struct lz_next *next, ze_module_handle_t module);
void lz_log_discard(struct lz_next *next, ze_module_build_log_handle_t log);

/* Bytes of the module's native binary; 0: the driver has none to give. */
size_t lz_native_size(struct lz_next *next, ze_module_handle_t module);
/* Fills room of that size. false: the driver does not give it. */
bool lz_native_read(struct lz_next *next, ze_module_handle_t module, size_t size, uint8_t *room);

/* A module that was just built, of an identified device. */
struct lz_native_built {
	struct lz_next *next;
	ze_driver_handle_t driver;	/* may be NULL */
	ze_device_handle_t device;
	ze_module_handle_t module;
	ze_module_build_log_handle_t log;	/* may be NULL */
};

/* What the observer has to know: flags may be NULL; il is what the module is made of, or the first of several. Borrows. */
struct drv_observer_text lz_native_text(struct cmn_view il, const char *flags);
/* Makes an entry, with the course's manifest, which it takes. Any status but CMN_OK: no entry; the course's bypass may say why. */
CMN_CHECKED enum cmn_status lz_native_capture(struct drv_course *course,
					      const struct lz_native_built *built,
					      struct cc_entry **ret);

/*
 * A new module from a native binary. flags: those that it was built with; NULL:
 * none. If the driver would compile the binary again, from the intermediate
 * language in it, this refuses it (ZE_RESULT_ERROR_INVALID_NATIVE_BINARY). On
 * success *ret_log is the driver's own log, which the caller destroys, or NULL.
 * On failure nothing is left and no output is touched.
 */
ze_result_t lz_native_load(struct lz_next *next, ze_context_handle_t context,
			   ze_device_handle_t device, struct cmn_view native, const char *flags,
			   ze_module_handle_t *ret_module, ze_module_build_log_handle_t *ret_log);

#endif
