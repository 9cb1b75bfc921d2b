/* SPDX-License-Identifier: MIT */
/*
 * stub_device: the stub driver itself and its one device with two sub-devices. As
 * with the real driver, the driver's uuid is another one in each process, and
 * tells nothing.
 */
#include "tests/level_zero/stub/stub.h"

#define SUB_DEVICES 2

struct driver {
	ze_driver_uuid_t uuid;
};

struct device {
	uint32_t number;	/* of a sub-device, from 1; 0: the device */
};

/* Of ZE_extension_device_ip_version 1.0; older headers lack it. */
#define IP_VERSION "ZE_extension_device_ip_version"
struct ip_version {
	ze_structure_type_t stype;	/* 0x1000f */
	struct ip_version *next;
	uint32_t value;
};

/* Written once, by the first zeInit, and then only read. */
static struct {
	struct driver *driver;
	struct device *devices[1 + SUB_DEVICES];
} all;
static pthread_once_t all_once = PTHREAD_ONCE_INIT;

static void make_all(void)
{
	uint64_t start[2] = { (uint64_t)getpid(), (uint64_t)time(NULL) * 2 + STUB_INDEX };
	struct driver *driver = stub_object_new(STUB_DRIVER, sizeof(*driver));

	memcpy(driver->uuid.id, start, sizeof(driver->uuid.id));
	for (uint32_t i = 0; i <= SUB_DEVICES; i++) {
		all.devices[i] = stub_object_new(STUB_DEVICE, sizeof(*all.devices[i]));
		all.devices[i]->number = i;
	}
	all.driver = driver;
}

/* STUB_STEPPING: the driver tells the device's version by the extension. 0: it does not have that. */
static uint32_t stepping(void)
{
	return (uint32_t)stub_number("STUB_STEPPING", 0);
}

/* STUB_PCI: the bus that the board is on. 0: the driver does not tell. */
static uint32_t pci_bus(void)
{
	return (uint32_t)stub_number("STUB_PCI", 0);
}

static bool driver_is_good(ze_driver_handle_t handle, const char *call)
{
	return stub_object_check(handle, STUB_DRIVER, call);
}

/* How every call that lists handles works. */
static ze_result_t answer(uint32_t *count, void *handles, void *const *list, uint32_t total)
{
	if (!count)
		return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
	for (uint32_t i = 0; handles && i < total && i < *count; i++)
		((void **)handles)[i] = list[i];
	if (!*count || *count > total)
		*count = total;
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL stub_zeInit(ze_init_flags_t flags)
{
	if (flags & ~(ze_init_flags_t)(ZE_INIT_FLAG_GPU_ONLY | ZE_INIT_FLAG_VPU_ONLY))
		return ZE_RESULT_ERROR_INVALID_ENUMERATION;
	if (flags == ZE_INIT_FLAG_VPU_ONLY)
		return ZE_RESULT_ERROR_UNINITIALIZED;
	(void)pthread_once(&all_once, make_all);	/* cannot fail */
	stub_event("init");
	if (!stub_is_set("STUB_LAZY_COMPILER") && !stub_library_revision())
		return ZE_RESULT_ERROR_UNINITIALIZED;
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL stub_zeDriverGet(uint32_t *count, ze_driver_handle_t *handles)
{
	void *list[] = { all.driver };

	return all.driver ? answer(count, handles, list, 1) : ZE_RESULT_ERROR_UNINITIALIZED;
}

#ifdef STUB_HAS_INIT_DRIVERS
ze_result_t ZE_APICALL stub_zeInitDrivers(uint32_t *count, ze_driver_handle_t *handles,
					  ze_init_driver_type_desc_t *desc)
{
	ze_result_t status;

	if (!desc || !count)
		return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
	if (!(desc->flags & ZE_INIT_DRIVER_TYPE_FLAG_GPU))
		return ZE_RESULT_ERROR_UNINITIALIZED;
	status = stub_zeInit(0);
	return status ? status : stub_zeDriverGet(count, handles);
}
#endif

ze_result_t ZE_APICALL stub_zeDriverGetApiVersion(ze_driver_handle_t handle, ze_api_version_t *ret)
{
	if (!driver_is_good(handle, "zeDriverGetApiVersion"))
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	if (!ret)
		return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
	*ret = stub_changed("api") ? ZE_API_VERSION_1_2 : ZE_API_VERSION_1_3;
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL stub_zeDriverGetProperties(ze_driver_handle_t handle, ze_driver_properties_t *ret)
{
	char epoch[64];

	if (!driver_is_good(handle, "zeDriverGetProperties"))
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	if (!ret)
		return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
	(void)stub_setting("STUB_EPOCH", epoch, sizeof(epoch));	/* empty is one too */
	ret->uuid = all.driver->uuid;
	ret->driverVersion = 0x01030000 | (uint32_t)(stub_hash(epoch, strlen(epoch)) & 0xffff);
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL
stub_zeDriverGetExtensionProperties(ze_driver_handle_t handle, uint32_t *count, ze_driver_extension_properties_t *ret)
{
	const struct {
		const char *name;
		uint32_t version;
		bool there;
	} all_of_them[] = {
		{ ZE_MODULE_PROGRAM_EXP_NAME, ZE_MODULE_PROGRAM_EXP_VERSION_CURRENT, true },
		{ IP_VERSION, ZE_MAKE_VERSION(1, 0), stepping() },
		{ ZE_PCI_PROPERTIES_EXT_NAME, ZE_PCI_PROPERTIES_EXT_VERSION_CURRENT, pci_bus() },
	};
	uint32_t room;

	if (!driver_is_good(handle, "zeDriverGetExtensionProperties"))
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	if (!count)
		return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
	room = *count;
	*count = 0;
	for (size_t i = 0; i < sizeof(all_of_them) / sizeof(all_of_them[0]); i++) {
		if (!all_of_them[i].there)
			continue;
		if (*count < room && ret) {
			(void)snprintf(ret[*count].name, sizeof(ret->name), "%s", all_of_them[i].name);
			ret[*count].version = all_of_them[i].version;
		}
		++*count;
	}
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL stub_zeDriverGetExtensionFunctionAddress(ze_driver_handle_t handle, const char *name, void **ret)
{
	if (!driver_is_good(handle, "zeDriverGetExtensionFunctionAddress"))
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	if (!name || !ret)
		return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
	return ZE_RESULT_ERROR_INVALID_ARGUMENT;	/* there is none, as the real driver says it */
}

/* Another one for each call. */
ze_context_handle_t ZE_APICALL stub_zerGetDefaultContext(void)
{
	const ze_context_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	ze_context_handle_t context = NULL;

	(void)stub_zeContextCreate((ze_driver_handle_t)all.driver, &desc, &context);	/* NULL: it failed */
	return context;
}

ze_result_t ZE_APICALL stub_zeDeviceGet(ze_driver_handle_t handle, uint32_t *count, ze_device_handle_t *handles)
{
	void *list[] = { all.devices[0] };

	if (!driver_is_good(handle, "zeDeviceGet"))
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	return answer(count, handles, list, 1);
}

ze_result_t ZE_APICALL stub_zeDeviceGetSubDevices(ze_device_handle_t handle, uint32_t *count,
						  ze_device_handle_t *handles)
{
	void *list[SUB_DEVICES];

	if (!stub_object_check(handle, STUB_DEVICE, "zeDeviceGetSubDevices"))
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	for (uint32_t i = 0; i < SUB_DEVICES; i++)
		list[i] = all.devices[1 + i];
	return answer(count, handles, list, ((struct device *)handle)->number ? 0 :
		      SUB_DEVICES - stub_changed("sub_devices"));
}

ze_result_t ZE_APICALL stub_zeDeviceGetProperties(ze_device_handle_t handle, ze_device_properties_t *ret)
{
	const struct device *device = (const struct device *)handle;

	if (!stub_object_check(handle, STUB_DEVICE, "zeDeviceGetProperties"))
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	if (!ret)
		return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
	if (stub_is_set("STUB_SILENT"))
		return ZE_RESULT_ERROR_UNINITIALIZED;
	if (ret->pNext && stepping())	/* of the one structure that anybody puts there */
		((struct ip_version *)ret->pNext)->value = stepping();
	*ret = (ze_device_properties_t){
		.stype = ret->stype,
		.pNext = ret->pNext,
		.type = stub_changed("type") ? ZE_DEVICE_TYPE_FPGA : ZE_DEVICE_TYPE_GPU,
		.vendorId = 0x5755 + stub_changed("vendor_id"),
		.deviceId = 0x5700 + STUB_INDEX + stub_changed("id"),
		.flags = (device->number ? ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE : 0) |
			 (stub_changed("flags") ? ZE_DEVICE_PROPERTY_FLAG_ECC : 0),
		.subdeviceId = device->number ? device->number - 1 : 0,
		.coreClockRate = 1000,
		.maxMemAllocSize = 1u << 30,
		.maxHardwareContexts = 64,
		.numThreadsPerEU = 8 + stub_changed("threads"),
		.physicalEUSimdWidth = 8 + stub_changed("simd_width"),
		.numEUsPerSubslice = 8 * STUB_INDEX + stub_changed("eus"),
		.numSubslicesPerSlice = 4 + stub_changed("subslices"),
		.numSlices = (device->number ? 1 : SUB_DEVICES) + stub_changed("slices"),
		.timerResolution = 80,
		.timestampValidBits = 36,
		.kernelTimestampValidBits = 32,
	};
	(void)snprintf((char *)ret->uuid.id, sizeof(ret->uuid.id), "%u %s device", device->number +
		       10 * stub_changed("uuid"), STUB_PRODUCT);
	(void)snprintf(ret->name, sizeof(ret->name), "Stub GPU %d%s", STUB_INDEX, stub_changed("name") ? " other" : "");
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL stub_zeDevicePciGetPropertiesExt(ze_device_handle_t handle, ze_pci_ext_properties_t *ret)
{
	if (!stub_object_check(handle, STUB_DEVICE, "zeDevicePciGetPropertiesExt"))
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	if (!ret)
		return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
	if (!pci_bus())
		return ZE_RESULT_ERROR_UNINITIALIZED;
	ret->address = (ze_pci_address_ext_t){ .bus = pci_bus() };
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL stub_zeDeviceGetModuleProperties(ze_device_handle_t handle, ze_device_module_properties_t *ret)
{
	if (!stub_object_check(handle, STUB_DEVICE, "zeDeviceGetModuleProperties"))
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	if (!ret)
		return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
	*ret = (ze_device_module_properties_t){
		.stype = ret->stype,
		.pNext = ret->pNext,
		.spirvVersionSupported = ZE_MAKE_VERSION(1, stub_changed("spirv") ? 3 : 2),
		.flags = ZE_DEVICE_MODULE_FLAG_FP16 |
			 (stub_changed("module_flags") ? 0 : ZE_DEVICE_MODULE_FLAG_FP64),
		.fp16flags = stub_changed("fp16") ? ZE_DEVICE_FP_FLAG_FMA : 0,
		.fp32flags = ZE_DEVICE_FP_FLAG_ROUND_TO_NEAREST |
			     (stub_changed("fp32") ? 0 : ZE_DEVICE_FP_FLAG_FMA),
		.fp64flags = stub_changed("fp64") ? ZE_DEVICE_FP_FLAG_FMA : 0,
		.maxArgumentsSize = 2048 + stub_changed("max_arguments"),
		.printfBufferSize = (1u << 20) + stub_changed("printf_buffer"),
	};
	(void)snprintf((char *)ret->nativeKernelSupported.id, sizeof(ret->nativeKernelSupported.id),
		       "%s%s", stub_changed("native") ? "other" : "native", STUB_PRODUCT);
	return ZE_RESULT_SUCCESS;
}
