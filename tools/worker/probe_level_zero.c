/* SPDX-License-Identifier: MIT */
/*
 * probe_level_zero: the same for Level Zero: its loader, drivers and devices,
 * and one small module on one device. Runs in a process of its own and ends
 * with it: nothing is given back.
 */
#include "tools/worker/level_zero_loader.h"

#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "tools/tool.h"
#include "tools/worker/channel.h"
#include "tools/worker/worker.h"

enum { MAX_COMPONENTS = 32 };

/* false: said why. */
static bool load(struct level_zero_loader *ret)
{
	const char *lack;

	channel_asking("the Level Zero loader");
	lack = level_zero_loader_load(ret);
	return worker_say_loader(lack, (const void *)ret->init);
}

static void say_loader_version(const struct level_zero_loader *loader)
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
static bool get_drivers(const struct level_zero_loader *loader,
			ze_driver_handle_t ret[MAX_LZ_DRIVERS], uint32_t *ret_count)
{
	ze_result_t result;

	channel_asking("all Level Zero drivers to start");
	result = level_zero_loader_drivers(loader, ret, ret_count);
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

static void say_driver(const struct level_zero_loader *loader, uint32_t place,
		       ze_driver_handle_t driver)
{
	ze_driver_properties_t properties = { .stype = ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES };
	ze_device_handle_t devices[MAX_LZ_DEVICES];
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
	count = level_zero_loader_devices(loader, driver, devices);
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
	ze_driver_handle_t drivers[MAX_LZ_DRIVERS];
	struct level_zero_loader loader = { 0 };
	uint32_t count = 0;
	bool answered;

	(void)argc;
	(void)argv;
	if (!load(&loader))
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

static int build(const struct level_zero_loader *loader, ze_driver_handle_t driver,
		 ze_device_handle_t device)
{
	const ze_context_desc_t context_desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	const ze_module_desc_t desc = level_zero_loader_small_module();
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
static int build_for_all(const struct level_zero_loader *loader, const ze_driver_handle_t *drivers,
			 uint32_t driver_count)
{
	for (uint32_t i = 0; i < driver_count; i++) {
		ze_device_handle_t devices[MAX_LZ_DEVICES], parts[MAX_LZ_DEVICES];
		uint32_t count = level_zero_loader_devices(loader, drivers[i], devices);

		for (uint32_t j = 0; j < count; j++) {
			uint32_t part_count = level_zero_loader_sub_devices(loader, devices[j], parts);

			(void)build(loader, drivers[i], devices[j]);
			for (uint32_t k = 0; k < part_count; k++)
				(void)build(loader, drivers[i], parts[k]);
		}
	}
	worker_say_mapped();
	return TOOL_OK;
}

int probe_level_zero_build(int argc, char **argv)
{
	unsigned long at = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
	unsigned long place = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	ze_driver_handle_t drivers[MAX_LZ_DRIVERS];
	ze_device_handle_t devices[MAX_LZ_DEVICES];
	struct level_zero_loader loader = { 0 };
	uint32_t count = 0;

	if (!load(&loader) || !get_drivers(&loader, drivers, &count))
		return TOOL_FAILED;
	if (argc < 3)
		return build_for_all(&loader, drivers, count);
	if (at >= count || place >= level_zero_loader_devices(&loader, drivers[at], devices)) {
		(void)channel_say("failed", "device", "it is no longer there");
		return TOOL_FAILED;
	}
	channel_asking("the driver to build a small module");
	return build(&loader, drivers[at], devices[place]);
}
