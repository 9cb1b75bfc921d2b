/* SPDX-License-Identifier: MIT */
/*
 * worker_level_zero: builds Level Zero's modules, of one input or several, as applications did; asks the
 * loader that programs get for itself, its drivers and their devices. This command is not linked with the
 * loader; once loaded it stays.
 */
#include <stdbool.h>	/* ze_loader.h 1.32 uses bool without it */
#include <stddef.h>
#include <stdint.h>

#include <level_zero/ze_api.h>
#include <level_zero/loader/ze_loader.h>

#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachecore/key.h"
#include "common/clock.h"
#include "tools/memory.h"
#include "tools/replay/replay.h"
#include "tools/tool.h"
#include "tools/worker/worker_process.h"

enum { MAX_DRIVERS = 16, MAX_DEVICES = 64, MAX_COMPONENTS = 32 };

/* What this command calls; the optional ones came after Level Zero 1.0. */
#define LOADER_FUNCTIONS(NEEDED, OPTIONAL)                 \
	NEEDED(init, zeInit)                                          \
	NEEDED(get_drivers, zeDriverGet)                              \
	NEEDED(get_driver_properties, zeDriverGetProperties)          \
	NEEDED(get_devices, zeDeviceGet)                              \
	NEEDED(get_sub_devices, zeDeviceGetSubDevices)                \
	NEEDED(get_device_properties, zeDeviceGetProperties)          \
	NEEDED(create_context, zeContextCreate)                       \
	NEEDED(destroy_context, zeContextDestroy)                     \
	NEEDED(create_module, zeModuleCreate)                         \
	NEEDED(destroy_module, zeModuleDestroy)                       \
	NEEDED(get_native, zeModuleGetNativeBinary)                   \
	OPTIONAL(get_versions, zelLoaderGetVersions)

#define MEMBER(member, function) __typeof__(&(function))(member);
struct loader {
	LOADER_FUNCTIONS(MEMBER, MEMBER)
};

#define NEEDED(member, function) { #function, offsetof(struct loader, member), true },
#define OPTIONAL(member, function) { #function, offsetof(struct loader, member), false },

/* NULL, or why not. *ret is zeroed by the caller. */
static const char *load(struct loader *ret)
{
	static const struct worker_function functions[] = { LOADER_FUNCTIONS(NEEDED, OPTIONAL) };

	return worker_load("libze_loader.so.1", functions, sizeof(functions) / sizeof(functions[0]), ret,
			   "it lacks functions of Level Zero 1.0");
}

/* Starts all drivers, and lists them. What did not succeed is the result. */
static ze_result_t list_drivers(const struct loader *loader, ze_driver_handle_t ret[MAX_DRIVERS],
				uint32_t *ret_count)
{
	ze_result_t result = loader->init(0);

	*ret_count = 0;
	if (result == ZE_RESULT_SUCCESS)
		result = loader->get_drivers(ret_count, NULL);
	if (result == ZE_RESULT_SUCCESS && *ret_count > MAX_DRIVERS)
		result = ZE_RESULT_ERROR_INVALID_SIZE;
	if (result == ZE_RESULT_SUCCESS)
		result = loader->get_drivers(ret_count, ret);
	return result;
}

/* How many there are; 0 also where the driver does not say. */
static uint32_t list_devices(const struct loader *loader, ze_driver_handle_t driver,
			     ze_device_handle_t ret[MAX_DEVICES])
{
	uint32_t count = 0;

	/* As many as there are: Intel's driver 22.43 fills a longer list with what is no device. */
	if (loader->get_devices(driver, &count, NULL) != ZE_RESULT_SUCCESS ||
	    count > MAX_DEVICES ||
	    loader->get_devices(driver, &count, ret) != ZE_RESULT_SUCCESS)
		return 0;
	return count;
}

static uint32_t list_sub_devices(const struct loader *loader, ze_device_handle_t device,
				 ze_device_handle_t ret[MAX_DEVICES])
{
	uint32_t count = 0;

	if (loader->get_sub_devices(device, &count, NULL) != ZE_RESULT_SUCCESS || !count ||
	    count > MAX_DEVICES ||
	    loader->get_sub_devices(device, &count, ret) != ZE_RESULT_SUCCESS)
		return 0;
	return count;
}

/* What an application gets: found, and its drivers started, once. */
struct machine {
	struct loader loader;
	ze_driver_handle_t drivers[MAX_DRIVERS];
	uint32_t driver_count;
	bool started;
};

static int start(struct machine *machine)
{
	if (machine->started)
		return WORKER_BUILT;
	if (load(&machine->loader))
		return WORKER_UNABLE;
	if (list_drivers(&machine->loader, machine->drivers,
				      &machine->driver_count) != ZE_RESULT_SUCCESS)
		return WORKER_ABSENT;
	machine->started = true;
	return WORKER_BUILT;
}

/* A key that does not have the number at all has nothing against it. */
static bool has_number(struct cmn_view key, const char *name, uint64_t value)
{
	struct cmn_view field;
	uint64_t number;

	return !replay_key_field(key, name, 0, &field) ||
	       (cc_key_is_number(field, &number) && number == value);
}

static bool driver_is(const struct machine *machine, ze_driver_handle_t driver, struct cmn_view key)
{
	ze_driver_properties_t properties = { .stype = ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES };

	return machine->loader.get_driver_properties(driver, &properties) == ZE_RESULT_SUCCESS &&
	       has_number(key, "driver.version", properties.driverVersion);
}

/* By what the plugin has in keys (layers/level_zero/plugin/driver_identity.c) and tells devices apart. */
static bool device_is(const struct machine *machine, ze_device_handle_t device, struct cmn_view key)
{
	ze_device_properties_t properties = { .stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES };
	struct cmn_view name;

	if (machine->loader.get_device_properties(device, &properties) != ZE_RESULT_SUCCESS ||
	    !replay_key_field(key, "device.name", 0, &name))
		return false;
	properties.name[sizeof(properties.name) - 1] = '\0';
	return cmn_view_equal(cmn_view_of(properties.name), name) &&
	       has_number(key, "device.vendor_id", properties.vendorId) &&
	       has_number(key, "device.id", properties.deviceId) &&
	       has_number(key, "device.flags", properties.flags) &&
	       has_number(key, "device.sub_device",
			  properties.flags & ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE ?
				  properties.subdeviceId + UINT64_C(1) : 0) &&
	       has_number(key, "device.eus_per_subslice", properties.numEUsPerSubslice) &&
	       has_number(key, "device.subslices_per_slice", properties.numSubslicesPerSlice) &&
	       has_number(key, "device.slices", properties.numSlices);
}

/* The first of the list, or of their sub-devices. */
static ze_device_handle_t find_device(const struct machine *machine, ze_driver_handle_t driver,
				      struct cmn_view key)
{
	ze_device_handle_t devices[MAX_DEVICES], parts[MAX_DEVICES];
	uint32_t count = list_devices(&machine->loader, driver, devices);

	for (uint32_t i = 0; i < count; i++) {
		uint32_t part_count;

		if (device_is(machine, devices[i], key))
			return devices[i];
		part_count = list_sub_devices(&machine->loader, devices[i], parts);
		for (uint32_t j = 0; j < part_count; j++) {
			if (device_is(machine, parts[j], key))
				return parts[j];
		}
	}
	return NULL;
}

/* A module's description as its key has it. */
struct module {
	ze_module_desc_t desc;
	ze_module_program_exp_desc_t program;
	uint32_t count;				/* of the inputs */
	size_t *sizes;
	const uint8_t **inputs;
	char *flags;
	const char **input_flags;		/* of each input, its own; NULL: none */
	ze_module_constants_t *constants;	/* of each input */
	const ze_module_constants_t **given_constants;
};

static void release_module(struct module *module)
{
	for (uint32_t i = 0; i < module->count; i++) {
		free((void *)module->input_flags[i]);
		free((void *)module->constants[i].pConstantIds);
		free((void *)module->constants[i].pConstantValues);
	}
	free(module->sizes);
	free(module->inputs);
	free(module->flags);
	free(module->input_flags);
	free(module->constants);
	free(module->given_constants);
}

static void make_room(struct module *module, uint32_t count)
{
	module->count = count;
	module->sizes = memory_new(count, sizeof(*module->sizes));
	module->inputs = memory_new(count, sizeof(*module->inputs));
	module->input_flags = memory_new(count, sizeof(*module->input_flags));
	module->constants = memory_new(count, sizeof(*module->constants));
	module->given_constants = memory_new(count, sizeof(*module->given_constants));
}

/* A constant: input:u32 id:u32 size:u64 value[8]; its value stays in the key. */
static bool add_constant(struct module *module, struct cmn_view field)
{
	struct cmn_reader reader = cmn_reader_of(field);
	uint32_t input = cmn_reader_u32(&reader), id = cmn_reader_u32(&reader);
	ze_module_constants_t *constants;
	const void **values;
	uint32_t *ids;

	(void)cmn_reader_u64(&reader);	/* its size: the driver goes by the input's types */
	if (reader.failed || reader.left != 8 || input >= module->count)
		return false;
	constants = &module->constants[input];
	ids = (uint32_t *)constants->pConstantIds;
	values = (const void **)constants->pConstantValues;
	memory_grow(ids, constants->numConstants);
	memory_grow(values, constants->numConstants);
	ids[constants->numConstants] = id;
	values[constants->numConstants] = reader.data;
	*constants = (ze_module_constants_t){ constants->numConstants + 1, ids, values };
	module->given_constants[input] = constants;
	return true;
}

static bool read_inputs(struct module *module, struct cmn_view key)
{
	struct cmn_view field;

	for (uint32_t i = 0; i < module->count; i++) {
		if (!replay_key_field(key, "source", i, &field))
			return false;
		module->sizes[i] = field.len;
		module->inputs[i] = field.data;
		if (replay_key_field(key, "input.options", i, &field))
			module->input_flags[i] = memory_copy_view(field);
	}
	for (unsigned int i = 0; replay_key_field(key, "constant", i, &field); i++) {
		if (!add_constant(module, field))
			return false;
	}
	return true;
}

/* An array that says nothing is not given: no driver need expect one. */
static bool says_something(const struct module *module)
{
	for (uint32_t i = 0; i < module->count; i++) {
		if (module->input_flags[i] && *module->input_flags[i])
			return true;
	}
	return false;
}

/* false: no module's key. */
static bool read_module(struct cmn_view key, struct module *ret)
{
	bool several = replay_key_has(key, "kind", "program"), constants = false;
	struct cmn_view field;
	uint32_t count = 0;

	while (replay_key_field(key, "source", count, &field))
		count++;
	if (!count || (!several && count != 1))
		return false;
	make_room(ret, count);
	if (!read_inputs(ret, key))
		return false;
	if (replay_key_field(key, "options", 0, &field) && field.len)
		ret->flags = memory_copy_view(field);
	for (uint32_t i = 0; i < count; i++)
		constants |= ret->given_constants[i] != NULL;
	ret->desc = (ze_module_desc_t){
		.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
		.format = ZE_MODULE_FORMAT_IL_SPIRV,
		.pBuildFlags = ret->flags,
	};
	if (!several) {
		ret->desc.inputSize = ret->sizes[0];
		ret->desc.pInputModule = ret->inputs[0];
		ret->desc.pConstants = ret->given_constants[0];
		return true;
	}
	ret->program = (ze_module_program_exp_desc_t){
		.stype = ZE_STRUCTURE_TYPE_MODULE_PROGRAM_EXP_DESC,
		.count = count,
		.inputSizes = ret->sizes,
		.pInputModules = ret->inputs,
		.pBuildFlags = says_something(ret) ? ret->input_flags : NULL,
		.pConstants = constants ? ret->given_constants : NULL,
	};
	ret->desc.pNext = &ret->program;
	return true;
}

static int create(const struct machine *machine, ze_driver_handle_t driver,
		  ze_device_handle_t device, const ze_module_desc_t *desc)
{
	const struct loader *loader = &machine->loader;
	const ze_context_desc_t context_desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	ze_context_handle_t context;
	ze_module_handle_t module;
	int code = WORKER_FAILED;
	size_t size = 0;

	if (loader->create_context(driver, &context_desc, &context) != ZE_RESULT_SUCCESS)
		return WORKER_ABSENT;
	if (loader->create_module(context, device, desc, &module, NULL) == ZE_RESULT_SUCCESS) {
		code = WORKER_BUILT;
		if (loader->get_native(module, &size, NULL) == ZE_RESULT_SUCCESS &&
		    worker_is_unwanted(size))
			code = WORKER_UNWANTED;
		(void)loader->destroy_module(module);	/* the entry is made: nothing depends on it */
	}
	(void)loader->destroy_context(context);	/* likewise */
	return code;
}

int worker_level_zero_build(const struct cc_recipe *recipe)
{
	static struct machine machine;
	struct module module = { .count = 0 };
	int code = start(&machine);

	if (code != WORKER_BUILT)
		return code;
	code = WORKER_ABSENT;
	for (uint32_t i = 0; i < machine.driver_count && code == WORKER_ABSENT; i++) {
		ze_driver_handle_t driver = machine.drivers[i];
		ze_device_handle_t device = driver_is(&machine, driver, recipe->key) ?
					    find_device(&machine, driver, recipe->key) : NULL;

		if (!device)
			continue;
		code = WORKER_UNABLE;
		if (read_module(recipe->key, &module))
			code = create(&machine, driver, device, &module.desc);
		release_module(&module);
	}
	return code;
}

/* Questions. */

/*
 * A kernel that stores 7. Assembled (spirv-as --target-env opencl1.2) from:
 *
 *               OpCapability Addresses
 *               OpCapability Kernel
 *               OpMemoryModel Physical64 OpenCL
 *               OpEntryPoint Kernel %doctor "doctor"
 *       %uint = OpTypeInt 32 0
 *       %void = OpTypeVoid
 *    %pointer = OpTypePointer CrossWorkgroup %uint
 *       %kind = OpTypeFunction %void %pointer
 *      %seven = OpConstant %uint 7
 *     %doctor = OpFunction %void None %kind
 *        %out = OpFunctionParameter %pointer
 *      %entry = OpLabel
 *               OpStore %out %seven Aligned 4
 *               OpReturn
 *               OpFunctionEnd
 */
static const uint32_t module_il[] = {
	0x07230203, 0x00010000, 0x00070000, 0x00000009, 0x00000000, 0x00020011,
	0x00000004, 0x00020011, 0x00000006, 0x0003000e, 0x00000002, 0x00000002,
	0x0005000f, 0x00000006, 0x00000001, 0x74636f64, 0x0000726f, 0x00040015,
	0x00000002, 0x00000020, 0x00000000, 0x00020013, 0x00000003, 0x00040020,
	0x00000004, 0x00000005, 0x00000002, 0x00040021, 0x00000005, 0x00000003,
	0x00000004, 0x0004002b, 0x00000002, 0x00000006, 0x00000007, 0x00050036,
	0x00000003, 0x00000001, 0x00000000, 0x00000005, 0x00030037, 0x00000004,
	0x00000007, 0x000200f8, 0x00000008, 0x0005003e, 0x00000007, 0x00000006,
	0x00000002, 0x00000004, 0x000100fd, 0x00010038,
};

/* false: said why. */
static bool load_and_say(struct loader *ret)
{
	const char *lack;

	channel_asking("the Level Zero loader");
	lack = load(ret);
	return worker_say_loader(lack, (const void *)ret->init);
}

static void say_loader_version(const struct loader *loader)
{
	zel_component_version_t versions[MAX_COMPONENTS];
	size_t count = 0;

	if (!loader->get_versions || loader->get_versions(&count, NULL) != ZE_RESULT_SUCCESS ||
	    count > MAX_COMPONENTS ||
	    loader->get_versions(&count, versions) != ZE_RESULT_SUCCESS)
		return;
	for (size_t i = 0; i < count; i++) {
		char text[48];

		if (strcmp(versions[i].component_name, "loader") != 0)
			continue;
		(void)snprintf(text, sizeof(text), "%d.%d.%d",
			       versions[i].component_lib_version.major,
			       versions[i].component_lib_version.minor,
			       versions[i].component_lib_version.patch);	/* it fits */
		(void)channel_say("named", "Level Zero loader", text);
	}
}

static int fail(const char *what, ze_result_t result)
{
	char number[48];

	(void)snprintf(number, sizeof(number), "Level Zero error 0x%x",
		       (unsigned int)result);	/* it fits */
	(void)channel_say("failed", what, number);
	return TOOL_FAILED;
}

/* false: said why. */
static bool get_drivers(const struct loader *loader,
			ze_driver_handle_t ret[MAX_DRIVERS], uint32_t *ret_count)
{
	ze_result_t result;

	channel_asking("all Level Zero drivers to start");
	result = list_drivers(loader, ret, ret_count);
	if (result != ZE_RESULT_SUCCESS)
		(void)fail("zeInit", result);	/* its result is the caller's exit code */
	return result == ZE_RESULT_SUCCESS;
}

/* Drivers' files are named so; the loader and layers too. */
static int say_library(struct dl_phdr_info *info, size_t size, void *data)
{
	const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;

	(void)size;
	(void)data;
	if (slash && strncmp(slash + 1, "libze_", 6) == 0 &&
	    strncmp(slash + 1, "libze_loader", 12) != 0 && !strstr(slash + 1, "_layer.so"))
		(void)channel_say("library", info->dlpi_name);
	return 0;
}

static void say_driver(const struct loader *loader, uint32_t place,
		       ze_driver_handle_t driver)
{
	ze_driver_properties_t properties = { .stype = ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES };
	ze_device_handle_t devices[MAX_DEVICES];
	char number[16], version[48] = "";
	uint32_t count;

	(void)snprintf(number, sizeof(number), "%" PRIu32, place);	/* it fits */
	/* As Intel's driver packs it. */
	if (loader->get_driver_properties(driver, &properties) == ZE_RESULT_SUCCESS)
		(void)snprintf(version, sizeof(version), "%u.%u.%u",
			       (unsigned int)(properties.driverVersion >> 24),
			       (unsigned int)(properties.driverVersion >> 16 & 0xff),
			       (unsigned int)(properties.driverVersion & 0xffff));
	(void)channel_say("platform", number, "Level Zero", version);
	count = list_devices(loader, driver, devices);
	for (uint32_t i = 0; i < count; i++) {
		ze_device_properties_t device = { .stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES };
		char at[16];

		(void)snprintf(at, sizeof(at), "%" PRIu32, i);	/* it fits */
		if (loader->get_device_properties(devices[i], &device) == ZE_RESULT_SUCCESS)
			(void)channel_say("device", number, at, device.name, version);
	}
}

int probe_level_zero(int argc, char **argv)
{
	ze_driver_handle_t drivers[MAX_DRIVERS];
	struct loader loader = { 0 };
	uint32_t count = 0;
	bool answered;

	(void)argc;
	(void)argv;
	if (!load_and_say(&loader))
		return TOOL_FAILED;
	answered = get_drivers(&loader, drivers, &count);
	say_loader_version(&loader);
	worker_say_layers();
	(void)dl_iterate_phdr(say_library, NULL);	/* its result is the callback's */
	if (!answered)
		return TOOL_FAILED;
	channel_asking("the drivers for their devices");
	for (uint32_t i = 0; i < count; i++)
		say_driver(&loader, i, drivers[i]);
	channel_asking("the drivers to end");
	return TOOL_OK;
}

static int build_small(const struct loader *loader, ze_driver_handle_t driver,
		 ze_device_handle_t device)
{
	const ze_context_desc_t context_desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	const ze_module_desc_t desc = {
		.stype = ZE_STRUCTURE_TYPE_MODULE_DESC, .format = ZE_MODULE_FORMAT_IL_SPIRV,
		.inputSize = sizeof(module_il), .pInputModule = (const uint8_t *)module_il,
	};
	ze_context_handle_t context;
	ze_module_handle_t module;
	ze_result_t result;
	char number[32];
	uint64_t start;

	result = loader->create_context(driver, &context_desc, &context);
	if (result != ZE_RESULT_SUCCESS)
		return fail("zeContextCreate", result);
	start = cmn_clock_monotonic();
	result = loader->create_module(context, device, &desc, &module, NULL);
	if (result != ZE_RESULT_SUCCESS)
		return fail("zeModuleCreate", result);
	(void)snprintf(number, sizeof(number), "%" PRIu64,
		       cmn_clock_monotonic() - start);	/* it fits */
	(void)channel_say("built", number);
	channel_asking("the driver to end");
	return TOOL_OK;
}

/* Also their sub-devices. What cannot be built says why, and is no failure. */
static int build_small_for_all(const struct loader *loader, const ze_driver_handle_t *drivers,
			 uint32_t driver_count)
{
	for (uint32_t i = 0; i < driver_count; i++) {
		ze_device_handle_t devices[MAX_DEVICES], parts[MAX_DEVICES];
		uint32_t count = list_devices(loader, drivers[i], devices);

		for (uint32_t j = 0; j < count; j++) {
			uint32_t part_count = list_sub_devices(loader, devices[j], parts);

			(void)build_small(loader, drivers[i], devices[j]);
			for (uint32_t k = 0; k < part_count; k++)
				(void)build_small(loader, drivers[i], parts[k]);
		}
	}
	worker_say_mapped();
	return TOOL_OK;
}

int probe_level_zero_build(int argc, char **argv)
{
	ze_driver_handle_t drivers[MAX_DRIVERS];
	ze_device_handle_t devices[MAX_DEVICES];
	struct loader loader = { 0 };
	unsigned long at, place;
	uint32_t count = 0;

	if (!load_and_say(&loader) || !get_drivers(&loader, drivers, &count))
		return TOOL_FAILED;
	if (argc < 3)
		return build_small_for_all(&loader, drivers, count);
	at = strtoul(argv[1], NULL, 10);
	place = strtoul(argv[2], NULL, 10);
	if (at >= count || place >= list_devices(&loader, drivers[at], devices)) {
		(void)channel_say("failed", "device", "it is no longer there");
		return TOOL_FAILED;
	}
	channel_asking("the driver to build a small module");
	return build_small(&loader, drivers[at], devices[place]);
}
