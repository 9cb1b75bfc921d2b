/* SPDX-License-Identifier: MIT */
/* functions: their names. */
#include "layers/shared/api/functions.h"

#include <string.h>

#define NAMED(name) { "ckcache_" #name, offsetof(struct ckcache_functions, name) }

static const struct {
	const char *name;
	size_t offset;
} named[] = {
	NAMED(status_string), NAMED(version), NAMED(set_persistent), NAMED(get_persistent),
	NAMED(set_capacity), NAMED(get_capacity), NAMED(set_dir), NAMED(get_dir), NAMED(flush),
	NAMED(desc_free), NAMED(desc_get_id), NAMED(desc_evict), NAMED(opencl_desc_new),
	NAMED(opencl_get_blob), NAMED(opencl_create_from_blob), NAMED(opencl_build),
	NAMED(level_zero_desc_new), NAMED(level_zero_get_blob), NAMED(level_zero_create_from_blob),
	NAMED(level_zero_build), NAMED(opencl_device_desc_new), NAMED(level_zero_device_desc_new),
	NAMED(device_get_blob), NAMED(device_get_data), NAMED(device_store), NAMED(device_load),
};

void *api_function_named(const struct ckcache_functions *functions, const char *name)
{
	void *function = NULL;

	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
		if (strcmp(name, named[i].name) == 0)
			memcpy(&function, (const char *)functions + named[i].offset, sizeof(function));
	}
	return function;
}
