/* SPDX-License-Identifier: MIT */
/*
 * plugin_interface: the functions of ckcache.h for Level Zero's descriptions, and for
 * programs that ask for them by name. Those of OpenCL are not among them.
 */
#include <string.h>

#include "layers/shared/api/device.h"
#include "layers/level_zero/plugin/module_desc.h"

static const struct ckcache_functions functions = {
	.struct_size = sizeof(struct ckcache_functions),
#define LEVEL_ZERO(name) .level_zero_##name = lz_ckcache_##name,
#include "layers/shared/api/functions.def"
};

const struct ckcache_functions *lz_ckcache_functions(void)
{
	return &functions;
}

ze_result_t lz_ckcache_get_function(struct lz_next *next, ze_driver_handle_t driver,
				    const char *name, void **ret)
{
	void *own = NULL;

	if (driver && name && ret)
		own = strcmp(name, "ckcache_functions") == 0 ? (void *)lz_ckcache_functions :
							       api_function_named(&functions, name);
	if (!own)
		return LZ_NEXT_FIND(next, driver_get_function)(driver, name, ret);
	*ret = own;
	return ZE_RESULT_SUCCESS;
}
