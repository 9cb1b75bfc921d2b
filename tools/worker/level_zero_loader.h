/* SPDX-License-Identifier: MIT */
/*
 * level_zero_loader: the Level Zero loader that programs get, for this command,
 * which is not linked with it; and a small module to be compiled with it. Once
 * loaded it stays.
 */
#ifndef TOOLS_WORKER_LEVEL_ZERO_LOADER_H
#define TOOLS_WORKER_LEVEL_ZERO_LOADER_H

#include <stdbool.h>	/* ze_loader.h 1.32 uses bool without it */
#include <stddef.h>
#include <stdint.h>

#include <level_zero/ze_api.h>
#include <level_zero/loader/ze_loader.h>

enum { MAX_LZ_DRIVERS = 16, MAX_LZ_DEVICES = 64 };

/* What this command calls; the optional ones came after Level Zero 1.0. */
#define LEVEL_ZERO_LOADER_FUNCTIONS(NEEDED, OPTIONAL)                 \
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
	OPTIONAL(get_function, zeDriverGetExtensionFunctionAddress)   \
	OPTIONAL(get_versions, zelLoaderGetVersions)

#define LEVEL_ZERO_LOADER_MEMBER(member, function) __typeof__(&(function))(member);
struct level_zero_loader {
	LEVEL_ZERO_LOADER_FUNCTIONS(LEVEL_ZERO_LOADER_MEMBER, LEVEL_ZERO_LOADER_MEMBER)
};

/* NULL, or why not. *ret is zeroed by the caller. */
const char *level_zero_loader_load(struct level_zero_loader *ret);
/* Starts all drivers, and lists them. What did not succeed is the result. */
ze_result_t level_zero_loader_drivers(const struct level_zero_loader *loader,
				      ze_driver_handle_t ret[MAX_LZ_DRIVERS], uint32_t *ret_count);
/* How many there are; 0 also where the driver does not say. */
uint32_t level_zero_loader_devices(const struct level_zero_loader *loader,
				   ze_driver_handle_t driver,
				   ze_device_handle_t ret[MAX_LZ_DEVICES]);
uint32_t level_zero_loader_sub_devices(const struct level_zero_loader *loader,
				       ze_device_handle_t device,
				       ze_device_handle_t ret[MAX_LZ_DEVICES]);

/* The description of a module of one kernel, which stores 7. */
ze_module_desc_t level_zero_loader_small_module(void);

#endif
