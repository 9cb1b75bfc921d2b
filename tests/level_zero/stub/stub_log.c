/* SPDX-License-Identifier: MIT */
/* stub_log: the stub driver's build logs, also of linking. */
#include "tests/level_zero/stub/stub.h"

struct log {
	struct stub_text text;
};

ze_module_build_log_handle_t stub_log_new(struct stub_text text)
{
	struct log *log = stub_object_new(STUB_LOG, sizeof(*log));

	log->text = text;
	stub_event("log-create");
	return (ze_module_build_log_handle_t)log;
}

ze_result_t ZE_APICALL stub_zeModuleBuildLogDestroy(ze_module_build_log_handle_t handle)
{
	struct log *log = (struct log *)handle;

	if (!stub_object_end(handle, STUB_LOG, "zeModuleBuildLogDestroy"))
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	stub_event("log-destroy");
	free(log->text.data);
	log->text = (struct stub_text){ 0 };
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL stub_zeModuleBuildLogGetString(ze_module_build_log_handle_t handle,
						      size_t *size, char *ret)
{
	const struct log *log = (const struct log *)handle;
	size_t needed;

	if (!stub_object_check(handle, STUB_LOG, "zeModuleBuildLogGetString"))
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	if (!size)
		return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
	needed = log->text.len + !stub_is_set("STUB_EMPTY_LOG");	/* not even its end */
	if (ret && *size < needed) {
		/* The real driver would write past the end. */
		stub_event("short-buffer zeModuleBuildLogGetString");
		return ZE_RESULT_ERROR_INVALID_SIZE;
	}
	if (ret) {
		memcpy(ret, log->text.data ? log->text.data : "", needed);
		stub_event("log-get");
	}
	*size = needed;
	return ZE_RESULT_SUCCESS;
}
