/* SPDX-License-Identifier: MIT */
/*
 * offline_amd: an OpenCL driver for the loader that is AMD's own one, where no device is. Without
 * hardware AMD's platform has none, but a context with one property has a device of each kind that
 * it can compile for. Here the platform lists some of these, and contexts get that property.
 *
 * The platform, its devices, contexts, programs and kernels are AMD's own, with AMD's table of functions, in
 * which a few are replaced. So whoever looks at them, such as the layer, sees AMD's driver. Such a device has
 * neither queues nor memory: offline_objects.c has them.
 *
 * AMD's driver is the libamdocl64.so in the folder of the path by which this one was loaded, else the
 * one that is installed. OFFLINE_AMD_DEVICES: names of devices, with blanks between them; gfx1100 if it
 * is not set. Not thread-safe before the platform was asked for.
 */
#include <dlfcn.h>
#include <glob.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_icd.h>

#include "tests/opencl/offline_objects.h"

#define EXPORTED __attribute__((visibility("default")))
#define CONTEXT_OFFLINE_DEVICES_AMD 0x403F
#define PLATFORM_NOT_FOUND_KHR (-1001)
/* As a package has it, or as tests/fresh.sh puts it beside packages that it conflicts with. */
#define INSTALLED_AMD "/usr/l*/*/libamdocl64.so"

enum { MAX_DEVICES = 16, MAX_KINDS = 512, MAX_PROPERTIES = 32 };

typedef void CL_CALLBACK notify_fn(const char *text, const void *data, size_t size, void *user);
typedef cl_int CL_API_CALL platforms_fn(cl_uint count, cl_platform_id *ret, cl_uint *ret_count);
typedef void *CL_API_CALL function_address_fn(const char *name);

/* AMD's; NULL: it is not there. */
static function_address_fn *function_address;
static __typeof__(clGetPlatformInfo) *get_platform_info;
/* AMD's functions that are replaced. */
static __typeof__(clGetDeviceIDs) *get_device_ids;
static __typeof__(clGetDeviceInfo) *get_device_info;
static __typeof__(clCreateContext) *create_context;
static __typeof__(clCreateContextFromType) *create_context_from_type;
static cl_device_id devices[MAX_DEVICES];
static cl_uint device_count;

static bool add_property(const cl_context_properties *given, cl_context_properties *ret)
{
	size_t count = 0;

	for (; given && given[count]; count += 2) {
		if (count + 5 > MAX_PROPERTIES)
			return false;
		ret[count] = given[count];
		ret[count + 1] = given[count + 1];
	}
	ret[count++] = CONTEXT_OFFLINE_DEVICES_AMD;
	ret[count++] = 1;
	ret[count] = 0;
	return true;
}

static cl_context CL_API_CALL offline_create_context(const cl_context_properties *properties, cl_uint count,
						     const cl_device_id *given, notify_fn *notify, void *user,
						     cl_int *ret_error)
{
	cl_context_properties more[MAX_PROPERTIES];

	return create_context(add_property(properties, more) ? more : properties, count, given, notify, user,
			      ret_error);
}

static cl_context CL_API_CALL offline_create_context_from_type(const cl_context_properties *properties,
							       cl_device_type type, notify_fn *notify, void *user,
							       cl_int *ret_error)
{
	/* All of them are graphics processors. */
	if (type & (CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_DEFAULT))
		return offline_create_context(properties, device_count, devices, notify, user, ret_error);
	return create_context_from_type(properties, type, notify, user, ret_error);
}

static cl_int CL_API_CALL offline_get_device_ids(cl_platform_id platform, cl_device_type type, cl_uint count,
						 cl_device_id *ret, cl_uint *ret_count)
{
	if (!(type & (CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_DEFAULT)) || (ret && !count) || (!ret && !ret_count))
		return get_device_ids(platform, type, count, ret, ret_count);
	for (cl_uint i = 0; ret && i < count && i < device_count; i++)
		ret[i] = devices[i];
	if (ret_count)
		*ret_count = device_count;
	return CL_SUCCESS;
}

/* What programs need of a device, and AMD's has as 0 or, of texts, as a null pointer. */
static const struct answer {
	cl_device_info param;
	cl_uint size;		/* in bytes; 0: text */
	cl_ulong number;
	const char *text;
} answers[] = {
	{ CL_DEVICE_MAX_COMPUTE_UNITS, 4, 48, NULL },
	{ CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS, 4, 3, NULL },
	{ CL_DEVICE_MAX_WORK_GROUP_SIZE, 8, 256, NULL },
	{ CL_DEVICE_PREFERRED_VECTOR_WIDTH_CHAR, 4, 4, NULL },
	{ CL_DEVICE_PREFERRED_VECTOR_WIDTH_SHORT, 4, 2, NULL },
	{ CL_DEVICE_PREFERRED_VECTOR_WIDTH_INT, 4, 1, NULL },
	{ CL_DEVICE_PREFERRED_VECTOR_WIDTH_LONG, 4, 1, NULL },
	{ CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT, 4, 1, NULL },
	{ CL_DEVICE_PREFERRED_VECTOR_WIDTH_DOUBLE, 4, 1, NULL },
	{ CL_DEVICE_PREFERRED_VECTOR_WIDTH_HALF, 4, 1, NULL },
	{ CL_DEVICE_MAX_CLOCK_FREQUENCY, 4, 2000, NULL },
	{ CL_DEVICE_ADDRESS_BITS, 4, 64, NULL },
	{ CL_DEVICE_MAX_MEM_ALLOC_SIZE, 8, 1 << 28, NULL },
	{ CL_DEVICE_MAX_PARAMETER_SIZE, 8, 1024, NULL },
	{ CL_DEVICE_MEM_BASE_ADDR_ALIGN, 4, 1024, NULL },
	{ CL_DEVICE_MIN_DATA_TYPE_ALIGN_SIZE, 4, 128, NULL },
	{ CL_DEVICE_SINGLE_FP_CONFIG, 8, CL_FP_DENORM | CL_FP_INF_NAN | CL_FP_ROUND_TO_NEAREST | CL_FP_FMA, NULL },
	{ CL_DEVICE_DOUBLE_FP_CONFIG, 8, CL_FP_DENORM | CL_FP_INF_NAN | CL_FP_ROUND_TO_NEAREST | CL_FP_FMA, NULL },
	{ CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE, 4, 64, NULL },
	{ CL_DEVICE_GLOBAL_MEM_SIZE, 8, 1 << 30, NULL },
	{ CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE, 8, 1 << 28, NULL },
	{ CL_DEVICE_MAX_CONSTANT_ARGS, 4, 8, NULL },
	{ CL_DEVICE_LOCAL_MEM_TYPE, 4, CL_LOCAL, NULL },
	{ CL_DEVICE_LOCAL_MEM_SIZE, 8, 1 << 16, NULL },
	{ CL_DEVICE_PROFILING_TIMER_RESOLUTION, 8, 1, NULL },
	{ CL_DEVICE_ENDIAN_LITTLE, 4, CL_TRUE, NULL },
	{ CL_DEVICE_AVAILABLE, 4, CL_TRUE, NULL },
	{ CL_DEVICE_COMPILER_AVAILABLE, 4, CL_TRUE, NULL },
	{ CL_DEVICE_LINKER_AVAILABLE, 4, CL_TRUE, NULL },
	{ CL_DEVICE_EXECUTION_CAPABILITIES, 8, CL_EXEC_KERNEL, NULL },
	{ CL_DEVICE_QUEUE_PROPERTIES, 8, CL_QUEUE_PROFILING_ENABLE, NULL },
	{ CL_DEVICE_PRINTF_BUFFER_SIZE, 8, 1 << 20, NULL },
	{ CL_DEVICE_PROFILE, 0, 0, "FULL_PROFILE" },
	{ CL_DEVICE_BUILT_IN_KERNELS, 0, 0, "" },
};

static cl_int CL_API_CALL offline_get_device_info(cl_device_id device, cl_device_info param, size_t size, void *ret,
						  size_t *ret_size)
{
	static const size_t group[] = { 256, 256, 256 };

	if (param == CL_DEVICE_MAX_WORK_ITEM_SIZES)
		return offline_answer(group, sizeof(group), size, ret, ret_size);
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		const struct answer *one = &answers[i];

		if (one->param == param && one->size)	/* little-endian, as all processors that AMD's driver is for */
			return offline_answer(&one->number, one->size, size, ret, ret_size);
		if (one->param == param)
			return offline_answer(one->text, strlen(one->text) + 1, size, ret, ret_size);
	}
	return get_device_info(device, param, size, ret, ret_size);
}

static void make_writable(const void *from, size_t size, int protection)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = (uintptr_t)from & ~(page - 1);

	if (mprotect((char *)from - ((uintptr_t)from - start), (uintptr_t)from - start + size, protection | PROT_WRITE) != 0)
		abort();
}

/* Whether replace_get_device_info knows how this machine jumps. */
#ifdef __x86_64__
enum { JUMPS = 1 };
#else
enum { JUMPS = 0 };
#endif

/*
 * By that function's address the layer knows whose the device is, so it has to lie in AMD's library: there it
 * takes the place of one that needs a window system.
 */
static void replace_get_device_info(cl_icd_dispatch *table)
{
	unsigned char jump[12] = { 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0 };	/* movabs rax, jmp rax */
	uintptr_t to = (uintptr_t)offline_get_device_info;
	void *place;

	memcpy(&place, &table->clCreateFromGLTexture3D, sizeof(place));
	memcpy(jump + 2, &to, sizeof(to));
	make_writable(place, sizeof(jump), PROT_READ | PROT_EXEC);
	memcpy(place, jump, sizeof(jump));
	get_device_info = table->clGetDeviceInfo;
	memcpy(&table->clGetDeviceInfo, &place, sizeof(place));
}

/* Of all kinds, those that are asked for. */
static void choose(const cl_icd_dispatch *table, const cl_device_id *kinds, size_t count)
{
	const char *wanted = getenv("OFFLINE_AMD_DEVICES");
	char *names = strdup(wanted ? wanted : "gfx1100"), *rest = names;

	for (const char *name; names && (name = strsep(&rest, " ")) && device_count < MAX_DEVICES; ) {
		for (size_t i = 0; i < count; i++) {
			char found[256] = "";

			if (table->clGetDeviceInfo(kinds[i], CL_DEVICE_NAME, sizeof(found), found, NULL) == CL_SUCCESS &&
			    strcmp(found, name) == 0)
				devices[device_count++] = kinds[i];
		}
	}
	free(names);
}

static void open_platform(cl_platform_id platform)
{
	cl_icd_dispatch *table = *(cl_icd_dispatch **)(void *)platform;
	const cl_context_properties properties[] = { CL_CONTEXT_PLATFORM, (cl_context_properties)platform,
						     CONTEXT_OFFLINE_DEVICES_AMD, 1, 0 };
	static cl_device_id kinds[MAX_KINDS];
	size_t size = 0;
	/* Kept as long as the process. */
	cl_context all = table->clCreateContextFromType(properties, CL_DEVICE_TYPE_ALL, NULL, NULL, NULL);

	if (JUMPS && all &&
	    table->clGetContextInfo(all, CL_CONTEXT_DEVICES, sizeof(kinds), kinds, &size) == CL_SUCCESS)
		choose(table, kinds, size / sizeof(kinds[0]));
	if (!device_count) {
		(void)fprintf(stderr, "offline_amd: no such device\n");
		return;
	}
	make_writable(table, sizeof(*table), PROT_READ);
	replace_get_device_info(table);
	get_device_ids = table->clGetDeviceIDs;
	create_context = table->clCreateContext;
	create_context_from_type = table->clCreateContextFromType;
	table->clGetDeviceIDs = offline_get_device_ids;
	table->clCreateContext = offline_create_context;
	table->clCreateContextFromType = offline_create_context_from_type;
	offline_objects_install(table);
}

static cl_int CL_API_CALL get_platforms(cl_uint count, cl_platform_id *ret, cl_uint *ret_count)
{
	platforms_fn *ask = (platforms_fn *)function_address("clIcdGetPlatformIDsKHR");
	cl_platform_id platform;

	if (!device_count && ask && ask(1, &platform, NULL) == CL_SUCCESS)
		open_platform(platform);
	return ask ? ask(count, ret, ret_count) : PLATFORM_NOT_FOUND_KHR;
}

static bool open_driver(void)
{
	char beside[4096 + sizeof("libamdocl64.so")] = "";
	glob_t found = { 0 };
	void *library;
	Dl_info own;
	char *slash;

	if (function_address)
		return true;
	if (dladdr((const void *)open_driver, &own) && strlen(own.dli_fname) < 4096) {
		memcpy(beside, own.dli_fname, strlen(own.dli_fname) + 1);
		slash = strrchr(beside, '/');
		memcpy(slash ? slash + 1 : beside, "libamdocl64.so", sizeof("libamdocl64.so"));
	}
	library = dlopen(beside, RTLD_NOW | RTLD_LOCAL);
	if (!library && glob(INSTALLED_AMD, 0, NULL, &found) == 0)
		library = dlopen(found.gl_pathv[0], RTLD_NOW | RTLD_LOCAL);
	globfree(&found);
	if (library) {
		get_platform_info = (__typeof__(clGetPlatformInfo) *)dlsym(library, "clGetPlatformInfo");
		function_address = (function_address_fn *)dlsym(library, "clGetExtensionFunctionAddress");
	}
	return function_address;
}

/* What a loader looks for in a driver. */
EXPORTED void *CL_API_CALL clGetExtensionFunctionAddress(const char *name)
{
	if (!open_driver())
		return NULL;
	return strcmp(name, "clIcdGetPlatformIDsKHR") == 0 ? (void *)get_platforms : function_address(name);
}

EXPORTED cl_int CL_API_CALL clIcdGetPlatformIDsKHR(cl_uint count, cl_platform_id *ret, cl_uint *ret_count)
{
	return open_driver() ? get_platforms(count, ret, ret_count) : PLATFORM_NOT_FOUND_KHR;
}

EXPORTED cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id platform, cl_platform_info param, size_t size, void *ret,
					      size_t *ret_size)
{
	return open_driver() ? get_platform_info(platform, param, size, ret, ret_size) : CL_INVALID_PLATFORM;
}
