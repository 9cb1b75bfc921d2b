/* SPDX-License-Identifier: MIT */
/*
 * ddi: the getters by which a loader lets the plugin into its tables (Level
 * Zero loader, "DDI"), and every call that the plugin intercepts. A getter is
 * called many times, with one table refilled and with different tables, and
 * from several threads. The tables only ever grew at their ends: an entry is
 * touched if the version asked for has it, and the rest is left alone.
 */
#include "layers/level_zero/plugin/handles.h"
#include "layers/level_zero/plugin/getters.h"
#include "layers/level_zero/plugin/module_desc.h"
#include "layers/level_zero/plugin/module.h"

/* Each intercepted call: its type, its member of struct lz_next, the hook, and with what it is called. */
#define CALLS(_, n)                                                                          \
	_(n, ze_pfnModuleCreate_t, module_create, lz_module_create,                          \
	  (ze_context_handle_t context, ze_device_handle_t device,                           \
	   const ze_module_desc_t *desc, ze_module_handle_t *module,                         \
	   ze_module_build_log_handle_t *log),                                               \
	  context, device, desc, module, log)                                                \
	_(n, ze_pfnModuleBuildLogGetString_t, log_get_string, lz_module_log_get,             \
	  (ze_module_build_log_handle_t log, size_t *size, char *text), log, size, text)     \
	_(n, ze_pfnModuleBuildLogDestroy_t, log_destroy, lz_module_log_destroy,              \
	  (ze_module_build_log_handle_t log), log)                                           \
	_(n, ze_pfnContextCreate_t, context_create, lz_context_create,                       \
	  (ze_driver_handle_t driver, const ze_context_desc_t *desc,                         \
	   ze_context_handle_t *context),                                                    \
	  driver, desc, context)                                                             \
	_(n, ze_pfnContextCreateEx_t, context_create_ex, lz_context_create_ex,               \
	  (ze_driver_handle_t driver, const ze_context_desc_t *desc, uint32_t count,         \
	   ze_device_handle_t *devices, ze_context_handle_t *context),                       \
	  driver, desc, count, devices, context)                                             \
	_(n, ze_pfnContextDestroy_t, context_destroy, lz_context_destroy,                    \
	  (ze_context_handle_t context), context)                                            \
	_(n, ze_pfnDriverGetExtensionFunctionAddress_t, driver_get_function,                 \
	  lz_ckcache_get_function, (ze_driver_handle_t driver, const char *name, void **ret), \
	  driver, name, ret)

/*
 * The hooks, once for each of lz_nexts: a handle does not tell which loader it
 * is of, but the function that was called does.
 */
#define DEFINE(n, type, member, hook, parameters, ...)                                       \
	static ze_result_t ZE_APICALL member##_##n parameters                                \
	{                                                                                    \
		return hook(&lz_nexts[n], __VA_ARGS__);                                      \
	}
CALLS(DEFINE, 0)
CALLS(DEFINE, 1)
CALLS(DEFINE, 2)
CALLS(DEFINE, 3)

#define LIST(n, type, member, ...)                                                           \
	static const type member[LZ_NEXTS] = {                                               \
		member##_0, member##_1, member##_2, member##_3,                              \
	};
CALLS(LIST, )

/* Notes what is only called and not intercepted. */
#define SAVE(entry, member)                                                              \
	do {                                                                             \
		struct lz_next *next_ = lz_next_of((const void *)(entry));               \
		if (next_)                                                               \
			atomic_store(&next_->member, (entry));                           \
	} while (0)

/* Notes the entry and puts the hook in its place, unless it is there from the last time. */
#define HOOK(entry, member)                                                              \
	do {                                                                             \
		struct lz_next *next_ = lz_next_of((const void *)(entry));               \
		if (next_) {                                                             \
			atomic_store(&next_->member, (entry));                           \
			(entry) = (member)[next_ - lz_nexts];                            \
		}                                                                        \
	} while (0)

/* Whether a table is to be touched at all. */
static bool wanted(ze_api_version_t version, const void *table)
{
	return table && ZE_MAJOR_VERSION(version) == 1 && lz_plugin_cache();
}

ze_result_t ckcache_zeGetModuleProcAddrTable(ze_api_version_t version, void *ctx)
{
	ze_module_dditable_t *table = ctx;

	if (!wanted(version, table))
		return ZE_RESULT_SUCCESS;
	SAVE(table->pfnGetNativeBinary, module_get_native);
	SAVE(table->pfnDestroy, module_destroy);
	HOOK(table->pfnCreate, module_create);
	return ZE_RESULT_SUCCESS;
}

ze_result_t ckcache_zeGetModuleBuildLogProcAddrTable(ze_api_version_t version, void *ctx)
{
	ze_module_build_log_dditable_t *table = ctx;

	if (!wanted(version, table))
		return ZE_RESULT_SUCCESS;
	HOOK(table->pfnGetString, log_get_string);
	HOOK(table->pfnDestroy, log_destroy);
	return ZE_RESULT_SUCCESS;
}

ze_result_t ckcache_zeGetContextProcAddrTable(ze_api_version_t version, void *ctx)
{
	ze_context_dditable_t *table = ctx;

	if (!wanted(version, table))
		return ZE_RESULT_SUCCESS;
	HOOK(table->pfnCreate, context_create);
	HOOK(table->pfnDestroy, context_destroy);
	if (version >= ZE_API_VERSION_1_1)
		HOOK(table->pfnCreateEx, context_create_ex);
	return ZE_RESULT_SUCCESS;
}

ze_result_t ckcache_zeGetDeviceProcAddrTable(ze_api_version_t version, void *ctx)
{
	ze_device_dditable_t *table = ctx;

	if (!wanted(version, table))
		return ZE_RESULT_SUCCESS;
	SAVE(table->pfnGetSubDevices, device_get_sub_devices);
	SAVE(table->pfnGetProperties, device_get_properties);
	SAVE(table->pfnGetModuleProperties, device_get_module_properties);
	if (version >= ZE_API_VERSION_1_3)
		SAVE(table->pfnPciGetPropertiesExt, device_get_pci);
	return ZE_RESULT_SUCCESS;
}

ze_result_t ckcache_zeGetDriverProcAddrTable(ze_api_version_t version, void *ctx)
{
	ze_driver_dditable_t *table = ctx;

	if (!wanted(version, table))
		return ZE_RESULT_SUCCESS;
	SAVE(table->pfnGetProperties, driver_get_properties);
	SAVE(table->pfnGetApiVersion, driver_get_api_version);
	SAVE(table->pfnGetExtensionProperties, driver_get_extensions);
	if (version >= ZE_API_VERSION_1_1)
		HOOK(table->pfnGetExtensionFunctionAddress, driver_get_function);
	return ZE_RESULT_SUCCESS;
}
