/* SPDX-License-Identifier: MIT */
/* effective: a program from an entry's binaries. */
#include "layers/opencl/effective.h"

#include <stdlib.h>

static bool is_memory_error(cl_int error)
{
	return error == CL_OUT_OF_HOST_MEMORY || error == CL_OUT_OF_RESOURCES;
}

/* clCreateProgramWithBinary, believing the driver only if error and every status agree. */
static cl_int create_from_entry(cl_context context, struct ocl_effective *effective)
{
	cl_uint count = effective->num_devices;
	const unsigned char **images = calloc(count, sizeof(*images));
	size_t *lens = calloc(count, sizeof(*lens));
	cl_int *statuses = calloc(count, sizeof(*statuses));
	cl_int error = CL_OUT_OF_HOST_MEMORY;

	if (!images || !lens || !statuses)
		goto out;
	for (cl_uint i = 0; i < count; i++) {
		struct cmn_view image;

		error = CL_INVALID_BINARY;
		if (!cc_entry_find(effective->entry, CC_TAG_IMAGE, i, &image) || !image.len)
			goto out;
		images[i] = image.data;
		lens[i] = image.len;
	}
	error = CL_SUCCESS;
	effective->handle = OCL_NEXT.clCreateProgramWithBinary(context, count, effective->devices,
							       lens, images, statuses, &error);
	for (cl_uint i = 0; i < count && error == CL_SUCCESS; i++)
		error = statuses[i];
	if (!effective->handle && error == CL_SUCCESS)
		error = CL_INVALID_BINARY;
out:
	free(images);
	free(lens);
	free(statuses);
	return error;
}

enum cmn_status ocl_effective_new(cl_context context, cl_uint num_devices,
				  const cl_device_id *devices, const char *options,
				  struct cc_entry *entry, struct ocl_effective **ret)
{
	struct ocl_effective *effective;
	cl_int error;

	effective = calloc(1, sizeof(*effective) + num_devices * sizeof(devices[0]));
	if (!effective)
		return CMN_ERR_NOMEM;
	atomic_init(&effective->refs, 1);
	effective->entry = cc_entry_ref(entry);
	effective->num_devices = num_devices;
	for (cl_uint i = 0; i < num_devices; i++)
		effective->devices[i] = devices[i];
	error = create_from_entry(context, effective);
	if (error == CL_SUCCESS)
		error = OCL_NEXT.clBuildProgram(effective->handle, num_devices, devices, options,
						NULL, NULL);
	if (error != CL_SUCCESS) {
		ocl_effective_unref(effective);
		return is_memory_error(error) ? CMN_ERR_NOMEM : CMN_ERR_DRIVER;
	}
	effective->entry = cc_entry_without_images(entry);
	cc_entry_unref(entry);
	*ret = effective;
	return CMN_OK;
}

struct ocl_effective *ocl_effective_ref(struct ocl_effective *effective)
{
	if (effective)
		atomic_fetch_add_explicit(&effective->refs, 1, memory_order_relaxed);
	return effective;
}

void ocl_effective_unref(struct ocl_effective *effective)
{
	if (!effective ||
	    atomic_fetch_sub_explicit(&effective->refs, 1, memory_order_acq_rel) != 1)
		return;
	if (effective->handle)
		(void)OCL_NEXT.clReleaseProgram(effective->handle);	/* nobody to tell */
	cc_entry_unref(effective->entry);
	free(effective);
}
