/* SPDX-License-Identifier: MIT */
/* stub_layer: finds the driver as a loader does. */
#include "tests/unit/layers/opencl/stub_layer.h"

#include <dlfcn.h>

#include "layers/shared/observer/got_slots.h"
#include "tests/support/unit.h"

enum { PATIENCE_S = 20 };

cl_icd_dispatch driver;
cl_device_id device;
cl_context context;

void stub_layer_begin(void)
{
	void *library = dlopen(STUB_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	cl_platform_id platform = NULL;
	cl_int (*get_platforms)(cl_uint, cl_platform_id *, cl_uint *);

	(void)alarm(PATIENCE_S);	/* cannot fail */
	CU_ASSERT_PTR_NOT_NULL_FATAL(library);
	get_platforms = (cl_int (*)(cl_uint, cl_platform_id *, cl_uint *))dlsym(library, "clIcdGetPlatformIDsKHR");
	CU_ASSERT_EQUAL_FATAL(get_platforms(1, &platform, NULL), CL_SUCCESS);
	driver = **(cl_icd_dispatch **)platform;
	ocl_layer.next = driver;
	CU_ASSERT_EQUAL(setenv("CKCACHE_DIR", unit_dir(), 1), 0);
	CU_ASSERT_EQUAL(setenv("CKCACHE_CAPTURE", "eager", 1), 0);
	CU_ASSERT_EQUAL_FATAL(cc_cache_open(&ocl_layer.cache), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(driver.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), CL_SUCCESS);
	context = driver.clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
}

cl_program stub_layer_build(const char *source, const char *options)
{
	cl_program program = ocl_clCreateProgramWithSource(context, 1, (const char **)&source, NULL, NULL);

	CU_ASSERT_PTR_NOT_NULL_FATAL(program);
	CU_ASSERT_EQUAL_FATAL(ocl_clBuildProgram(program, 0, NULL, options, NULL, NULL), CL_SUCCESS);
	return program;
}

cl_program stub_layer_load(const char *source)
{
	CU_ASSERT_EQUAL(ocl_clReleaseProgram(stub_layer_build(source, "")), CL_SUCCESS);
	return stub_layer_build(source, "");
}

bool stub_layer_loads(void)
{
	if (!drv_slots_known())
		(void)puts("SKIPPED: no program is loaded, since nothing can be observed on this architecture");
	return drv_slots_known();
}
