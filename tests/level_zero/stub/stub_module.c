/* SPDX-License-Identifier: MIT */
/* stub_module: modules of the stub driver, from creation to destruction, and what they answer. */
#include "tests/level_zero/stub/stub.h"

static struct stub_module *module_of(ze_module_handle_t handle, const char *call)
{
	return stub_object_check(handle, STUB_MODULE, call) ? (struct stub_module *)handle : NULL;
}

ze_result_t ZE_APICALL stub_zeModuleCreate(ze_context_handle_t context, ze_device_handle_t device,
					   const ze_module_desc_t *desc,
					   ze_module_handle_t *ret_module,
					   ze_module_build_log_handle_t *ret_log)
{
	struct stub_text native = { 0 }, log = { 0 };
	struct stub_image image = { 0 };
	struct stub_module *module;
	ze_result_t status;

	if (!stub_object_check(context, STUB_CONTEXT, "zeModuleCreate") ||
	    !stub_object_check(device, STUB_DEVICE, "zeModuleCreate"))
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	if (!desc || !ret_module)
		return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
	if (desc->stype != ZE_STRUCTURE_TYPE_MODULE_DESC)
		stub_event("bad-stype zeModuleCreate");
	status = stub_translate(desc, &image, &native, &log);
	/* As the real driver: a failure has a log too, and leaves the module's handle as it was. */
	if (ret_log)
		*ret_log = stub_log_new(log);
	else
		free(log.data);
	if (status)
		return status;
	module = stub_object_new(STUB_MODULE, sizeof(*module));
	module->image = image;
	module->native = native;
	stub_event("module-create");
	*ret_module = (ze_module_handle_t)module;
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL stub_zeModuleDestroy(ze_module_handle_t handle)
{
	struct stub_module *module = (struct stub_module *)handle;

	if (!stub_object_end(handle, STUB_MODULE, "zeModuleDestroy"))
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	stub_event("module-destroy");
	stub_image_release(&module->image);
	free(module->native.data);
	module->native = (struct stub_text){ 0 };
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL stub_zeModuleGetNativeBinary(ze_module_handle_t handle, size_t *size,
						    uint8_t *ret)
{
	const struct stub_module *module = module_of(handle, "zeModuleGetNativeBinary");
	size_t len;

	if (!module)
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	if (!size)
		return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
	len = stub_is_set("STUB_NO_NATIVE") ? 0 : module->native.len;
	if (ret && *size < len) {
		/* The real driver would write past the end. */
		stub_event("short-buffer zeModuleGetNativeBinary");
		return ZE_RESULT_ERROR_INVALID_SIZE;
	}
	if (stub_is_set("STUB_NATIVE_FAILS") || (ret && stub_is_set("STUB_NATIVE_UNREAD")))
		return ZE_RESULT_ERROR_UNKNOWN;
	if (ret && len) {
		memcpy(ret, module->native.data, len);
		stub_event("get-native");
	}
	*size = len;
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL stub_zeModuleGetKernelNames(ze_module_handle_t handle, uint32_t *count,
						   const char **names)
{
	const struct stub_module *module = module_of(handle, "zeModuleGetKernelNames");
	uint32_t total;

	if (!module)
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	if (!count)
		return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
	total = (uint32_t)module->image.count;
	for (uint32_t i = 0; names && i < total && i < *count; i++)
		names[i] = module->image.kernels[i];
	if (!*count || *count > total)
		*count = total;
	return ZE_RESULT_SUCCESS;
}
