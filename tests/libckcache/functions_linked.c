/* SPDX-License-Identifier: MIT */
/* functions_linked: those of libckcache, which the program is linked with. */
#include "tests/libckcache/client.h"

#define LINKED(name) .name = ckcache_##name

const struct ckcache_functions *api_functions(cl_platform_id platform)
{
	static const struct ckcache_functions functions = {
		.struct_size = sizeof(functions),
		LINKED(status_string), LINKED(version), LINKED(set_persistent),
		LINKED(get_persistent), LINKED(set_capacity), LINKED(get_capacity),
		LINKED(set_dir), LINKED(get_dir), LINKED(flush), LINKED(desc_free),
		LINKED(desc_get_id), LINKED(desc_evict), LINKED(opencl_desc_new),
		LINKED(opencl_get_blob), LINKED(opencl_create_from_blob), LINKED(opencl_build),
		LINKED(level_zero_desc_new), LINKED(level_zero_get_blob),
		LINKED(level_zero_create_from_blob), LINKED(level_zero_build),
		LINKED(opencl_device_desc_new), LINKED(level_zero_device_desc_new),
		LINKED(device_get_blob), LINKED(device_get_data), LINKED(device_store),
		LINKED(device_load), LINKED(blob_get_kind), LINKED(desc_load_batch),
	};

	(void)platform;
	return &functions;
}
