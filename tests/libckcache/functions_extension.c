/* SPDX-License-Identifier: MIT */
/* functions_extension: those that the layer gives a program that links nothing but OpenCL. */
#include "tests/libckcache/client.h"

const struct ckcache_functions *api_functions(cl_platform_id platform)
{
	ckcache_functions_fn *get = NULL;

	if (platform)
		get = (ckcache_functions_fn *)clGetExtensionFunctionAddressForPlatform(
			platform, "ckcache_functions");
	return get ? get() : NULL;
}
