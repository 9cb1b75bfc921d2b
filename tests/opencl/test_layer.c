/* SPDX-License-Identifier: MIT */
/*
 * test_layer: the layer's library by itself: its answers to a loader, and its
 * dispatch table, which leaves alone what it does not need.
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <dlfcn.h>

#include <CL/cl_layer.h>

#include "tests/support/unit.h"

enum { ENTRIES = sizeof(cl_icd_dispatch) / sizeof(void *) };

#define ENTRY(name) (offsetof(cl_icd_dispatch, name) / sizeof(void *))

/* Without these there is no cache. */
static const size_t needed[] = {
	ENTRY(clCreateProgramWithSource), ENTRY(clBuildProgram), ENTRY(clCreateKernel),
	ENTRY(clCreateKernelsInProgram), ENTRY(clRetainProgram), ENTRY(clReleaseProgram),
	ENTRY(clRetainKernel), ENTRY(clReleaseKernel), ENTRY(clGetKernelInfo),
	ENTRY(clGetKernelWorkGroupInfo),
	ENTRY(clGetProgramInfo), ENTRY(clGetProgramBuildInfo), ENTRY(clCloneKernel),
};
/* These may be there as well: programs, kernels, and what hands out functions by name. */
static const size_t allowed[] = {
	ENTRY(clCompileProgram), ENTRY(clLinkProgram), ENTRY(clCreateProgramWithIL),
	ENTRY(clCreateProgramWithBinary), ENTRY(clCreateProgramWithBuiltInKernels),
	ENTRY(clSetProgramSpecializationConstant), ENTRY(clSetProgramReleaseCallback),
	ENTRY(clGetExtensionFunctionAddress), ENTRY(clGetExtensionFunctionAddressForPlatform),
	ENTRY(clCreateContext), ENTRY(clCreateContextFromType), ENTRY(clRetainContext),
	ENTRY(clReleaseContext), ENTRY(clGetContextInfo), ENTRY(clUnloadCompiler),
	ENTRY(clUnloadPlatformCompiler),
};

static bool in(size_t entry, const size_t *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (list[i] == entry)
			return true;
	}
	return false;
}
#define IN(entry, list) in(entry, list, sizeof(list) / sizeof((list)[0]))

static const char *layer_path(void)
{
	const char *path = getenv("CKCACHE_TEST_LAYER");

	return path ? path : LAYER_LIBRARY;
}

static void *layer_function(const char *name)
{
	void *layer = dlopen(layer_path(), RTLD_NOW | RTLD_LOCAL), *function;

	CU_ASSERT_PTR_NOT_NULL_FATAL(layer);
	function = dlsym(layer, name);
	CU_ASSERT_PTR_NOT_NULL_FATAL(function);
	return function;
}

TEST(answers_version_and_name)
{
	pfn_clGetLayerInfo info = (pfn_clGetLayerInfo)layer_function("clGetLayerInfo");
	cl_layer_api_version version = 0;
	char name[128] = "";
	size_t size = 0;

	CU_ASSERT_EQUAL(info(CL_LAYER_API_VERSION, sizeof(version), &version, &size), CL_SUCCESS);
	CU_ASSERT_EQUAL(version, CL_LAYER_API_VERSION_100);
	CU_ASSERT_EQUAL(size, sizeof(version));
	CU_ASSERT_EQUAL(info(CL_LAYER_NAME, 0, NULL, &size), CL_SUCCESS);
	CU_ASSERT_FATAL(size > 1 && size <= sizeof(name));
	CU_ASSERT_EQUAL(info(CL_LAYER_NAME, size, name, NULL), CL_SUCCESS);
	CU_ASSERT_EQUAL(strlen(name) + 1, size);
	CU_ASSERT_PTR_NOT_NULL(strstr(name, "ckcache"));
	CU_ASSERT_EQUAL(info(CL_LAYER_NAME, 1, name, NULL), CL_INVALID_VALUE);
	CU_ASSERT_EQUAL(info(CL_LAYER_API_VERSION, 1, &version, NULL), CL_INVALID_VALUE);
	CU_ASSERT_EQUAL(info(0x1234, sizeof(name), name, &size), CL_INVALID_VALUE);
}

/* No entry of the target may be called while the layer starts. */
static void called(void)
{
	_exit(99);
}

/* A layer starts once in a process, so each table is tried in a child; its exit code. */
static int in_child(int (*check)(pfn_clInitLayer init))
{
	int status = -1;
	pid_t child;

	(void)fflush(NULL);	/* else the child could print it again */
	child = fork();
	CU_ASSERT_FATAL(child >= 0);
	if (child == 0)
		_exit(check((pfn_clInitLayer)layer_function("clInitLayer")));
	CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int start(pfn_clInitLayer init, cl_uint given, cl_uint *ret_count, void ***ret_table)
{
	static void *target[ENTRIES];
	const cl_icd_dispatch *table = NULL;
	/* As long as what is given: reading past it shows under a sanitizer. */
	void **exact = malloc(given * sizeof(*exact));

	for (size_t i = 0; i < ENTRIES; i++)
		target[i] = (void *)called;
	if (!exact)
		return 2;
	memcpy(exact, target, given * sizeof(*exact));
	if (init(given, (const cl_icd_dispatch *)exact, ret_count, &table) || !table)
		return 2;
	*ret_table = (void **)table;
	return 0;
}

static int check_table(pfn_clInitLayer init)
{
	cl_uint count = 0;
	void **table;
	int code = start(init, ENTRIES, &count, &table);

	if (code)
		return code;
	for (size_t i = 0; i < count; i++) {
		if (IN(i, needed) ? !table[i] : table[i] && !IN(i, allowed)) {
			(void)printf("\n    entry %zu is %s\n    ", i, table[i] ? "set" : "not set");
			(void)fflush(stdout);	/* _exit does not */
			return 3;
		}
	}
	return count >= 120 ? 0 : 4;
}

static int check_short_table(pfn_clInitLayer init)
{
	cl_uint count = 0;
	void **table;

	return start(init, 60, &count, &table);
}

static int check_disabled(pfn_clInitLayer init)
{
	cl_uint count = 0;
	void **table;
	int code;

	if (setenv("CKCACHE_DISABLE", "1", 1))
		return 2;
	code = start(init, ENTRIES, &count, &table);
	for (size_t i = 0; !code && i < count; i++)
		code = table[i] ? 3 : 0;
	return code;
}

static int check_bad_arguments(pfn_clInitLayer init)
{
	static const cl_icd_dispatch target;
	const cl_icd_dispatch *table = NULL;
	cl_uint count = 0;

	if (init(ENTRIES, NULL, &count, &table) == CL_SUCCESS)
		return 3;
	if (init(ENTRIES, &target, NULL, &table) == CL_SUCCESS)
		return 4;
	return init(ENTRIES, &target, &count, NULL) == CL_SUCCESS ? 5 : 0;
}

TEST(leaves_alone_what_it_does_not_need)
{
	CU_ASSERT_EQUAL(in_child(check_table), 0);
}

TEST(reads_no_more_entries_than_given)
{
	CU_ASSERT_EQUAL(in_child(check_short_table), 0);
}

TEST(disabled_table_is_empty)
{
	CU_ASSERT_EQUAL(in_child(check_disabled), 0);
}

TEST(refuses_bad_arguments)
{
	CU_ASSERT_EQUAL(in_child(check_bad_arguments), 0);
}
