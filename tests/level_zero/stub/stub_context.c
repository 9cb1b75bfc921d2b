/* SPDX-License-Identifier: MIT */
/* stub_context: the stub driver's contexts. They hold nothing. */
#include "tests/level_zero/stub/stub.h"

static ze_result_t create(const ze_context_desc_t *desc, ze_context_handle_t *ret)
{
	if (!desc || !ret)
		return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
	stub_event("context-create");
	*ret = stub_object_new(STUB_CONTEXT, 1);
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL stub_zeContextCreate(ze_driver_handle_t driver, const ze_context_desc_t *desc,
					    ze_context_handle_t *ret)
{
	if (!stub_object_check(driver, STUB_DRIVER, "zeContextCreate"))
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	return create(desc, ret);
}

ze_result_t ZE_APICALL stub_zeContextCreateEx(ze_driver_handle_t driver,
					      const ze_context_desc_t *desc, uint32_t count,
					      ze_device_handle_t *devices, ze_context_handle_t *ret)
{
	if (!stub_object_check(driver, STUB_DRIVER, "zeContextCreateEx"))
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	if (!devices && count)
		return ZE_RESULT_ERROR_INVALID_SIZE;
	for (uint32_t i = 0; i < count; i++)
		if (!stub_object_check(devices[i], STUB_DEVICE, "zeContextCreateEx"))
			return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	return create(desc, ret);
}

ze_result_t ZE_APICALL stub_zeContextDestroy(ze_context_handle_t handle)
{
	if (!stub_object_end(handle, STUB_CONTEXT, "zeContextDestroy"))
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	stub_event("context-destroy");
	return ZE_RESULT_SUCCESS;
}
