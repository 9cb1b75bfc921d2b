/* SPDX-License-Identifier: MIT */
/*
 * context: what the first build would otherwise wait for is done while the
 * application makes its context: identifying the devices (some 50 µs), and
 * one look-up of a program that does not exist, which brings the cache's code
 * and its directory into memory (some 50 µs more).
 */
#include "layers/opencl/key/build_key.h"
#include "common/cancel.h"
#include "layers/opencl/hooks/dispatch.h"

static void rehearse_lookup(cl_device_id device)
{
	static struct ocl_program_text no_bytes;
	struct ocl_program program = { .text = &no_bytes };
	cl_uint place = 0;
	const struct ocl_targets targets = { 1, &device, &place, 1, &device };
	const struct ocl_key_request request = {
		.kind = "source", .program = &program, .targets = &targets,
	};
	const struct drv_driver *driver;
	const char *reason;
	struct cc_key key;

	if (ocl_build_key(&request, &key, &driver, &reason) == CMN_OK)
		cc_cache_rehearse(ocl_layer.cache, &key);
	ocl_build_key_release(&key);
}

static void prepare(cl_context context)
{
	cl_device_id devices[16];
	const struct ocl_identity *identity;
	size_t size = 0;

	/* Contexts of more devices are identified when they build. */
	if (!ocl_layer.cache ||
	    OCL_NEXT.clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof(devices), devices,
				      &size) != CL_SUCCESS)
		return;
	for (size_t i = 0; i < size / sizeof(devices[0]); i++) {
		/* One that cannot be identified is found out, and counted, by its first build. */
		if (ocl_identity_of(devices[i], &identity) != CMN_OK)
			return;
	}
	if (size)
		rehearse_lookup(devices[0]);
}

cl_context CL_API_CALL ocl_clCreateContext(
	const cl_context_properties *properties, cl_uint num_devices, const cl_device_id *devices,
	void(CL_CALLBACK *pfn_notify)(const char *, const void *, size_t, void *), void *user_data,
	cl_int *errcode_ret)
{
	CMN_NOT_CANCELLED;
	cl_context context = OCL_NEXT.clCreateContext(properties, num_devices, devices, pfn_notify,
						      user_data, errcode_ret);

	if (context)
		prepare(context);
	return context;
}

cl_context CL_API_CALL ocl_clCreateContextFromType(
	const cl_context_properties *properties, cl_device_type device_type,
	void(CL_CALLBACK *pfn_notify)(const char *, const void *, size_t, void *), void *user_data,
	cl_int *errcode_ret)
{
	CMN_NOT_CANCELLED;
	cl_context context = OCL_NEXT.clCreateContextFromType(properties, device_type, pfn_notify,
							      user_data, errcode_ret);

	if (context)
		prepare(context);
	return context;
}
