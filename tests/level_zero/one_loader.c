/* SPDX-License-Identifier: MIT */
/* one_loader: functions as a loader has them, all of which answer ANSWER. */
#include <level_zero/ze_api.h>

#define FUNCTION __attribute__((visibility("default"))) ze_result_t ZE_APICALL

FUNCTION destroy_context(ze_context_handle_t context);
FUNCTION create_module(ze_context_handle_t context, ze_device_handle_t device, const ze_module_desc_t *desc,
		       ze_module_handle_t *module, ze_module_build_log_handle_t *log);

FUNCTION destroy_context(ze_context_handle_t context)
{
	(void)context;
	return ANSWER;
}

FUNCTION create_module(ze_context_handle_t context, ze_device_handle_t device, const ze_module_desc_t *desc,
		       ze_module_handle_t *module, ze_module_build_log_handle_t *log)
{
	(void)context;
	(void)device;
	(void)desc;
	(void)module;
	(void)log;
	return ANSWER;
}
