/* SPDX-License-Identifier: MIT */
/* stub_driver: the dispatch table, the ICD entry points, and the objects that are not programs or kernels. */
#include "tests/opencl/stub_driver.h"

struct _cl_platform_id stub_platform = { &stub_dispatch };
static struct _cl_device_id devices[STUB_MAX_DEVICES] = {
	{ &stub_dispatch, 0 }, { &stub_dispatch, 1 }, { &stub_dispatch, 2 }, { &stub_dispatch, 3 },
	{ &stub_dispatch, 4 }, { &stub_dispatch, 5 }, { &stub_dispatch, 6 }, { &stub_dispatch, 7 },
};
/* Whose parts they are with STUB_PARENT. */
static struct _cl_device_id whole_device = { &stub_dispatch, STUB_MAX_DEVICES };

const char *const stub_event_prefix = "";

cl_int stub_answer(const void *value, size_t value_size, size_t size, void *ret, size_t *ret_size)
{
	if (ret && size < value_size)
		return CL_INVALID_VALUE;
	if (ret)
		memcpy(ret, value, value_size);
	if (ret_size)
		*ret_size = value_size;
	return CL_SUCCESS;
}

cl_int stub_answer_text(const char *text, size_t size, void *ret, size_t *ret_size)
{
	return stub_answer(text ? text : "", text ? strlen(text) + 1 : 1, size, ret, ret_size);
}

static cl_uint device_count(void)
{
	int count = stub_number("STUB_DEVICES", 1);

	return count < 1 || count > STUB_MAX_DEVICES ? 1 : (cl_uint)count;
}

static const char *text_of(const char *property, const char *usual)
{
	return stub_changed(property) ? "another" : usual;
}

static cl_int CL_API_CALL stub_clGetPlatformIDs(cl_uint count, cl_platform_id *ret, cl_uint *ret_count)
{
	if (ret && !count)
		return CL_INVALID_VALUE;
	if (ret)
		*ret = &stub_platform;
	if (ret_count)
		*ret_count = 1;
	return CL_SUCCESS;
}

static cl_int CL_API_CALL stub_clGetPlatformInfo(cl_platform_id platform, cl_platform_info name,
						 size_t size, void *ret, size_t *ret_size)
{
	if (platform && platform != &stub_platform)
		return CL_INVALID_PLATFORM;
	switch (name) {
	case CL_PLATFORM_PROFILE:
		return stub_answer_text("FULL_PROFILE", size, ret, ret_size);
	case CL_PLATFORM_VERSION:
		return stub_answer_text(stub_changed("platform_version") ? "OpenCL 3.0 other" :
				       "OpenCL 3.0 stub", size, ret, ret_size);
	case CL_PLATFORM_NAME:
		return stub_answer_text(text_of("platform_name", "stub"), size, ret, ret_size);
	case CL_PLATFORM_VENDOR:
		return stub_answer_text("ckcache tests", size, ret, ret_size);
	case CL_PLATFORM_EXTENSIONS:
		return stub_answer_text("cl_khr_icd", size, ret, ret_size);
	case CL_PLATFORM_ICD_SUFFIX_KHR:
		return stub_answer_text("STUB", size, ret, ret_size);
	default:
		return CL_INVALID_VALUE;
	}
}

static cl_int CL_API_CALL stub_clGetDeviceIDs(cl_platform_id platform, cl_device_type type,
					      cl_uint count, cl_device_id *ret, cl_uint *ret_count)
{
	cl_uint all = device_count();
	char wanted[64];

	if (platform && platform != &stub_platform)
		return CL_INVALID_PLATFORM;
	if ((ret && !count) || (!ret && !ret_count))
		return CL_INVALID_VALUE;
	if (!(type & (CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_DEFAULT)) ||
	    (stub_setting("STUB_DEVICES_WANT", wanted, sizeof(wanted)) && !getenv(wanted)))
		return CL_DEVICE_NOT_FOUND;
	for (cl_uint i = 0; ret && i < all && i < count; i++)
		ret[i] = &devices[i];
	if (ret_count)
		*ret_count = all;
	return CL_SUCCESS;
}

/* Numbers that tell devices apart; those of extensions whether they are there or not. */
static bool number_of(cl_device_info name, cl_ulong *ret, size_t *ret_size)
{
	static const struct {
		cl_device_info name;
		const char *property;
		size_t size;
		cl_ulong usual;
	} numbers[] = {
		{ CL_DEVICE_VENDOR_ID, "vendor_id", sizeof(cl_uint), 0x5755 },
		{ CL_DEVICE_ADDRESS_BITS, "address_bits", sizeof(cl_uint), 64 },
		{ CL_DEVICE_MAX_WORK_GROUP_SIZE, "max_work_group_size", sizeof(size_t), 256 },
		{ CL_DEVICE_LOCAL_MEM_SIZE, "local_mem_size", sizeof(cl_ulong), 65536 },
		{ CL_DEVICE_MAX_COMPUTE_UNITS, "units", sizeof(cl_uint), 4 },
		{ CL_DEVICE_PARTITION_TYPE, "partition", sizeof(cl_device_partition_property),
		  CL_DEVICE_PARTITION_EQUALLY },
		{ 0x4250 /* CL_DEVICE_IP_VERSION_INTEL */, "ip_version", sizeof(cl_uint), 12 },
		{ 0x4251 /* CL_DEVICE_ID_INTEL */, "id", sizeof(cl_uint), 0x5700 },
		{ 0x4000 /* CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV */, "cc_major", sizeof(cl_uint), 9 },
		{ 0x4001 /* CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV */, "cc_minor", sizeof(cl_uint), 0 },
		{ 0x106a /* CL_DEVICE_UUID_KHR, of half its size */, "uuid", sizeof(cl_ulong), 77 },
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (numbers[i].name == name) {
			*ret = numbers[i].usual + stub_changed(numbers[i].property);
			*ret_size = numbers[i].size;
			return true;
		}
	}
	return false;
}

static atomic_flag refused_answer = ATOMIC_FLAG_INIT;	/* STUB_NO_DEVICE_ANSWER */

static cl_int CL_API_CALL stub_clGetDeviceInfo(cl_device_id device, cl_device_info name,
					       size_t size, void *ret, size_t *ret_size)
{
	cl_device_type type = stub_changed("type") || stub_is_set("STUB_PROCESSOR") ? CL_DEVICE_TYPE_CPU :
			      stub_changed("accelerator") ? CL_DEVICE_TYPE_ACCELERATOR : CL_DEVICE_TYPE_GPU;
	cl_platform_id platform = &stub_platform;
	cl_device_id parent = NULL;
	cl_bool yes = CL_TRUE;
	cl_ulong number;
	size_t number_size;
	char text[256];

	if (!device)
		return CL_INVALID_DEVICE;
	if (stub_setting("STUB_NO_DEVICE_ANSWER", text, sizeof(text)) && strtoul(text, NULL, 0) == name &&
	    !atomic_flag_test_and_set(&refused_answer))
		return CL_OUT_OF_HOST_MEMORY;
	if (number_of(name, &number, &number_size)) {
		if (name == CL_DEVICE_MAX_COMPUTE_UNITS && device != &whole_device)
			number += stub_changed("part_units");
		/* The first bytes of a larger number, as everywhere here. */
		return stub_answer(&number, number_size, size, ret, ret_size);
	}
	switch (name) {
	case CL_DEVICE_PARENT_DEVICE:
		if (stub_is_set("STUB_PARENT") && device != &whole_device)
			parent = &whole_device;
		return stub_answer(&parent, sizeof(parent), size, ret, ret_size);
	case CL_DEVICE_TYPE:
		return stub_answer(&type, sizeof(type), size, ret, ret_size);
	case CL_DEVICE_AVAILABLE:
	case CL_DEVICE_COMPILER_AVAILABLE:
	case CL_DEVICE_LINKER_AVAILABLE:
		return stub_answer(&yes, sizeof(yes), size, ret, ret_size);
	case CL_DEVICE_PLATFORM:
		if (stub_is_set("STUB_NO_PLATFORM"))
			return CL_OUT_OF_RESOURCES;
		return stub_answer(&platform, sizeof(platform), size, ret, ret_size);
	case CL_DEVICE_NAME:
		if (!stub_setting("STUB_DEVICE_NAME", text, sizeof(text)))
			(void)snprintf(text, sizeof(text), "stub device");
		return stub_answer_text(text, size, ret, ret_size);
	case CL_DEVICE_VENDOR:
		return stub_answer_text(text_of(device->index == 1 ? "second_vendor" : "vendor",
						"ckcache tests"), size, ret, ret_size);
	case CL_DEVICE_VERSION:
		return stub_answer_text(stub_changed("version") ? "OpenCL 3.0 other" : "OpenCL 3.0 stub",
					size, ret, ret_size);
	case CL_DEVICE_OPENCL_C_VERSION:
		return stub_answer_text(stub_changed("c_version") ? "OpenCL C 1.2 other" :
				       "OpenCL C 1.2 stub", size, ret, ret_size);
	case CL_DRIVER_VERSION:
		if (!stub_setting("STUB_DRIVER_VERSION", text, sizeof(text)))
			(void)snprintf(text, sizeof(text), "1.0");
		return stub_answer_text(text, size, ret, ret_size);
	case CL_DEVICE_PROFILE:
		return stub_answer_text("FULL_PROFILE", size, ret, ret_size);
	case CL_DEVICE_EXTENSIONS:
		(void)stub_setting("STUB_EXTENSIONS", text, sizeof(text));	/* empty: none */
		return stub_answer_text(text, size, ret, ret_size);
	default:
		return CL_INVALID_VALUE;
	}
}

static cl_context CL_API_CALL
stub_clCreateContext(const cl_context_properties *properties, cl_uint count, const cl_device_id *list,
		     void (CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
		     void *data, cl_int *ret_error)
{
	cl_context context = NULL;
	cl_int error = CL_SUCCESS;

	(void)properties;
	(void)notify;
	(void)data;
	if (!count || count > STUB_MAX_DEVICES || !list)
		error = CL_INVALID_VALUE;
	else if (!(context = calloc(1, sizeof(*context))))
		error = CL_OUT_OF_HOST_MEMORY;
	if (context) {
		context->dispatch = &stub_dispatch;
		atomic_init(&context->references, 1);
		context->device_count = count;
		memcpy(context->devices, list, count * sizeof(*list));
	}
	if (ret_error)
		*ret_error = error;
	return context;
}

static cl_context CL_API_CALL
stub_clCreateContextFromType(const cl_context_properties *properties, cl_device_type type,
			     void (CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
			     void *data, cl_int *ret_error)
{
	cl_device_id list[STUB_MAX_DEVICES];
	cl_uint count = 0;
	cl_int error = stub_clGetDeviceIDs(&stub_platform, type, STUB_MAX_DEVICES, list, &count);

	if (error) {
		if (ret_error)
			*ret_error = error;
		return NULL;
	}
	return stub_clCreateContext(properties, count, list, notify, data, ret_error);
}

static cl_int CL_API_CALL stub_clRetainDevice(cl_device_id device)
{
	(void)device;
	stub_event("retain-device");
	return CL_SUCCESS;
}

static cl_int CL_API_CALL stub_clReleaseDevice(cl_device_id device)
{
	(void)device;
	stub_event("release-device");
	return CL_SUCCESS;
}

static cl_int CL_API_CALL stub_clRetainContext(cl_context context)
{
	if (!context)
		return CL_INVALID_CONTEXT;
	atomic_fetch_add(&context->references, 1);
	return CL_SUCCESS;
}

static cl_int CL_API_CALL stub_clReleaseContext(cl_context context)
{
	if (!context)
		return CL_INVALID_CONTEXT;
	if (atomic_fetch_sub(&context->references, 1) == 1)
		free(context);
	return CL_SUCCESS;
}

static cl_int CL_API_CALL stub_clGetContextInfo(cl_context context, cl_context_info name,
						size_t size, void *ret, size_t *ret_size)
{
	cl_uint references;

	if (!context)
		return CL_INVALID_CONTEXT;
	switch (name) {
	case CL_CONTEXT_REFERENCE_COUNT:
		references = atomic_load(&context->references);
		return stub_answer(&references, sizeof(references), size, ret, ret_size);
	case CL_CONTEXT_NUM_DEVICES:
		return stub_answer(&context->device_count, sizeof(context->device_count), size, ret, ret_size);
	case CL_CONTEXT_DEVICES:
		return stub_answer(context->devices, context->device_count * sizeof(context->devices[0]), size, ret,
				   ret_size);
	case CL_CONTEXT_PROPERTIES:
		return stub_answer("", 0, size, ret, ret_size);
	default:
		return CL_INVALID_VALUE;
	}
}

static cl_command_queue CL_API_CALL stub_clCreateCommandQueue(cl_context context, cl_device_id device,
							      cl_command_queue_properties flags, cl_int *ret_error)
{
	cl_command_queue queue = calloc(1, sizeof(*queue));

	(void)flags;
	if (queue) {
		queue->dispatch = &stub_dispatch;
		atomic_init(&queue->references, 1);
		queue->context = context;
		queue->device = device;
	}
	if (ret_error)
		*ret_error = queue ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
	return queue;
}

static cl_int CL_API_CALL stub_clReleaseCommandQueue(cl_command_queue queue)
{
	if (!queue)
		return CL_INVALID_COMMAND_QUEUE;
	if (atomic_fetch_sub(&queue->references, 1) == 1)
		free(queue);
	return CL_SUCCESS;
}

static cl_int CL_API_CALL stub_clFinish(cl_command_queue queue)
{
	return queue ? CL_SUCCESS : CL_INVALID_COMMAND_QUEUE;
}

static void *CL_API_CALL stub_clGetExtensionFunctionAddress(const char *name)
{
	if (!strcmp(name, "clIcdGetPlatformIDsKHR"))
		return (void *)stub_clGetPlatformIDs;
	if (!strcmp(name, "clGetPlatformInfo"))
		return (void *)stub_clGetPlatformInfo;
	return NULL;
}

static void *CL_API_CALL stub_clGetExtensionFunctionAddressForPlatform(cl_platform_id platform, const char *name)
{
	(void)platform;
	return stub_clGetExtensionFunctionAddress(name);
}

const cl_icd_dispatch stub_dispatch = {
	.clGetPlatformIDs = stub_clGetPlatformIDs,
	.clGetPlatformInfo = stub_clGetPlatformInfo,
	.clGetDeviceIDs = stub_clGetDeviceIDs,
	.clGetDeviceInfo = stub_clGetDeviceInfo,
	.clCreateContext = stub_clCreateContext,
	.clCreateContextFromType = stub_clCreateContextFromType,
	.clRetainDevice = stub_clRetainDevice,
	.clReleaseDevice = stub_clReleaseDevice,
	.clRetainContext = stub_clRetainContext,
	.clReleaseContext = stub_clReleaseContext,
	.clGetContextInfo = stub_clGetContextInfo,
	.clCreateCommandQueue = stub_clCreateCommandQueue,
	.clReleaseCommandQueue = stub_clReleaseCommandQueue,
	.clFlush = stub_clFinish,
	.clFinish = stub_clFinish,
	.clCreateProgramWithSource = stub_clCreateProgramWithSource,
	.clCreateProgramWithBinary = stub_clCreateProgramWithBinary,
	.clCreateProgramWithIL = stub_clCreateProgramWithIL,
	.clSetProgramSpecializationConstant = stub_clSetProgramSpecializationConstant,
	.clRetainProgram = stub_clRetainProgram,
	.clReleaseProgram = stub_clReleaseProgram,
	.clBuildProgram = stub_clBuildProgram,
	.clCompileProgram = stub_clCompileProgram,
	.clLinkProgram = stub_clLinkProgram,
	.clGetProgramInfo = stub_clGetProgramInfo,
	.clGetProgramBuildInfo = stub_clGetProgramBuildInfo,
	.clCreateKernel = stub_clCreateKernel,
	.clCreateKernelsInProgram = stub_clCreateKernelsInProgram,
	.clCloneKernel = stub_clCloneKernel,
	.clRetainKernel = stub_clRetainKernel,
	.clReleaseKernel = stub_clReleaseKernel,
	.clSetKernelArg = stub_clSetKernelArg,
	.clGetKernelInfo = stub_clGetKernelInfo,
	.clGetKernelArgInfo = stub_clGetKernelArgInfo,
	.clGetKernelWorkGroupInfo = stub_clGetKernelWorkGroupInfo,
	.clGetExtensionFunctionAddress = stub_clGetExtensionFunctionAddress,
	.clGetExtensionFunctionAddressForPlatform = stub_clGetExtensionFunctionAddressForPlatform,
};

/*
 * The loader finds these two by name. The loader's library exports names like
 * them, so nothing in the driver calls them or takes their address.
 */
__attribute__((visibility("default"))) CL_API_ENTRY cl_int CL_API_CALL
clIcdGetPlatformIDsKHR(cl_uint count, cl_platform_id *ret, cl_uint *ret_count)
{
	return stub_clGetPlatformIDs(count, ret, ret_count);
}

__attribute__((visibility("default"))) CL_API_ENTRY void *CL_API_CALL
clGetExtensionFunctionAddress(const char *name)
{
	return stub_clGetExtensionFunctionAddress(name);
}
