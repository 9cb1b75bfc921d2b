/* SPDX-License-Identifier: MIT */
/*
 * interface: the functions of ckcache.h as the plugin has them, for the library
 * and for programs that ask for them by name. Those of OpenCL are not its own.
 */
#include "layers/shared/api/functions.h"
#include "layers/level_zero/plugin/desc.h"

API_DEFINE_SETTINGS(CKCACHE_API_LEVEL_ZERO, lz_plugin_cache())

static const struct ckcache_functions functions = {
	API_COMMON_FUNCTIONS,
	.level_zero_desc_new = lz_ckcache_desc_new,
	.level_zero_get_blob = lz_ckcache_get_blob,
	.level_zero_create_from_blob = lz_ckcache_create_from_blob,
	.level_zero_build = lz_ckcache_build,
	.level_zero_device_desc_new = lz_ckcache_device_desc_new,
};

const struct ckcache_functions *lz_ckcache_functions(void)
{
	return &functions;
}

void *lz_ckcache_function(const char *name)
{
	return api_function_named(&functions, name);
}
