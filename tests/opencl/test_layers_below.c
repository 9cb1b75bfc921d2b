/* SPDX-License-Identifier: MIT */
/* test_layers_below: another layer between the cache and the driver. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_icd.h>

#include "tests/opencl/driver.h"
#include "tests/support/unit.h"

#define CKCACHE LAYER_LIBRARY

/* The run is good; how often the driver compiled in it. */
static unsigned int run(const char *layers)
{
	unsigned int built = driver_counted("build-source");
	struct outcome outcome;

	CU_ASSERT_EQUAL_FATAL(setenv("CKCACHE_TEST_LAYER", layers, 1), 0);
	outcome = CLIENT(LAYERED, "vector");
	CU_ASSERT_EQUAL(unsetenv("CKCACHE_TEST_LAYER"), 0);
	CU_ASSERT(outcome_good(&outcome));
	return driver_counted("build-source") - built;
}

/*
 * Perhaps at the same place; also where the layer is listed twice. (ocl-icd forgets all but the first one when it
 * is opened again.)
 */
TEST(a_loader_that_is_opened_again_has_the_cache)
{
	driver_program(REOPENED);
	driver_setenv("LD_PRELOAD", "");	/* the loader leaves something behind */
	CU_ASSERT_EQUAL(run(CKCACHE), 3);
	EXPECT_STATS("entries 3, bypasses 0");
	CU_ASSERT_EQUAL(run(CKCACHE), 0);
	CU_ASSERT_EQUAL(run(CKCACHE ":" CKCACHE), 0);
	EXPECT_STATS("entries 3, hits_disk 6");
}

/* Each setting of such a layer is another program, and none of them is the program without it. */
TEST(one_that_changes_builds_is_never_cached)
{
	driver_setenv("X", "1");
	CU_ASSERT_EQUAL(run(CHANGES ":" CKCACHE), 1);
	CU_ASSERT_EQUAL(run(CHANGES ":" CKCACHE), 1);
	driver_setenv("X", "2");
	CU_ASSERT_EQUAL(run(CHANGES ":" CKCACHE), 1);
	EXPECT_STATS("entries 0, bypass.layer-below 3");
	CU_ASSERT_EQUAL(run(CKCACHE), 1);
	CU_ASSERT_EQUAL(run(CKCACHE), 0);
	CU_ASSERT_EQUAL(run(CHANGES ":" CKCACHE), 1);
}

TEST(links_are_not_cached_either)
{
	struct outcome outcome;

	CU_ASSERT_EQUAL_FATAL(setenv("CKCACHE_TEST_LAYER", CHANGES ":" CKCACHE, 1), 0);
	outcome = CLIENT(LAYERED, "link");
	CU_ASSERT_EQUAL(unsetenv("CKCACHE_TEST_LAYER"), 0);
	CU_ASSERT(outcome_good(&outcome));
	CU_ASSERT_EQUAL(driver_stats().entries, 0);
	CU_ASSERT_EQUAL(driver_stats().bypasses, driver_bypasses("layer-below") + driver_bypasses("link-input"));
}

/* What it appends is seen above the driver. */
TEST(above_the_cache_it_is_in_the_key)
{
	driver_setenv("X", "1");
	CU_ASSERT_EQUAL(run(CKCACHE ":" CHANGES), 1);
	CU_ASSERT_EQUAL(run(CKCACHE ":" CHANGES), 0);
	driver_setenv("X", "2");
	CU_ASSERT_EQUAL(run(CKCACHE ":" CHANGES), 1);
	CU_ASSERT_EQUAL(driver_stats().bypasses, 0);
}

TEST(one_that_looks_on_is_in_the_key)
{
	CU_ASSERT_EQUAL(run(LOOKS_ON ":" CKCACHE), 1);
	CU_ASSERT_EQUAL(run(LOOKS_ON ":" CKCACHE), 0);
	CU_ASSERT_EQUAL(run(CKCACHE), 1);
	CU_ASSERT_EQUAL(run(CKCACHE), 0);
	/* Another file of that name. */
	CU_ASSERT_EQUAL(run(LOOKS_ON_TOO ":" CKCACHE), 1);
	CU_ASSERT_EQUAL(run(LOOKS_ON_TOO ":" CKCACHE), 0);
	EXPECT_STATS("bypasses 0, entries 3");
}

/* Its calls are those of the one above it. */
TEST(behind_one_that_looks_on_it_is_seen)
{
	CU_ASSERT_EQUAL(run(CHANGES ":" LOOKS_ON ":" CKCACHE), 1);
	CU_ASSERT_EQUAL(run(CHANGES ":" LOOKS_ON ":" CKCACHE), 1);
	CU_ASSERT_EQUAL(driver_bypasses("layer-below"), 2);
	CU_ASSERT_EQUAL(run(LOOKS_ON ":" CKCACHE ":" CHANGES), 1);
	CU_ASSERT_EQUAL(run(LOOKS_ON ":" CKCACHE ":" CHANGES), 0);
}

TEST(one_that_has_no_part_in_builds_does_not_matter)
{
	CU_ASSERT_EQUAL(run(CKCACHE), 1);
	CU_ASSERT_EQUAL(run(ELSEWHERE ":" CKCACHE), 0);
}

TEST(code_of_no_file_is_not_cached)
{
#ifdef __x86_64__
	CU_ASSERT_EQUAL(run(CODE_OF_NO_FILE ":" CKCACHE), 1);
	CU_ASSERT_EQUAL(run(CODE_OF_NO_FILE ":" CKCACHE), 1);
	CU_ASSERT_EQUAL(driver_bypasses("layer-below"), 2);
#endif
}

/* Whoever is asked in the driver's place decides what is built, what is kept, or what the key says. */
TEST(each_call_that_has_a_part_in_builds_counts)
{
#ifdef __x86_64__
#define CALL(name) { #name, offsetof(cl_icd_dispatch, name) }
	static const struct {
		const char *name;
		size_t place;
	} calls[] = {
		CALL(clGetPlatformInfo), CALL(clGetDeviceInfo), CALL(clCreateSubDevices), CALL(clCreateContext),
		CALL(clCreateContextFromType), CALL(clGetContextInfo), CALL(clCreateProgramWithSource),
		CALL(clCreateProgramWithBinary), CALL(clCreateProgramWithIL),
		CALL(clSetProgramSpecializationConstant), CALL(clRetainProgram), CALL(clReleaseProgram),
		CALL(clBuildProgram), CALL(clCompileProgram), CALL(clLinkProgram), CALL(clGetProgramInfo),
		CALL(clGetProgramBuildInfo), CALL(clCreateKernel), CALL(clCreateKernelsInProgram),
		CALL(clCloneKernel), CALL(clRetainKernel), CALL(clReleaseKernel), CALL(clGetKernelInfo),
		CALL(clGetKernelArgInfo), CALL(clGetKernelWorkGroupInfo), CALL(clGetKernelSubGroupInfo),
		CALL(clGetExtensionFunctionAddress), CALL(clGetExtensionFunctionAddressForPlatform),
	};
#undef CALL
	char place[32];

	driver_begin();
	CU_ASSERT_EQUAL(run(CKCACHE), 1);
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		unsigned int built;

		(void)snprintf(place, sizeof(place), "%zu", calls[i].place);
		driver_setenv("CALL", place);
		built = run(CODE_OF_NO_FILE ":" CKCACHE);
		if (built != 1)
			printf("\n    %s    ", calls[i].name);
		CU_ASSERT_EQUAL(built, 1);
	}
	CU_ASSERT_EQUAL(driver_bypasses("layer-below"), sizeof(calls) / sizeof(calls[0]));
	(void)snprintf(place, sizeof(place), "%zu", offsetof(cl_icd_dispatch, clFlush));
	driver_setenv("CALL", place);
	CU_ASSERT_EQUAL(run(CODE_OF_NO_FILE ":" CKCACHE), 0);
#endif
}

/* As the loader takes them: by any name. */
TEST(a_name_that_only_begins_so_is_another)
{
	char path[4096];

	(void)snprintf(path, sizeof(path), "%s/libCLObjectLifetimeLayer.so_changed", unit_dir());
	CU_ASSERT_EQUAL(symlink(LOOKS_ON, path), 0);
	strcat(path, ":" CKCACHE);
	CU_ASSERT_EQUAL(run(path), 1);
	CU_ASSERT_EQUAL(run(path), 1);
	CU_ASSERT_EQUAL(driver_bypasses("layer-below"), 2);
}
