/* SPDX-License-Identifier: MIT */
/*
 * interface: the functions of ckcache.h as the plugin has them, for the library
 * and for programs that ask for them by name. Those of OpenCL are not its own.
 */
#include <string.h>

#include "layers/api/device.h"
#include "layers/api/settings.h"
#include "layers/level_zero/plugin/desc.h"

static enum ckcache_status set_persistent(enum ckcache_api api, int enable)
{
	return api == CKCACHE_API_LEVEL_ZERO ? api_set_persistent(lz_plugin_cache(), enable) :
					       CKCACHE_ERROR_UNAVAILABLE;
}

static enum ckcache_status get_persistent(enum ckcache_api api, int *ret_enabled)
{
	return api == CKCACHE_API_LEVEL_ZERO ? api_get_persistent(lz_plugin_cache(), ret_enabled) :
					       CKCACHE_ERROR_UNAVAILABLE;
}

static enum ckcache_status set_capacity(uint64_t bytes)
{
	return api_set_capacity(lz_plugin_cache(), bytes);
}

static enum ckcache_status get_capacity(uint64_t *ret_bytes)
{
	return api_get_capacity(lz_plugin_cache(), ret_bytes);
}

static enum ckcache_status set_dir(const char *dir)
{
	return api_set_dir(lz_plugin_cache(), dir);
}

static enum ckcache_status get_dir(size_t *size, char *dir)
{
	return api_get_dir(lz_plugin_cache(), size, dir);
}

static enum ckcache_status flush(void)
{
	return api_flush(lz_plugin_cache());
}

static const struct ckcache_functions functions = {
	.struct_size = sizeof(functions),
	.status_string = ckcache_status_string,
	.version = ckcache_version,
	.set_persistent = set_persistent,
	.get_persistent = get_persistent,
	.set_capacity = set_capacity,
	.get_capacity = get_capacity,
	.set_dir = set_dir,
	.get_dir = get_dir,
	.flush = flush,
	.desc_free = api_desc_free,
	.desc_get_id = api_desc_get_id,
	.desc_evict = api_desc_evict,
	.level_zero_desc_new = lz_ckcache_desc_new,
	.level_zero_get_blob = lz_ckcache_get_blob,
	.level_zero_create_from_blob = lz_ckcache_create_from_blob,
	.level_zero_build = lz_ckcache_build,
	.level_zero_device_desc_new = lz_ckcache_device_desc_new,
	.device_get_blob = api_device_get_blob,
	.device_get_data = api_device_get_data,
	.device_store = api_device_store,
	.device_load = api_device_load,
};

const struct ckcache_functions *lz_ckcache_functions(void)
{
	return &functions;
}

#define NAMED(name) { "ckcache_" #name, offsetof(struct ckcache_functions, name) }

static const struct {
	const char *name;
	size_t offset;
} named[] = {
	NAMED(status_string), NAMED(version), NAMED(set_persistent), NAMED(get_persistent),
	NAMED(set_capacity), NAMED(get_capacity), NAMED(set_dir), NAMED(get_dir), NAMED(flush),
	NAMED(desc_free), NAMED(desc_get_id), NAMED(desc_evict), NAMED(level_zero_desc_new),
	NAMED(level_zero_get_blob), NAMED(level_zero_create_from_blob), NAMED(level_zero_build),
	NAMED(level_zero_device_desc_new), NAMED(device_get_blob), NAMED(device_get_data),
	NAMED(device_store), NAMED(device_load),
};

void *lz_ckcache_function(const char *name)
{
	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
		void *function;

		if (strcmp(name, named[i].name) != 0)
			continue;
		memcpy(&function, (const char *)&functions + named[i].offset, sizeof(function));
		return function;
	}
	return NULL;
}
