/* SPDX-License-Identifier: MIT */
/*
 * level_zero: Level Zero's functions as the process has them, from its loader;
 * and the plugin, where one is in use. This library's own copy would wait for
 * itself if it let a loader build that has the plugin in it, since both caches
 * are one on disk: so the plugin is looked for in two ways, among the loaded
 * objects and by asking the very loader.
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "layers/level_zero/plugin/module_desc.h"
#include "layers/level_zero/plugin/plugin.h"
#include "layers/libckcache/library.h"
#include "layers/shared/driver/loaded.h"

#define LOADER "libze_loader.so.1"
#define PLUGIN "libckcache_level_zero.so"
#define PLUGIN_LINK "libze_ckcache_layer.so.1"
#define FUNCTIONS "ckcache_functions"
/* No longer path can be opened (Linux, PATH_MAX). */
#define PATH_SIZE 4096

static struct {
	pthread_once_t fork_once;
	/* Found once, each is there for good. */
	_Atomic(const struct ckcache_functions *) plugin;
	atomic_bool loaded;		/* lz_nexts[0] has what there is */
} level_zero = { .fork_once = PTHREAD_ONCE_INIT };

struct cc_cache *lz_plugin_cache(void)
{
	return library_cache(CKCACHE_API_LEVEL_ZERO);
}

/* fork: the child gets the lock free; it is never held with another one. */
static void install_fork_handlers(void)
{
	struct cc_cache *cache = lz_plugin_cache();

	if (pthread_atfork(lz_maps_lock, lz_maps_unlock, lz_maps_unlock) != 0 && cache)
		cmn_log_write(cc_cache_log(cache), CMN_LOG_WARNING,
			      "no memory for fork handlers: do not fork while modules are built");
}

/* The skip-th loaded object that is the plugin's file, or a link to it. */
struct search {
	size_t skip;
	char path[PATH_SIZE];
};

static int look_at_object(struct dl_phdr_info *info, size_t size, void *ctx)
{
	const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
	struct search *search = ctx;
	int len;

	(void)size;
	if (!slash || (strcmp(slash + 1, PLUGIN) != 0 && strcmp(slash + 1, PLUGIN_LINK) != 0) ||
	    search->skip-- > 0)
		return 0;
	len = snprintf(search->path, sizeof(search->path), "%s", info->dlpi_name);
	return len > 0 && (size_t)len < sizeof(search->path);
}

/* The table of the plugin in that file, which is loaded; NULL: it is not in use. */
static const struct ckcache_functions *ask_plugin(const char *path)
{
	void *plugin = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
	const struct ckcache_functions *functions = NULL;
	ckcache_functions_fn *get;

	if (!plugin)
		return NULL;
	get = (ckcache_functions_fn *)dlsym(plugin, FUNCTIONS);
	if (get)
		functions = get();
	(void)dlclose(plugin);	/* it never unloads: this drops a count */
	return functions;
}

/* The plugin in use, among the loaded objects. Calls no driver. */
static const struct ckcache_functions *find_plugin(void)
{
	const struct ckcache_functions *found = NULL;
	struct search search;

	for (size_t i = 0; !found; i++) {
		search.skip = i;
		if (!drv_loaded_iterate(look_at_object, &search))
			break;
		found = ask_plugin(search.path);
	}
	return found;
}

/* The plugin in the loader whose driver that is, whatever its file is called. */
static const struct ckcache_functions *ask_loader(ze_driver_handle_t driver)
{
	ze_pfnDriverGetExtensionFunctionAddress_t ask =
		LZ_NEXT_FIND(&lz_nexts[0], driver_get_function);
	void *function = NULL;

	if (!ask || ask(driver, FUNCTIONS, &function) != ZE_RESULT_SUCCESS || !function)
		return NULL;
	return ((ckcache_functions_fn *)function)();
}

/*
 * A handle for dlsym: the loader's, or of whatever else gave the process these
 * functions. NULL: not there. Kept for the process's life, as the loader is.
 */
static void *find_loader(bool bring)
{
	void *loader = dlopen(LOADER, RTLD_LAZY | RTLD_NOLOAD);
	ze_pfnInit_t init;

	if (!loader && dlsym(RTLD_DEFAULT, "zeModuleCreate"))
		loader = dlopen(NULL, RTLD_LAZY);
	if (loader || !bring)
		return loader;
	/* The program has a loader of its own inside of it: handles are the driver's, or made alike. */
	loader = dlopen(LOADER, RTLD_LAZY | RTLD_LOCAL);
	init = loader ? (ze_pfnInit_t)dlsym(loader, "zeInit") : NULL;
	return init && init(0) == ZE_RESULT_SUCCESS ? loader : NULL;
}

#define LOAD(member, function)                                                        \
	atomic_store(&lz_nexts[0].member,                                             \
		     (__typeof__(&(function)))dlsym(loader, #function))

/* What the plugin's parts call; what a loader lacks is NULL. Twice at once does no harm. */
static bool load(bool bring)
{
	void *loader;

	if (level_zero.loaded)
		return true;
	loader = find_loader(bring);
	if (!loader)
		return false;
	LOAD(module_create, zeModuleCreate);
	LOAD(module_destroy, zeModuleDestroy);
	LOAD(module_get_native, zeModuleGetNativeBinary);
	LOAD(module_get_function, zeModuleGetFunctionPointer);
	LOAD(module_get_global, zeModuleGetGlobalPointer);
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
	/* Older headers do not declare it. */
	atomic_store(&lz_nexts[0].driver_get_last_error,
		     (lz_get_last_error_fn)dlsym(loader, "zeDriverGetLastErrorDescription"));
	level_zero.loaded = lz_nexts[0].module_create != NULL;
	return level_zero.loaded;
}

const struct ckcache_functions *library_level_zero(struct _ze_driver_handle_t *driver)
{
	const struct ckcache_functions *plugin = level_zero.plugin;
	bool loaded = false;

	if (plugin)
		return plugin;
	(void)pthread_once(&level_zero.fork_once, install_fork_handlers);
	plugin = find_plugin();
	if (!plugin) {
		loaded = load(driver != NULL);
		/* A loader that was only brought now may have brought the plugin. */
		if (loaded && driver)
			plugin = ask_loader(driver);
	}
	if (plugin) {
		library_found(CKCACHE_API_LEVEL_ZERO, plugin);
		level_zero.plugin = plugin;
		return plugin;
	}
	/* Settings are the cache's, whether there is Level Zero or not. */
	return loaded || !driver ? lz_ckcache_functions() : NULL;
}
