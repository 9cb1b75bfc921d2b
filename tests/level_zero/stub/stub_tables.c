/* SPDX-License-Identifier: MIT */
/*
 * stub_tables: which entry points of the stub driver go into which table.
 * Entries that it does not have stay as they are, NULL in a loader's table.
 */
#include <level_zero/ze_ddi.h>

#include "tests/level_zero/stub/stub.h"

static void fill_global(ze_global_dditable_t *table, uint32_t version)
{
	table->pfnInit = stub_zeInit;
#ifdef STUB_HAS_INIT_DRIVERS
	if (version >= ZE_MAKE_VERSION(1, 10))
		table->pfnInitDrivers = stub_zeInitDrivers;
#else
	(void)version;
#endif
}

static void fill_driver(ze_driver_dditable_t *table)
{
	table->pfnGet = stub_zeDriverGet;
	table->pfnGetApiVersion = stub_zeDriverGetApiVersion;
	table->pfnGetProperties = stub_zeDriverGetProperties;
	table->pfnGetExtensionProperties = stub_zeDriverGetExtensionProperties;
	table->pfnGetExtensionFunctionAddress = stub_zeDriverGetExtensionFunctionAddress;
}

/* Older headers have no such table. */
struct runtime_table {
	void *others[3];
	__typeof__(&stub_zerGetDefaultContext) pfnGetDefaultContext;
};

static void fill_runtime(struct runtime_table *table, uint32_t version)
{
	if (version < ZE_MAKE_VERSION(1, 14))
		return;
	table->pfnGetDefaultContext = stub_zerGetDefaultContext;
}

static void fill_device(ze_device_dditable_t *table, uint32_t version)
{
	table->pfnGet = stub_zeDeviceGet;
	table->pfnGetSubDevices = stub_zeDeviceGetSubDevices;
	table->pfnGetProperties = stub_zeDeviceGetProperties;
	table->pfnGetModuleProperties = stub_zeDeviceGetModuleProperties;
	if (version >= ZE_API_VERSION_1_3)
		table->pfnPciGetPropertiesExt = stub_zeDevicePciGetPropertiesExt;
}

static void fill_context(ze_context_dditable_t *table, uint32_t version)
{
	table->pfnCreate = stub_zeContextCreate;
	table->pfnDestroy = stub_zeContextDestroy;
	if (version >= ZE_API_VERSION_1_1)
		table->pfnCreateEx = stub_zeContextCreateEx;
}

static void fill_module(ze_module_dditable_t *table)
{
	table->pfnCreate = stub_zeModuleCreate;
	table->pfnDestroy = stub_zeModuleDestroy;
	table->pfnGetNativeBinary = stub_zeModuleGetNativeBinary;
	table->pfnGetKernelNames = stub_zeModuleGetKernelNames;
}

static void fill_log(ze_module_build_log_dditable_t *table)
{
	table->pfnDestroy = stub_zeModuleBuildLogDestroy;
	table->pfnGetString = stub_zeModuleBuildLogGetString;
}

void stub_tables_fill(const char *getter, uint32_t version, void *table)
{
	if (!strcmp(getter, "zeGetGlobalProcAddrTable"))
		fill_global(table, version);
	else if (!strcmp(getter, "zeGetDriverProcAddrTable"))
		fill_driver(table);
	else if (!strcmp(getter, "zerGetGlobalProcAddrTable"))
		fill_runtime(table, version);
	else if (!strcmp(getter, "zeGetDeviceProcAddrTable"))
		fill_device(table, version);
	else if (!strcmp(getter, "zeGetContextProcAddrTable"))
		fill_context(table, version);
	else if (!strcmp(getter, "zeGetModuleProcAddrTable"))
		fill_module(table);
	else if (!strcmp(getter, "zeGetModuleBuildLogProcAddrTable"))
		fill_log(table);
}
