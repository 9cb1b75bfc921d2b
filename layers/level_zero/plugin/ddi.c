/* SPDX-License-Identifier: MIT */
/*
 * ddi: the getters by which a loader lets the plugin into its tables (Level
 * Zero loader, "DDI"), and every call that the plugin intercepts. A getter is
 * called many times, with one table refilled and with different tables, and
 * from several threads. The tables only ever grew at their ends: an entry is
 * touched if the version asked for has it, and the rest is left alone.
 */
#include "layers/level_zero/plugin/module_info.h"
#include "layers/level_zero/plugin/contexts.h"
#include "layers/level_zero/plugin/getters.h"
#include "layers/level_zero/plugin/module.h"
#include "layers/level_zero/plugin/module_desc.h"
#include "layers/level_zero/plugin/plugin.h"

/*
 * The hooks, once for each of lz_nexts: a handle does not tell which loader it
 * is of, but the function that was called does.
 */
#define HOOKS(n)                                                                             \
	static ze_result_t ZE_APICALL module_create_##n(                                     \
		ze_context_handle_t context, ze_device_handle_t device,                      \
		const ze_module_desc_t *desc, ze_module_handle_t *module,                    \
		ze_module_build_log_handle_t *log)                                           \
	{                                                                                    \
		return lz_module_create(&lz_nexts[n], context, device, desc, module, log);   \
	}                                                                                    \
	static ze_result_t ZE_APICALL module_destroy_##n(ze_module_handle_t module)          \
	{                                                                                    \
		return lz_module_info_destroy_module(&lz_nexts[n], module);                      \
	}                                                                                    \
	static ze_result_t ZE_APICALL module_get_function_##n(                               \
		ze_module_handle_t module, const char *name, void **ret)                     \
	{                                                                                    \
		return lz_module_info_get_function(&lz_nexts[n], module, name, ret);             \
	}                                                                                    \
	static ze_result_t ZE_APICALL module_get_global_##n(                                 \
		ze_module_handle_t module, const char *name, size_t *ret_size, void **ret)   \
	{                                                                                    \
		return lz_module_info_get_global(&lz_nexts[n], module, name, ret_size, ret);     \
	}                                                                                    \
	static ze_result_t ZE_APICALL log_get_string_##n(ze_module_build_log_handle_t log,   \
							 size_t *size, char *text)           \
	{                                                                                    \
		return lz_module_info_get_log(&lz_nexts[n], log, size, text);                    \
	}                                                                                    \
	static ze_result_t ZE_APICALL log_destroy_##n(ze_module_build_log_handle_t log)      \
	{                                                                                    \
		return lz_module_info_destroy_log(&lz_nexts[n], log);                            \
	}                                                                                    \
	static ze_result_t ZE_APICALL context_create_##n(                                    \
		ze_driver_handle_t driver, const ze_context_desc_t *desc,                    \
		ze_context_handle_t *context)                                                \
	{                                                                                    \
		return lz_context_create(&lz_nexts[n], driver, desc, context);               \
	}                                                                                    \
	static ze_result_t ZE_APICALL context_create_ex_##n(                                 \
		ze_driver_handle_t driver, const ze_context_desc_t *desc, uint32_t count,    \
		ze_device_handle_t *devices, ze_context_handle_t *context)                   \
	{                                                                                    \
		return lz_context_create_ex(&lz_nexts[n], driver, desc, count, devices,      \
					    context);                                        \
	}                                                                                    \
	static ze_result_t ZE_APICALL context_destroy_##n(ze_context_handle_t context)       \
	{                                                                                    \
		return lz_context_destroy(&lz_nexts[n], context);                            \
	}                                                                                    \
	static ze_result_t ZE_APICALL driver_get_function_##n(ze_driver_handle_t driver,     \
							      const char *name, void **ret)  \
	{                                                                                    \
		return lz_ckcache_get_function(&lz_nexts[n], driver, name, ret);           \
	}                                                                                    \
	static ze_result_t ZE_APICALL driver_get_last_error_##n(ze_driver_handle_t driver,   \
								const char **ret)    \
	{                                                                                    \
		return lz_module_info_get_last_error(&lz_nexts[n], driver, ret);                 \
	}                                                                                    \
	static ze_result_t ZE_APICALL default_get_last_error_##n(const char **ret)           \
	{                                                                                    \
		return lz_module_info_get_default_error(&lz_nexts[n], ret);                      \
	}

#define EACH(name) { name##_0, name##_1, name##_2, name##_3 }

HOOKS(0)
HOOKS(1)
HOOKS(2)
HOOKS(3)

static const ze_pfnModuleCreate_t module_create[LZ_NEXTS] = EACH(module_create);
static const ze_pfnModuleDestroy_t module_destroy[LZ_NEXTS] = EACH(module_destroy);
static const ze_pfnModuleGetFunctionPointer_t module_get_function[LZ_NEXTS] =
	EACH(module_get_function);
static const ze_pfnModuleGetGlobalPointer_t module_get_global[LZ_NEXTS] = EACH(module_get_global);
static const ze_pfnModuleBuildLogGetString_t log_get_string[LZ_NEXTS] = EACH(log_get_string);
static const ze_pfnModuleBuildLogDestroy_t log_destroy[LZ_NEXTS] = EACH(log_destroy);
static const ze_pfnContextCreate_t context_create[LZ_NEXTS] = EACH(context_create);
static const ze_pfnContextCreateEx_t context_create_ex[LZ_NEXTS] = EACH(context_create_ex);
static const ze_pfnContextDestroy_t context_destroy[LZ_NEXTS] = EACH(context_destroy);
static const ze_pfnDriverGetExtensionFunctionAddress_t driver_get_function[LZ_NEXTS] =
	EACH(driver_get_function);
static const lz_get_last_error_fn driver_get_last_error[LZ_NEXTS] = EACH(driver_get_last_error);
static const lz_get_default_error_fn default_get_last_error[LZ_NEXTS] = EACH(default_get_last_error);

/* Driver tables from 1.6 on; older headers end before their last entry. */
struct driver_table {
	ze_pfnDriverGet_t before[6];
	lz_get_last_error_fn pfnGetLastErrorDescription;
};
_Static_assert(offsetof(struct driver_table, pfnGetLastErrorDescription) ==
		       offsetof(ze_driver_dditable_t, pfnGetExtensionFunctionAddress) +
			       sizeof(ze_pfnDriverGetExtensionFunctionAddress_t),
	       "what 1.6 appended");
#define API_VERSION_1_6 ZE_MAKE_VERSION(1, 6)

/* How tables of the runtime's functions begin; older headers have none. */
struct runtime_table {
	lz_get_default_error_fn pfnGetLastErrorDescription;
};
#define API_VERSION_1_14 ZE_MAKE_VERSION(1, 14)

/* Notes what is only called and not intercepted. */
#define SAVE(entry, member)                                                              \
	do {                                                                             \
		struct lz_next *next_ = lz_next_of((const void *)(entry));               \
		if (next_)                                                               \
			atomic_store(&next_->member, (entry));                           \
	} while (0)

/* Notes the entry and puts the hook in its place, unless it is there from the last time. */
#define HOOK(entry, member, hooks)                                                       \
	do {                                                                             \
		struct lz_next *next_ = lz_next_of((const void *)(entry));               \
		if (next_) {                                                             \
			atomic_store(&next_->member, (entry));                           \
			(entry) = (hooks)[next_ - lz_nexts];                             \
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
	HOOK(table->pfnCreate, module_create, module_create);
	HOOK(table->pfnDestroy, module_destroy, module_destroy);
	HOOK(table->pfnGetGlobalPointer, module_get_global, module_get_global);
	HOOK(table->pfnGetFunctionPointer, module_get_function, module_get_function);
	return ZE_RESULT_SUCCESS;
}

ze_result_t ckcache_zeGetModuleBuildLogProcAddrTable(ze_api_version_t version, void *ctx)
{
	ze_module_build_log_dditable_t *table = ctx;

	if (!wanted(version, table))
		return ZE_RESULT_SUCCESS;
	HOOK(table->pfnGetString, log_get_string, log_get_string);
	HOOK(table->pfnDestroy, log_destroy, log_destroy);
	return ZE_RESULT_SUCCESS;
}

ze_result_t ckcache_zeGetContextProcAddrTable(ze_api_version_t version, void *ctx)
{
	ze_context_dditable_t *table = ctx;

	if (!wanted(version, table))
		return ZE_RESULT_SUCCESS;
	HOOK(table->pfnCreate, context_create, context_create);
	HOOK(table->pfnDestroy, context_destroy, context_destroy);
	if (version >= ZE_API_VERSION_1_1)
		HOOK(table->pfnCreateEx, context_create_ex, context_create_ex);
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
		HOOK(table->pfnGetExtensionFunctionAddress, driver_get_function,
		     driver_get_function);
	if (version >= API_VERSION_1_6)
		HOOK(((struct driver_table *)table)->pfnGetLastErrorDescription,
		     driver_get_last_error, driver_get_last_error);
	return ZE_RESULT_SUCCESS;
}

ze_result_t ckcache_zerGetGlobalProcAddrTable(ze_api_version_t version, void *table)
{
	if (wanted(version, table) && version >= API_VERSION_1_14)
		HOOK(((struct runtime_table *)table)->pfnGetLastErrorDescription,
		     default_get_last_error, default_get_last_error);
	return ZE_RESULT_SUCCESS;
}
