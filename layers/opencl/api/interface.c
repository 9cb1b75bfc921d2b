/* SPDX-License-Identifier: MIT */
/*
 * interface: the functions of ckcache.h for OpenCL's descriptions, and for
 * programs that ask for them by name. Those of Level Zero are not among them.
 */
#include <string.h>

#include "layers/shared/api/device.h"
#include "layers/opencl/api/program_desc.h"
#include "layers/opencl/key/layers_below.h"

static const struct ckcache_functions functions = {
	.struct_size = sizeof(struct ckcache_functions),
#define OPENCL(name) .opencl_##name = ocl_ckcache_##name,
#include "layers/shared/api/functions.def"
};

const struct ckcache_functions *ocl_ckcache_functions(void)
{
	return &functions;
}

void *ocl_ckcache_function(const char *name)
{
	if (strcmp(name, "ckcache_functions") == 0)
		return (void *)ocl_ckcache_functions;
	/* For ckcache doctor. */
	if (strcmp(name, "ckcache_layers_below_are_known") == 0)
		return (void *)ocl_layers_below_are_known;
	return api_function_named(&functions, name);
}
