/* SPDX-License-Identifier: MIT */
/*
 * plugin_interface: the functions of ckcache.h as the plugin has them, for the library
 * and for programs that ask for them by name. Those of OpenCL are not its own.
 */
#include "layers/shared/api/functions.h"
#include "layers/level_zero/plugin/module_desc.h"
#include "layers/level_zero/plugin/plugin.h"

API_DEFINE_SETTINGS(CKCACHE_API_LEVEL_ZERO, lz_plugin_cache())

static const struct ckcache_functions functions = {
	.struct_size = sizeof(struct ckcache_functions),
#define LEVEL_ZERO(name) .level_zero_##name = lz_ckcache_##name,
#include "layers/shared/api/functions.def"
};

const struct ckcache_functions *lz_ckcache_functions(void)
{
	return &functions;
}

void *lz_ckcache_function(const char *name)
{
	return api_function_named(&functions, name);
}
