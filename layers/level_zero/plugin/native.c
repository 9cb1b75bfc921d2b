/* SPDX-License-Identifier: MIT */
/* native: reading and loading, and what the driver's log says that it did. */
#include "layers/level_zero/plugin/native.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layers/level_zero/plugin/names.h"
#include "layers/shared/course/failure.h"

bool lz_is_out_of_memory(ze_result_t result)
{
	return result == ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY ||
	       result == ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
}

enum drv_outcome lz_outcome(ze_result_t result)
{
	if (result == ZE_RESULT_SUCCESS)
		return DRV_BUILT;
	return lz_is_out_of_memory(result) ? DRV_OUT_OF_MEMORY : DRV_ERROR;
}

char *lz_native_failure(ze_result_t result)
{
	const char *words = result == ZE_RESULT_ERROR_MODULE_BUILD_FAILURE ? "error: the module does not build" :
			    result == ZE_RESULT_ERROR_MODULE_LINK_FAILURE ? "error: the module does not link" : "";
	char code[16];

	(void)snprintf(code, sizeof(code), "0x%x", (unsigned int)result);	/* it fits */
	return drv_failure_text(code, cmn_view_of(words));
}

bool lz_native_is_refused(ze_result_t result)
{
	return result != ZE_RESULT_SUCCESS && !lz_is_out_of_memory(result) &&
	       result != ZE_RESULT_ERROR_DEVICE_LOST;
}

enum cmn_status lz_native_status(ze_result_t result)
{
	if (result == ZE_RESULT_SUCCESS)
		return CMN_OK;
	return lz_native_is_refused(result) ? CMN_ERR_DRIVER : CMN_ERR_NOMEM;
}

void lz_module_discard(struct lz_next *next, ze_module_handle_t module)
{
	ze_pfnModuleDestroy_t destroy = LZ_NEXT_FIND(next, module_destroy);

	if (module && destroy)
		(void)destroy(module);	/* see above */
}

void lz_log_discard(struct lz_next *next, ze_module_build_log_handle_t log)
{
	ze_pfnModuleBuildLogDestroy_t destroy = LZ_NEXT_FIND(next, log_destroy);

	if (log && destroy)
		(void)destroy(log);	/* likewise */
}

/* The log's text with its terminator; an empty buffer where there is none to be had. */
static struct cmn_buffer read_log(struct lz_next *next, ze_module_build_log_handle_t log)
{
	ze_pfnModuleBuildLogGetString_t get = LZ_NEXT_FIND(next, log_get_string);
	struct cmn_buffer text = { 0 };
	size_t size = 0;

	if (!log || !get || get(log, &size, NULL) != ZE_RESULT_SUCCESS || !size ||
	    !cmn_buffer_reserve(&text, size + 1))
		return text;
	if (get(log, &size, (char *)text.data) == ZE_RESULT_SUCCESS) {
		text.data[size] = '\0';
		text.len = strlen((const char *)text.data) + 1;
	}
	return text;
}

size_t lz_native_size(struct lz_next *next, ze_module_handle_t module)
{
	ze_pfnModuleGetNativeBinary_t get = LZ_NEXT_FIND(next, module_get_native);
	size_t size = 0;

	return get && get(module, &size, NULL) == ZE_RESULT_SUCCESS ? size : 0;
}

bool lz_native_read(struct lz_next *next, ze_module_handle_t module, size_t size, uint8_t *room)
{
	return LZ_NEXT_FIND(next, module_get_native)(module, &size, room) == ZE_RESULT_SUCCESS;
}

static enum cmn_status add_native(struct lz_next *next, ze_module_handle_t module,
				  struct cc_entry *entry)
{
	size_t size = lz_native_size(next, module);
	uint8_t *room;

	if (!size)
		return CMN_MISS;
	room = cc_entry_add_room(entry, CC_TAG_IMAGE, 0, size);
	if (!room)
		return CMN_ERR_NOMEM;
	return lz_native_read(next, module, size, room) ? CMN_OK : CMN_MISS;
}

static enum cmn_status fill(const struct lz_native_built *built, struct cc_entry *entry)
{
	enum cmn_status status = add_native(built->next, built->module, entry);
	struct cmn_buffer text;

	if (status != CMN_OK)
		return status;
	text = read_log(built->next, built->log);
	if (text.len)
		cc_entry_add(entry, LZ_TAG_LOG, 0, text.data, text.len);
	cmn_buffer_release(&text);
	lz_names_learn(built->next, built->driver, built->device, built->module, entry);
	return CMN_OK;
}

struct drv_observer_text lz_native_text(struct cmn_view il, const char *flags)
{
	/* What is compiled includes nothing: nobody need have looked for a file. */
	return (struct drv_observer_text){ .options = flags, .source = il };
}

enum cmn_status lz_native_capture(struct drv_course *course, const struct lz_native_built *built,
				  struct cc_entry **ret)
{
	struct cc_entry *entry = cc_entry_new(course->build_ns);
	enum cmn_status status = entry ? fill(built, entry) : CMN_ERR_NOMEM;

	if (status == CMN_MISS)
		course->bypass = "no-binary";
	if (status == CMN_OK) {
		status = cc_entry_finish(entry, course->manifest);
		course->manifest = NULL;
	}
	if (status == CMN_OK)
		*ret = entry;
	else
		cc_entry_unref(entry);
	return status;
}

/* A native of another driver version is compiled again from what it carries, with a warning (NEO: -Wrecompiled-from-ir). */
static bool was_recompiled(struct lz_next *next, ze_module_build_log_handle_t log)
{
	struct cmn_buffer text = read_log(next, log);
	bool recompiled = text.len && strstr((const char *)text.data, "recompiled-from-ir");

	cmn_buffer_release(&text);
	return recompiled;
}

/* The flags without the one that keeps the driver from saying so; heap, NULL: they do not have it. */
static char *flags_that_warn(const char *flags)
{
	static const char silent[] = "-Wno-recompiled-from-ir";
	char *copy = flags && strstr(flags, silent) ? strdup(flags) : NULL;

	for (char *at = copy ? strstr(copy, silent) : NULL; at; at = strstr(at, silent))
		memset(at, ' ', sizeof(silent) - 1);
	return copy;
}

ze_result_t lz_native_load(struct lz_next *next, ze_context_handle_t context,
			   ze_device_handle_t device, struct cmn_view native, const char *flags,
			   ze_module_handle_t *ret_module, ze_module_build_log_handle_t *ret_log)
{
	char *warning = flags_that_warn(flags);
	const ze_module_desc_t desc = {
		.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
		.format = ZE_MODULE_FORMAT_NATIVE,
		.inputSize = native.len,
		.pInputModule = native.data,
		/* They say more than what to compile: what to export, what to measure. */
		.pBuildFlags = warning ? warning : flags,
	};
	ze_module_build_log_handle_t log = NULL;
	ze_module_handle_t module = NULL;
	ze_result_t result = LZ_NEXT_FIND(next, module_create)(context, device, &desc, &module,
							       &log);

	free(warning);
	/* With several drivers loaders leave a failed call's log unwrapped: it may not be touched. */
	if (result != ZE_RESULT_SUCCESS)
		return result;
	if (was_recompiled(next, log)) {
		lz_log_discard(next, log);
		lz_module_discard(next, module);
		return ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
	}
	*ret_module = module;
	*ret_log = log;
	return ZE_RESULT_SUCCESS;
}
