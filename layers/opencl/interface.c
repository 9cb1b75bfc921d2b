/* SPDX-License-Identifier: MIT */
/*
 * interface: the functions of ckcache.h as the layer has them, for programs
 * that ask for them by name. Those of Level Zero are not its own.
 */
#include <string.h>

#include "layers/api/device.h"
#include "layers/api/settings.h"
#include "layers/opencl/desc.h"
#include "layers/opencl/layers_below.h"

static enum ckcache_status set_persistent(enum ckcache_api api, int enable)
{
	return api == CKCACHE_API_OPENCL ? api_set_persistent(ocl_layer.cache, enable) :
					   CKCACHE_ERROR_UNAVAILABLE;
}

static enum ckcache_status get_persistent(enum ckcache_api api, int *ret_enabled)
{
	return api == CKCACHE_API_OPENCL ? api_get_persistent(ocl_layer.cache, ret_enabled) :
					   CKCACHE_ERROR_UNAVAILABLE;
}

static enum ckcache_status set_capacity(uint64_t bytes)
{
	return api_set_capacity(ocl_layer.cache, bytes);
}

static enum ckcache_status get_capacity(uint64_t *ret_bytes)
{
	return api_get_capacity(ocl_layer.cache, ret_bytes);
}

static enum ckcache_status set_dir(const char *dir)
{
	return api_set_dir(ocl_layer.cache, dir);
}

static enum ckcache_status get_dir(size_t *size, char *dir)
{
	return api_get_dir(ocl_layer.cache, size, dir);
}

static enum ckcache_status flush(void)
{
	return api_flush(ocl_layer.cache);
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
	.opencl_desc_new = ocl_ckcache_desc_new,
	.opencl_get_blob = ocl_ckcache_get_blob,
	.opencl_create_from_blob = ocl_ckcache_create_from_blob,
	.opencl_build = ocl_ckcache_build,
	.opencl_device_desc_new = ocl_ckcache_device_desc_new,
	.device_get_blob = api_device_get_blob,
	.device_get_data = api_device_get_data,
	.device_store = api_device_store,
	.device_load = api_device_load,
};

const struct ckcache_functions *ocl_ckcache_functions(void)
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
	NAMED(desc_free), NAMED(desc_get_id), NAMED(desc_evict), NAMED(opencl_desc_new),
	NAMED(opencl_get_blob), NAMED(opencl_create_from_blob), NAMED(opencl_build),
	NAMED(opencl_device_desc_new), NAMED(device_get_blob), NAMED(device_get_data),
	NAMED(device_store), NAMED(device_load),
};

void *ocl_ckcache_function(const char *name)
{
	if (strcmp(name, "ckcache_functions") == 0)
		return (void *)ocl_ckcache_functions;
	/* For ckcache doctor. */
	if (strcmp(name, "ckcache_layers_below_are_known") == 0)
		return (void *)ocl_layers_below_are_known;
	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
		void *function;

		if (strcmp(name, named[i].name) != 0)
			continue;
		memcpy(&function, (const char *)&functions + named[i].offset, sizeof(function));
		return function;
	}
	return NULL;
}
