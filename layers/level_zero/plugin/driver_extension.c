/* SPDX-License-Identifier: MIT */
/* driver_extension: names and their functions, and the library's moment. */
#include "layers/level_zero/plugin/extension.h"

#include <dlfcn.h>
#include <string.h>

#include "layers/level_zero/plugin/module_desc.h"
#include "layers/level_zero/plugin/plugin.h"

#define LIBRARY "libckcache.so.1"

static bool in_use(void)
{
	for (size_t i = 0; i < LZ_NEXTS; i++) {
		if (lz_nexts[i].module_create)
			return lz_plugin_cache();
	}
	return false;
}

const struct ckcache_functions *ckcache_functions(void)
{
	return in_use() ? lz_ckcache_functions() : NULL;
}

ze_result_t lz_extension_get_function(struct lz_next *next, ze_driver_handle_t driver,
				      const char *name, void **ret)
{
	void *own = NULL;

	if (driver && name && ret)
		own = strcmp(name, "ckcache_functions") == 0 ? (void *)ckcache_functions :
							       lz_ckcache_function(name);
	if (!own)
		return LZ_NEXT_FIND(next, driver_get_function)(driver, name, ret);
	*ret = own;
	return ZE_RESULT_SUCCESS;
}

/*
 * Settings made before zeInit would else reach the plugin with the next call of
 * the library, and there may be none. Asking it anything makes it look for the
 * plugin.
 */
void lz_extension_announce(void)
{
	static atomic_bool announced;
	ckcache_get_persistent_fn *ask;
	void *library;
	int enabled;

	if (!in_use() || atomic_exchange(&announced, true))
		return;
	library = dlopen(LIBRARY, RTLD_LAZY | RTLD_NOLOAD);
	if (!library)
		return;
	ask = (ckcache_get_persistent_fn *)dlsym(library, "ckcache_get_persistent");
	if (ask)
		(void)ask(CKCACHE_API_LEVEL_ZERO, &enabled);	/* only that it is asked matters */
	(void)dlclose(library);		/* it never unloads: this drops a count */
}
