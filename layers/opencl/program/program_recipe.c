/* SPDX-License-Identifier: MIT */
/* program_recipe: the places of a program's devices. */
#include "layers/opencl/program/program_recipe.h"

#include <stdlib.h>

#include "layers/opencl/key/identity.h"
#include "layers/shared/sequence/build_recipe.h"

/* The platform of all devices; NULL: they have several, or the driver would not say. */
static cl_platform_id platform_of(const struct ocl_targets *targets)
{
	cl_platform_id platform = NULL;

	for (cl_uint i = 0; i < targets->program_count; i++) {
		cl_platform_id one = NULL;

		if (OCL_NEXT.clGetDeviceInfo(targets->all[i], CL_DEVICE_PLATFORM, sizeof(one),
					     &one, NULL) != CL_SUCCESS || (platform && one != platform))
			return NULL;
		platform = one;
	}
	return platform;
}

/*
 * The places of the program's devices among their platform's; false: one is a sub-device with code
 * of its own, or two are parts of one.
 */
static bool add_places(cl_platform_id platform, const struct ocl_targets *targets,
		       struct cmn_buffer *ret)
{
	cl_device_id *devices = NULL;
	cl_uint count = 0, found = 0;

	if (OCL_NEXT.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &count) != CL_SUCCESS ||
	    count == 0)
		return false;
	devices = calloc(count, sizeof(*devices));
	if (!devices || OCL_NEXT.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, devices,
						NULL) != CL_SUCCESS)
		goto out;
	for (cl_uint i = 0; i < targets->program_count; i++) {
		cl_device_id builder = ocl_identity_builder(targets->all[i]);

		for (cl_uint j = 0; j < count; j++) {
			if (devices[j] != builder)
				continue;
			cmn_buffer_append_u32(ret, j);
			devices[j] = NULL;	/* no context has a device twice */
			found++;
			break;
		}
	}
out:
	free(devices);
	return found == targets->program_count;
}

bool ocl_recipe_record(const struct drv_sequence *sequence, const struct ocl_targets *targets,
		       const struct cc_manifest *manifest)
{
	struct cmn_buffer places = { 0 };
	cl_platform_id platform = platform_of(targets);
	bool done = platform && add_places(platform, targets, &places) && !places.failed &&
		    drv_build_recipe_put(ocl_layer.cache, sequence->key, manifest,
					 cmn_buffer_view(&places), sequence->cached_as);

	cmn_buffer_release(&places);
	return done;
}
