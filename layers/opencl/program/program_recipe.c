/* SPDX-License-Identifier: MIT */
/* program_recipe: gathers what repeats a build. */
#include "layers/opencl/program/program_recipe.h"

#include <stdlib.h>
#include <string.h>
#include "cachecore/disk/path.h"
#include "common/env.h"
#include "layers/opencl/key/identity.h"

static void add_environment(struct cmn_buffer *ret)
{
	struct cmn_buffer copy = { 0 };

	ret->failed |= cmn_env_copy(&copy) != CMN_OK;
	for (const char *at = NULL; (at = cmn_env_next(&copy, at));) {
		if (cc_recipe_carries(at))
			cmn_buffer_append(ret, at, strlen(at) + 1);
	}
	cmn_buffer_release(&copy);
}

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

bool ocl_recipe_record(const struct cc_key *key, const struct ocl_targets *targets,
		       const struct cc_manifest *manifest)
{
	struct cmn_buffer files = { 0 }, places = { 0 }, environment = { 0 };
	cl_platform_id platform = platform_of(targets);
	char *directory = NULL;
	bool done = false;

	if (!platform || !add_places(platform, targets, &places))
		goto out;
	directory = cc_manifest_working_directory();
	add_environment(&environment);
	cc_recipe_add_program(&environment, cc_path_program());
	if (cc_manifest_count(manifest))
		cc_manifest_encode(manifest, &files);
	if (!files.failed && !places.failed && !environment.failed) {
		const struct cc_recipe recipe = {
			.key = cc_key_view(key),
			.manifest = cmn_buffer_view(&files),
			.directory = cmn_view_of(directory),
			.places = cmn_buffer_view(&places),
			.environment = cmn_buffer_view(&environment),
		};

		done = cc_cache_put_recipe(ocl_layer.cache, &recipe);
	}
out:
	free(directory);
	cmn_buffer_release(&files);
	cmn_buffer_release(&places);
	cmn_buffer_release(&environment);
	return done;
}
