/* SPDX-License-Identifier: MIT */
/*
 * test_plugin: a plugin of the slot that replaces three entries and writes the
 * calls that come through them to the file that TEST_PLUGIN_LOG names, one line
 * each. Compiled under several names (PLUGIN_NAME), which show the order, and
 * as one whose getters fail (PLUGIN_FAILS).
 */
#include <fcntl.h>
#include <level_zero/ze_api.h>
#include <level_zero/ze_ddi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

#ifdef PLUGIN_FAILS
#define PLUGIN_STATUS ZE_RESULT_ERROR_UNSUPPORTED_VERSION
#else
#define PLUGIN_STATUS ZE_RESULT_SUCCESS
#endif

/* Appending one short line is one write: threads and plugins do not mix theirs. */
static void write_line(const char *call)
{
	const char *path = getenv("TEST_PLUGIN_LOG");
	char line[128];
	int len = snprintf(line, sizeof(line), PLUGIN_NAME " %s\n", call);
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;

	if (fd < 0 || write(fd, line, (size_t)len) != len)
		abort();
	(void)close(fd);
}

static _Atomic(ze_pfnModuleCreate_t) next_module_create;
static _Atomic(ze_pfnContextCreate_t) next_context_create;
static _Atomic(ze_pfnDeviceGet_t) next_device_get;

static ze_result_t ZE_APICALL module_create(ze_context_handle_t context, ze_device_handle_t device,
					    const ze_module_desc_t *desc,
					    ze_module_handle_t *module,
					    ze_module_build_log_handle_t *log)
{
	write_line("zeModuleCreate");
	return next_module_create(context, device, desc, module, log);
}

static ze_result_t ZE_APICALL context_create(ze_driver_handle_t driver,
					     const ze_context_desc_t *desc,
					     ze_context_handle_t *context)
{
	write_line("zeContextCreate");
	return next_context_create(driver, desc, context);
}

static ze_result_t ZE_APICALL device_get(ze_driver_handle_t driver, uint32_t *count,
					 ze_device_handle_t *devices)
{
	write_line("zeDeviceGet");
	return next_device_get(driver, count, devices);
}

/* A refilled table has the lower entry again; one that is not has this plugin's own. */
#define HOOK(next, entry, own)                       \
	do {                                         \
		if (PLUGIN_STATUS == 0 && (entry) != (own)) { \
			(next) = (entry);            \
			(entry) = (own);             \
		}                                    \
	} while (0)

EXPORT ze_result_t ZE_APICALL zeGetModuleProcAddrTable(ze_api_version_t version,
						       ze_module_dditable_t *table)
{
	(void)version;
	HOOK(next_module_create, table->pfnCreate, module_create);
	return PLUGIN_STATUS;
}

EXPORT ze_result_t ZE_APICALL zeGetContextProcAddrTable(ze_api_version_t version,
							ze_context_dditable_t *table)
{
	(void)version;
	HOOK(next_context_create, table->pfnCreate, context_create);
	return PLUGIN_STATUS;
}

EXPORT ze_result_t ZE_APICALL zeGetDeviceProcAddrTable(ze_api_version_t version,
						       ze_device_dditable_t *table)
{
	(void)version;
	HOOK(next_device_get, table->pfnGet, device_get);
	return PLUGIN_STATUS;
}
