/* SPDX-License-Identifier: MIT */
/* stub_link: dynamic linking of the stub driver's modules, and the inspection of linkage. */
#include "tests/level_zero/stub/stub.h"

static bool is_exported(const char *name, uint32_t count, ze_module_handle_t *handles)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct stub_module *module = (const struct stub_module *)handles[i];

		if (stub_image_find(&module->image, STUB_EXPORT, name) ||
		    stub_image_find(&module->image, STUB_GLOBAL, name))
			return true;
	}
	return false;
}

static ze_result_t check(uint32_t count, ze_module_handle_t *handles, const char *call)
{
	if (!handles)
		return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
	for (uint32_t i = 0; i < count; i++)
		if (!stub_object_check(handles[i], STUB_MODULE, call))
			return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL stub_zeModuleDynamicLink(uint32_t count, ze_module_handle_t *handles,
						ze_module_build_log_handle_t *ret_log)
{
	ze_result_t status = check(count, handles, "zeModuleDynamicLink");
	struct stub_text log = { 0 };

	if (status)
		return status;
	stub_event("link");
	for (uint32_t i = 0; i < count; i++) {
		const struct stub_image *image = &((const struct stub_module *)handles[i])->image;

		for (size_t k = 0; k < image->count; k++) {
			const struct stub_symbol *symbol = &image->symbols[k];

			if (symbol->kind != STUB_IMPORT || is_exported(symbol->name, count, handles))
				continue;
			stub_text_print(&log, "error: unresolved external symbol %s\n", symbol->name);
			status = ZE_RESULT_ERROR_MODULE_LINK_FAILURE;
		}
	}
	for (uint32_t i = 0; !status && i < count; i++)
		atomic_store(&((struct stub_module *)handles[i])->linked, true);
	if (ret_log)
		*ret_log = stub_log_new(log);
	else
		free(log.data);
	return status;
}

static void list(uint32_t count, ze_module_handle_t *handles, int kind, bool unresolved,
		 struct stub_text *log)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct stub_image *image = &((const struct stub_module *)handles[i])->image;

		for (size_t k = 0; k < image->count; k++) {
			const struct stub_symbol *symbol = &image->symbols[k];

			if ((int)symbol->kind == kind &&
			    !(unresolved && is_exported(symbol->name, count, handles)))
				stub_text_print(log, " %s", symbol->name);
		}
	}
	stub_text_print(log, "\n");
}

ze_result_t ZE_APICALL stub_zeModuleInspectLinkageExt(ze_linkage_inspection_ext_desc_t *desc,
						      uint32_t count, ze_module_handle_t *handles,
						      ze_module_build_log_handle_t *ret_log)
{
	ze_result_t status = check(count, handles, "zeModuleInspectLinkageExt");
	struct stub_text log = { 0 };

	if (status)
		return status;
	if (!desc || !ret_log)
		return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
	if (desc->flags & ZE_LINKAGE_INSPECTION_EXT_FLAG_IMPORTS) {
		stub_text_print(&log, "imports:");
		list(count, handles, STUB_IMPORT, false, &log);
	}
	if (desc->flags & ZE_LINKAGE_INSPECTION_EXT_FLAG_UNRESOLVABLE_IMPORTS) {
		stub_text_print(&log, "unresolvable imports:");
		list(count, handles, STUB_IMPORT, true, &log);
	}
	if (desc->flags & ZE_LINKAGE_INSPECTION_EXT_FLAG_EXPORTS) {
		stub_text_print(&log, "exports:");
		list(count, handles, STUB_EXPORT, false, &log);
	}
	*ret_log = stub_log_new(log);
	return ZE_RESULT_SUCCESS;
}
