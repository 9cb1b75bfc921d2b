/* SPDX-License-Identifier: MIT */
/* opencl_loader: its functions by their names. */
#include "tools/worker/opencl_loader.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define NEEDED(member, function) { #function, offsetof(struct opencl_loader, member), true },
#define OPTIONAL(member, function) { #function, offsetof(struct opencl_loader, member), false },

const char *opencl_loader_load(struct opencl_loader *ret)
{
	static const struct {
		const char *name;
		size_t offset;
		bool needed;
	} functions[] = { OPENCL_LOADER_FUNCTIONS(NEEDED, OPTIONAL) };
	void *library = dlopen("libOpenCL.so.1", RTLD_NOW);

	if (!library)
		return dlerror();
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		void *found = dlsym(library, functions[i].name);

		if (!found && functions[i].needed)
			return "it lacks functions of OpenCL 1.1";
		/* ISO C knows no cast from it to a function. */
		memcpy((char *)ret + functions[i].offset, &found, sizeof(found));
	}
	return NULL;
}

cl_uint opencl_loader_platforms(const struct opencl_loader *loader,
				cl_platform_id ret[MAX_PLATFORMS])
{
	cl_uint count = 0;

	if (loader->get_platforms(MAX_PLATFORMS, ret, &count) != CL_SUCCESS)
		return 0;
	return count < MAX_PLATFORMS ? count : MAX_PLATFORMS;
}

cl_uint opencl_loader_devices(const struct opencl_loader *loader, cl_platform_id platform,
			      cl_device_id ret[MAX_DEVICES])
{
	cl_uint count = 0;

	if (loader->get_devices(platform, CL_DEVICE_TYPE_ALL, MAX_DEVICES, ret, &count) !=
	    CL_SUCCESS)
		return 0;
	return count < MAX_DEVICES ? count : MAX_DEVICES;
}
