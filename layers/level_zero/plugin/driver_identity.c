/* SPDX-License-Identifier: MIT */
/* driver_identity: properties of device and driver, and the libraries that make up the driver. */
#include "layers/level_zero/plugin/driver_identity.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/env.h"
#include "layers/level_zero/plugin/board.h"
#include "layers/level_zero/plugin/handles.h"

/* Of ZE_extension_device_ip_version 1.0; older headers lack it. */
#define IP_VERSION_EXTENSION "ZE_extension_device_ip_version"
#define STRUCTURE_TYPE_IP_VERSION ((ze_structure_type_t)0x1000f)
struct ip_version {
	ze_structure_type_t stype;
	const void *next;
	uint32_t value;
};

static struct lz_identity *identities;	/* guarded by lz_maps; never shrinks */

static bool has_extension(struct lz_next *next, ze_driver_handle_t driver, const char *name)
{
	ze_pfnDriverGetExtensionProperties_t get = LZ_NEXT_FIND(next, driver_get_extensions);
	ze_driver_extension_properties_t *extensions;
	uint32_t count = 0;
	bool found = false;

	if (!driver || !get || get(driver, &count, NULL) != ZE_RESULT_SUCCESS || !count)
		return false;
	extensions = calloc(count, sizeof(*extensions));
	if (extensions && get(driver, &count, extensions) == ZE_RESULT_SUCCESS) {
		for (uint32_t i = 0; i < count; i++)
			found |= strcmp(extensions[i].name, name) == 0;
	}
	free(extensions);
	return found;
}

static void add_driver(struct cc_key *key, struct lz_next *next, ze_driver_handle_t driver)
{
	ze_pfnDriverGetProperties_t get_properties = LZ_NEXT_FIND(next, driver_get_properties);
	ze_pfnDriverGetApiVersion_t get_api = LZ_NEXT_FIND(next, driver_get_api_version);
	ze_driver_properties_t properties = { .stype = ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES };
	ze_api_version_t api;

	/* Without a known driver its library alone identifies it. */
	if (!driver)
		return;
	if (get_properties && get_properties(driver, &properties) == ZE_RESULT_SUCCESS)
		cc_key_add_u64(key, CC_PART_DEVICE, "driver.version", properties.driverVersion);
	if (get_api && get_api(driver, &api) == ZE_RESULT_SUCCESS)
		cc_key_add_u64(key, CC_PART_DEVICE, "driver.api", api);
}

static void add_properties(struct cc_key *key, const ze_device_properties_t *properties)
{
	const struct {
		const char *name;
		uint64_t value;
	} numbers[] = {
		{ "device.type", properties->type },
		{ "device.vendor_id", properties->vendorId },
		{ "device.id", properties->deviceId },
		{ "device.flags", properties->flags },
		{ "device.sub_device", properties->flags & ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE
					       ? properties->subdeviceId + UINT64_C(1) : 0 },
		{ "device.threads_per_eu", properties->numThreadsPerEU },
		{ "device.simd_width", properties->physicalEUSimdWidth },
		{ "device.eus_per_subslice", properties->numEUsPerSubslice },
		{ "device.subslices_per_slice", properties->numSubslicesPerSlice },
		{ "device.slices", properties->numSlices },
	};

	cc_key_add(key, CC_PART_DEVICE, "device.name", properties->name,
		   strnlen(properties->name, sizeof(properties->name)));
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		cc_key_add_u64(key, CC_PART_DEVICE, numbers[i].name, numbers[i].value);
}

/* false: the driver does not say where the board is, or the kernel not what is there. */
static bool add_revision(struct cc_key *key, struct lz_next *next, ze_driver_handle_t driver,
			 ze_device_handle_t device, const ze_device_properties_t *properties)
{
	ze_pfnDevicePciGetPropertiesExt_t get = LZ_NEXT_FIND(next, device_get_pci);
	ze_pci_ext_properties_t pci = { .stype = ZE_STRUCTURE_TYPE_PCI_EXT_PROPERTIES };
	struct lz_board board = { .vendor_id = properties->vendorId, .device_id = properties->deviceId };
	uint64_t revision;

	if (!get || !has_extension(next, driver, ZE_PCI_PROPERTIES_EXT_NAME) ||
	    get(device, &pci) != ZE_RESULT_SUCCESS)
		return false;
	board.domain = pci.address.domain;
	board.bus = pci.address.bus;
	board.device = pci.address.device;
	board.function = pci.address.function;
	if (!lz_board_revision(LZ_BOARD_DEVICES, &board, &revision))
		return false;
	cc_key_add_u64(key, CC_PART_DEVICE, "device.revision", revision);
	return true;
}

/* false: the driver does not answer. */
static bool add_device(struct cc_key *key, struct lz_next *next, ze_driver_handle_t driver,
		       ze_device_handle_t device)
{
	ze_pfnDeviceGetProperties_t get = LZ_NEXT_FIND(next, device_get_properties);
	ze_pfnDeviceGetSubDevices_t get_sub_devices = LZ_NEXT_FIND(next, device_get_sub_devices);
	struct ip_version ip_version = { .stype = STRUCTURE_TYPE_IP_VERSION };
	ze_device_properties_t properties = { .stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES };
	uint32_t sub_devices = 0;

	if (has_extension(next, driver, IP_VERSION_EXTENSION))
		properties.pNext = &ip_version;
	if (!get || get(device, &properties) != ZE_RESULT_SUCCESS)
		return false;
	add_properties(key, &properties);
	if (ip_version.value)
		cc_key_add_u64(key, CC_PART_DEVICE, "device.ip_version", ip_version.value);
	else if (!add_revision(key, next, driver, device, &properties))
		cc_key_add(key, CC_PART_DEVICE, "device.uuid", properties.uuid.id,
			   sizeof(properties.uuid.id));
	if (get_sub_devices && get_sub_devices(device, &sub_devices, NULL) == ZE_RESULT_SUCCESS)
		cc_key_add_u64(key, CC_PART_DEVICE, "device.sub_devices", sub_devices);
	return true;
}

static void add_module_properties(struct cc_key *key, struct lz_next *next,
				  ze_device_handle_t device)
{
	ze_pfnDeviceGetModuleProperties_t get = LZ_NEXT_FIND(next, device_get_module_properties);
	ze_device_module_properties_t properties = {
		.stype = ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES
	};

	if (!get || get(device, &properties) != ZE_RESULT_SUCCESS)
		return;
	cc_key_add_u64(key, CC_PART_DEVICE, "device.spirv", properties.spirvVersionSupported);
	cc_key_add_u64(key, CC_PART_DEVICE, "device.module_flags", properties.flags);
	cc_key_add_u64(key, CC_PART_DEVICE, "device.fp16", properties.fp16flags);
	cc_key_add_u64(key, CC_PART_DEVICE, "device.fp32", properties.fp32flags);
	cc_key_add_u64(key, CC_PART_DEVICE, "device.fp64", properties.fp64flags);
	cc_key_add_u64(key, CC_PART_DEVICE, "device.max_arguments", properties.maxArgumentsSize);
	cc_key_add_u64(key, CC_PART_DEVICE, "device.printf_buffer", properties.printfBufferSize);
	cc_key_add(key, CC_PART_DEVICE, "device.native", properties.nativeKernelSupported.id,
		   sizeof(properties.nativeKernelSupported.id));
}

/* Whether the text lists this path or file name, with one of the separators between its parts. */
static bool lists(const char *list, const char *separators, const char *path)
{
	const char *name = basename(path);

	while (list && *list) {
		const char *end = list + strcspn(list, separators);
		const char *last = memrchr(list, '/', (size_t)(end - list));
		const char *base = last ? last + 1 : list;

		/* By file name: the dynamic linker may spell the directory otherwise. */
		if (strlen(name) == (size_t)(end - base) && strncmp(base, name, strlen(name)) == 0)
			return true;
		list = end + (*end != '\0');
	}
	return false;
}

/* As the loader read them, once and before anything was identified. */
static struct {
	pthread_once_t once;
	bool known;	/* else no driver is identified */
	struct cmn_buffer environment;
	const char *drivers, *layers;
} variables = { .once = PTHREAD_ONCE_INIT };

/* Once more in a child, whose parent had begun: what that had half done is left. */
static void read_variables(void)
{
	struct cmn_buffer environment = { 0 };

	variables.known = cmn_env_copy(&environment) == CMN_OK;
	variables.environment = environment;
	if (!variables.known)
		return;
	variables.drivers = cmn_env_find(&variables.environment, "ZE_ENABLE_ALT_DRIVERS");
	variables.layers = cmn_env_find(&variables.environment, "ZE_ENABLE_LAYERS");
}

/*
 * Drivers as loaders find them: by a fixed prefix, which the loader and layers
 * (libze_NAME_layer.so) have too, or in a list. Which of them a handle is of
 * cannot be told, so that all of them count.
 */
static bool is_driver(const char *path)
{
	const char *name = basename(path);

	(void)pthread_once(&variables.once, read_variables);
	if (strncmp(name, "libze_", strlen("libze_")) == 0)
		return variables.known && strncmp(name, "libze_loader", strlen("libze_loader")) != 0 &&
		       !strstr(name, "_layer.so");
	return lists(variables.drivers, ",", path);
}

/* Whether an object is the loader, a driver, or a program that is linked with the loader's code. */
static bool is_below_all_layers(const void *owner)
{
	const struct link_map *map = NULL;
	Dl_info info;

	if (!dladdr1(owner, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
		return false;
	if (!map->l_name[0])
		return true;
	(void)pthread_once(&variables.once, read_variables);
	return strncmp(basename(map->l_name), "libze_loader.so", strlen("libze_loader.so")) == 0 ||
	       (is_driver(map->l_name) && !lists(variables.layers, ",:", map->l_name));
}

/* Another layer may change what is built without a trace in the key. */
static bool is_above_a_layer(void)
{
	for (size_t i = 0; i < LZ_NEXTS; i++) {
		const void *owner = atomic_load(&lz_nexts[i].owner);

		if (owner && !is_below_all_layers(owner))
			return true;
	}
	return false;
}

const char *lz_identity_lack(void)
{
	return is_above_a_layer() ? "layer-below" : "device-unidentified";
}

const struct drv_libraries_query lz_libraries = { .is_driver = is_driver };

/* The fields and the row of one that has the rest. */
static enum cmn_status gather(struct lz_identity *identity)
{
	struct cc_key *key = &identity->fields;
	struct cc_contents contents = {
		.config = lz_plugin_cache() ? cc_cache_config(lz_plugin_cache()) : NULL,
	};
	enum cmn_status status;

	cc_key_init(key);
	if (is_above_a_layer())
		return CMN_MISS;
	cc_key_add_text(key, CC_PART_DEVICE, "api", "Level Zero");
	add_driver(key, identity->next, identity->driver);
	if (!add_device(key, identity->next, identity->driver, identity->device))
		return CMN_MISS;
	add_module_properties(key, identity->next, identity->device);
	status = drv_libraries_identify(&lz_libraries, &contents, key, &identity->row);
	cc_contents_release(&contents);
	/* An entry of an earlier plugin says of no file that it depends on it. */
	cc_key_add_text(key, CC_PART_DEVICE, "layer.files", "as seen");
	return status == CMN_OK ? cc_key_status(key) : status;
}

enum cmn_status lz_identity_renew(struct lz_target *target)
{
	struct lz_identity *made = calloc(1, sizeof(*made));
	enum cmn_status status;

	if (!made)
		return CMN_ERR_NOMEM;
	*made = (struct lz_identity){ .next = target->next, .closed = atomic_load(&target->next->closed),
				      .driver = target->driver, .device = target->device,
				      .epoch = drv_libraries_epoch() };
	status = gather(made);
	if (status != CMN_OK) {
		cc_key_release(&made->fields);
		free(made);
		return status;
	}
	cc_key_fold(&made->fields);
	/* Newer knowledge stands before older, which somebody may still be using. */
	lz_maps_lock();
	made->older = identities;
	identities = made;
	lz_maps_unlock();
	target->identity = made;
	return CMN_OK;
}

enum cmn_status lz_identity_of(struct lz_target *target)
{
	struct lz_identity *found;

	if (!target->driver)
		target->driver = lz_context_driver(target->context);
	lz_maps_lock();
	found = identities;
	while (found && (found->device != target->device || found->driver != target->driver ||
			 found->next != target->next || found->closed != atomic_load(&found->next->closed)))
		found = found->older;
	lz_maps_unlock();
	/* Two threads may learn at once: the results are equal, and one is a few bytes too many. */
	if (!found || !drv_libraries_hold(found->row, &found->epoch))
		return lz_identity_renew(target);
	target->identity = found;
	return CMN_OK;
}
