/* SPDX-License-Identifier: MIT */
/*
 * level_zero: Level Zero's functions as the process has them: those below the plugin, if a loader has it;
 * else the loader's own.
 */
#include <dlfcn.h>

#include "layers/level_zero/plugin/module_desc.h"
#include "layers/libckcache/library.h"

#define LOADER "libze_loader.so.1"

const bool library_has_level_zero = true;

void library_level_zero_lock(void)
{
	lz_maps_lock();
}

void library_level_zero_unlock(void)
{
	lz_maps_unlock();
}

/*
 * A handle for dlsym: the loader's, or of whatever else gave the process these
 * functions. NULL: not there. Kept for the process's life, as the loader is.
 */
static void *find_loader(void)
{
	void *loader = dlopen(LOADER, RTLD_LAZY | RTLD_NOLOAD);
	ze_pfnInit_t init;

	if (!loader && dlsym(RTLD_DEFAULT, "zeModuleCreate"))
		loader = dlopen(NULL, RTLD_LAZY);
	if (loader)
		return loader;
	/* The program has a loader of its own inside of it: handles are the driver's, or made alike. */
	loader = dlopen(LOADER, RTLD_LAZY | RTLD_LOCAL);
	init = loader ? (ze_pfnInit_t)dlsym(loader, "zeInit") : NULL;
	return init && init(0) == ZE_RESULT_SUCCESS ? loader : NULL;
}

/* Whether there are functions to call, whoever brought them. */
static bool are_there(void)
{
	for (size_t i = 0; i < LZ_NEXTS; i++) {
		if (lz_nexts[i].module_create)
			return true;
	}
	return false;
}

#define LOAD(member, function) \
	atomic_store(&next->member, (__typeof__(&(function)))dlsym(loader, #function))

/* What the plugin's parts call; what a loader lacks is NULL. Twice at once does no harm. */
static void load(void)
{
	void *loader = find_loader();
	void *create = loader ? dlsym(loader, "zeModuleCreate") : NULL;
	struct lz_next *next;

	/* A loader that was only brought now may have brought the plugin. */
	if (!create || are_there())
		return;
	next = lz_next_of(create);
	if (!next)
		return;
	LOAD(module_destroy, zeModuleDestroy);
	LOAD(module_get_native, zeModuleGetNativeBinary);
	LOAD(log_get_string, zeModuleBuildLogGetString);
	LOAD(log_destroy, zeModuleBuildLogDestroy);
	LOAD(device_get_sub_devices, zeDeviceGetSubDevices);
	LOAD(device_get_properties, zeDeviceGetProperties);
	LOAD(device_get_module_properties, zeDeviceGetModuleProperties);
	LOAD(device_get_pci, zeDevicePciGetPropertiesExt);
	LOAD(driver_get_properties, zeDriverGetProperties);
	LOAD(driver_get_api_version, zeDriverGetApiVersion);
	LOAD(driver_get_extensions, zeDriverGetExtensionProperties);
	LOAD(driver_get_function, zeDriverGetExtensionFunctionAddress);
	/* The last one: by it others see that all are there. */
	LOAD(module_create, zeModuleCreate);
}

static bool is_there(void)
{
	if (!are_there())
		load();
	return are_there();
}

enum ckcache_status ckcache_level_zero_desc_new(struct _ze_driver_handle_t *driver,
						struct _ze_context_handle_t *context,
						struct _ze_device_handle_t *device, size_t count,
						const struct ckcache_program *programs,
						struct ckcache_desc **ret_desc)
{
	if (!driver)
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	return is_there() ? lz_ckcache_desc_new(driver, context, device, count, programs, ret_desc) :
			    CKCACHE_ERROR_UNAVAILABLE;
}

enum ckcache_status ckcache_level_zero_device_desc_new(struct _ze_driver_handle_t *driver,
						       struct _ze_device_handle_t *device,
						       const struct ckcache_library *library,
						       struct ckcache_desc **ret_desc)
{
	if (!driver)
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	return is_there() ? lz_ckcache_device_desc_new(driver, device, library, ret_desc) :
			    CKCACHE_ERROR_UNAVAILABLE;
}
