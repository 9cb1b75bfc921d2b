/* SPDX-License-Identifier: MIT */
/*
 * probe_opencl: asks the OpenCL loader that programs get for itself, its
 * drivers and their devices, whether the layer is between, and builds one
 * small program on one device. Runs in a process of its own and ends with it:
 * nothing is given back.
 */
#include "tools/worker/opencl_loader.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <CL/cl_icd.h>

#include "common/clock.h"
#include "tools/tool.h"
#include "tools/worker/channel.h"
#include "tools/worker/worker.h"

#define MAX_TEXT 1024

/* Of ckcache.h, by the name under which the layer hands it out. */
#define LAYER_FUNCTION "ckcache_version"
/* Likewise: whether no other layer may change what is built (layers/opencl/key/layers_below.h). */
#define BELOW_FUNCTION "ckcache_layers_below_are_known"
/* What both loaders tell of themselves (cl_loader_info of the headers after Debian 12's). */
enum { LOADER_VERSION = 2, LOADER_NAME = 3, LOADER_VENDOR = 4 };

typedef cl_int(CL_API_CALL *loader_info_fn)(cl_uint name, size_t size, void *value,
					    size_t *ret_size);

/* false: said why. */
static bool load(struct opencl_loader *ret)
{
	const char *problem;

	channel_asking("the OpenCL loader");
	problem = opencl_loader_load(ret);
	return worker_say_loader(problem, (const void *)ret->get_platforms);
}

static void say_loader_name(const struct opencl_loader *loader)
{
	loader_info_fn info =
		(loader_info_fn)loader->get_function("clGetICDLoaderInfoOCLICD");
	char name[MAX_TEXT] = "", version[MAX_TEXT] = "", vendor[MAX_TEXT] = "";

	if (!info || info(LOADER_NAME, sizeof(name), name, NULL) != CL_SUCCESS ||
	    info(LOADER_VERSION, sizeof(version), version, NULL) != CL_SUCCESS)
		return;
	/* ocl-icd's name is everybody's; its vendor is not. */
	(void)info(LOADER_VENDOR, sizeof(vendor), vendor, NULL);	/* it stays empty */
	(void)channel_say("named", strstr(vendor, "OCL Icd") ? "ocl-icd" : name, version);
}

static cl_uint get_platforms(const struct opencl_loader *loader, cl_platform_id ret[MAX_PLATFORMS])
{
	channel_asking("all OpenCL drivers for their platforms");
	return opencl_loader_platforms(loader, ret);
}

/*
 * Word 0 of a handle is the driver's dispatch table (cl_khr_icd), whose first
 * entry is a number since cl_khr_icd 2.0. "": not to be told.
 */
static const char *library_of(cl_platform_id platform)
{
	const cl_icd_dispatch *dispatch = *(const cl_icd_dispatch *const *)platform;
	Dl_info info;

	if (!dispatch || !dispatch->clGetPlatformInfo ||
	    !dladdr((void *)dispatch->clGetPlatformInfo, &info) || !info.dli_fname ||
	    strstr(info.dli_fname, "/libOpenCL.so"))
		return "";
	return info.dli_fname;
}

static void say_device(const struct opencl_loader *loader, const char *platform, cl_uint place,
		       cl_device_id device)
{
	char number[16], name[MAX_TEXT] = "", version[MAX_TEXT] = "";
	cl_device_type type = 0;

	(void)snprintf(number, sizeof(number), "%u", place);	/* it fits */
	/* What fails leaves its text empty. */
	(void)loader->get_device_info(device, CL_DEVICE_NAME, sizeof(name), name, NULL);
	(void)loader->get_device_info(device, CL_DRIVER_VERSION, sizeof(version), version, NULL);
	(void)loader->get_device_info(device, CL_DEVICE_TYPE, sizeof(type), &type, NULL);
	(void)channel_say("device", platform, number, name, version,
		  type & CL_DEVICE_TYPE_GPU ? "gpu" : "other");
}

static void say_platform(const struct opencl_loader *loader, cl_uint place, cl_platform_id platform)
{
	char number[16], name[MAX_TEXT] = "", version[MAX_TEXT] = "", what[MAX_TEXT + 64];
	cl_device_id devices[MAX_DEVICES];
	cl_uint count;

	(void)snprintf(number, sizeof(number), "%u", place);	/* it fits */
	(void)loader->get_platform_info(platform, CL_PLATFORM_NAME, sizeof(name), name, NULL);
	(void)loader->get_platform_info(platform, CL_PLATFORM_VERSION, sizeof(version), version,
					NULL);
	(void)channel_say("platform", number, name, version, library_of(platform));
	(void)snprintf(what, sizeof(what), "\"%s\" for its devices", name);
	channel_asking(what);
	count = opencl_loader_devices(loader, platform, devices);
	for (cl_uint i = 0; i < count; i++)
		say_device(loader, number, i, devices[i]);
}

static void *layer_function(const struct opencl_loader *loader, const cl_platform_id *platforms,
			    cl_uint count, const char *name)
{
	void *function = NULL;

	if (count && loader->get_platform_function)
		function = loader->get_platform_function(platforms[0], name);
	return function ? function : loader->get_function(name);
}

/* Whether the layer answers through the loader, and what it says of others. */
static void say_active(const struct opencl_loader *loader, const cl_platform_id *platforms,
		       cl_uint count)
{
	bool (*below_are_known)(void);

	channel_asking("for the layer");
	worker_say_layers();
	if (!layer_function(loader, platforms, count, LAYER_FUNCTION))
		return;
	(void)channel_say("active");
	below_are_known = (bool (*)(void))layer_function(loader, platforms, count, BELOW_FUNCTION);
	if (below_are_known && !below_are_known())
		(void)channel_say("below");
}

int probe_opencl(int argc, char **argv)
{
	cl_platform_id platforms[MAX_PLATFORMS];
	struct opencl_loader loader = { 0 };
	cl_uint count;

	if (!load(&loader))
		return TOOL_FAILED;
	count = get_platforms(&loader, platforms);
	say_loader_name(&loader);
	say_active(&loader, platforms, count);
	for (cl_uint i = 0; i < count; i++)
		say_platform(&loader, i, platforms[i]);
	for (int i = 1; i < argc; i++) {
		char what[MAX_TEXT];

		(void)snprintf(what, sizeof(what), "the driver %s to load", argv[i]);
		channel_asking(what);
		if (dlopen(argv[i], RTLD_LAZY | RTLD_LOCAL))
			(void)channel_say("icd", argv[i]);
		else
			(void)channel_say("icd", argv[i], dlerror());
	}
	channel_asking("the drivers to end");
	return TOOL_OK;
}

static int fail(const char *what, cl_int error)
{
	char number[32];

	(void)snprintf(number, sizeof(number), "OpenCL error %d", error);	/* it fits */
	(void)channel_say("failed", what, number);
	return TOOL_FAILED;
}

/* Long enough to be compiled, short enough not to wait for. */
static const char source[] =
	"kernel void ckcache_doctor(global float *out, int n)\n"
	"{\n"
	"\tfloat sum = 0;\n"
	"\n"
	"\tfor (int i = 0; i < n; i++)\n"
	"\t\tsum += out[i] * sum + i;\n"
	"\tout[get_global_id(0)] = sum;\n"
	"}\n";

static int build(const struct opencl_loader *loader, cl_platform_id platform, cl_device_id device)
{
	const cl_context_properties properties[] = {
		CL_CONTEXT_PLATFORM, (cl_context_properties)platform, 0,
	};
	const char *text = source;
	cl_int error = CL_SUCCESS;
	cl_context context;
	cl_program program;
	char number[32];
	uint64_t start;

	context = loader->create_context(properties, 1, &device, NULL, NULL, &error);
	if (!context)
		return fail("clCreateContext", error);
	program = loader->create_with_source(context, 1, &text, NULL, &error);
	if (!program)
		return fail("clCreateProgramWithSource", error);
	start = cmn_clock_monotonic();
	error = loader->build(program, 0, NULL, "", NULL, NULL);
	if (error != CL_SUCCESS)
		return fail("clBuildProgram", error);
	(void)snprintf(number, sizeof(number), "%" PRIu64, cmn_clock_monotonic() - start);
	if (!loader->create_kernel(program, "ckcache_doctor", &error))
		return fail("clCreateKernel", error);
	(void)channel_say("built", number);
	channel_asking("the driver to end");
	return TOOL_OK;
}

/* What cannot be built says why, and is no failure. */
static int build_for_all(const struct opencl_loader *loader)
{
	cl_platform_id platforms[MAX_PLATFORMS];
	cl_uint count = get_platforms(loader, platforms);

	for (cl_uint i = 0; i < count; i++) {
		cl_device_id devices[MAX_DEVICES];
		cl_uint device_count = opencl_loader_devices(loader, platforms[i], devices);

		for (cl_uint j = 0; j < device_count; j++)
			(void)build(loader, platforms[i], devices[j]);
	}
	worker_say_mapped();
	return TOOL_OK;
}

int probe_opencl_build(int argc, char **argv)
{
	unsigned long at = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
	unsigned long place = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	cl_platform_id platforms[MAX_PLATFORMS];
	cl_device_id devices[MAX_DEVICES];
	struct opencl_loader loader = { 0 };

	if (!load(&loader))
		return TOOL_FAILED;
	if (argc < 3)
		return build_for_all(&loader);
	if (at >= get_platforms(&loader, platforms) ||
	    place >= opencl_loader_devices(&loader, platforms[at], devices)) {
		(void)channel_say("failed", "device", "it is no longer there");
		return TOOL_FAILED;
	}
	channel_asking("the driver to build a small program");
	return build(&loader, platforms[at], devices[place]);
}
