/* SPDX-License-Identifier: MIT */
/* identity: device, platform, driver libraries, the files that they compile in, the processor. */
#include "layers/opencl/key/identity.h"

#include <glob.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GLIBC__)
#include <sys/platform/x86.h>
#endif

#include "common/file.h"
#include "layers/shared/driver/environment.h"
#include "layers/shared/driver/libraries.h"
#include "layers/shared/driver/tools.h"
#include "layers/opencl/key/layers_below.h"
#include "layers/opencl/key/processor.h"
#include "layers/opencl/program/objects.h"

/* From the extensions' specifications; older headers lack some of them. */
#define DEVICE_IP_VERSION_INTEL 0x4250
#define DEVICE_ID_INTEL 0x4251
#define DEVICE_COMPUTE_CAPABILITY_MAJOR_NV 0x4000
#define DEVICE_COMPUTE_CAPABILITY_MINOR_NV 0x4001
#define DEVICE_UUID_KHR 0x106A

/* Which answers of kernels are stored with an entry (OCL_TAG_KERNEL_…); another text when that changes. */
#define ANSWERS "attributes, multiple"

#define MAX_CPUINFO ((size_t)16 << 20)	/* some KiB for each of thousands of processors */

struct known_device {
	cl_device_id device;		/* NULL: of a loader that was closed */
	struct ocl_identity identity;
	struct drv_library_epoch epoch;	/* before it was gathered */
	struct known_device *next;
};

static _Atomic(struct known_device *) known_devices;	/* the first; only ever grows, at its beginning */

enum kind { TEXT, NUMBER, BYTES };

struct query {
	const char *field;
	cl_uint param;
	enum kind kind;
};

static const struct query device_queries[] = {
	{ "device.name", CL_DEVICE_NAME, TEXT },
	{ "device.vendor", CL_DEVICE_VENDOR, TEXT },
	{ "device.version", CL_DEVICE_VERSION, TEXT },
	{ "device.driver_version", CL_DRIVER_VERSION, TEXT },
	{ "device.c_version", CL_DEVICE_OPENCL_C_VERSION, TEXT },
	{ "device.vendor_id", CL_DEVICE_VENDOR_ID, NUMBER },
	{ "device.type", CL_DEVICE_TYPE, NUMBER },
	{ "device.address_bits", CL_DEVICE_ADDRESS_BITS, NUMBER },
	{ "device.max_work_group_size", CL_DEVICE_MAX_WORK_GROUP_SIZE, NUMBER },
	{ "device.local_mem_size", CL_DEVICE_LOCAL_MEM_SIZE, NUMBER },
	{ "device.extensions", CL_DEVICE_EXTENSIONS, TEXT },
};

static const struct query platform_queries[] = {
	{ "platform.name", CL_PLATFORM_NAME, TEXT },
	{ "platform.version", CL_PLATFORM_VERSION, TEXT },
};

/* The driver has no such property, whatever it calls that; what it has no memory for it may answer the next time. */
static bool is_answer(cl_int error)
{
	return error != CL_OUT_OF_HOST_MEMORY && error != CL_OUT_OF_RESOURCES;
}

/* The answer's bytes; an empty buffer where the driver gives none, a failed one where it cannot now. */
static struct cmn_buffer ask_device(cl_device_id device, cl_device_info param)
{
	struct cmn_buffer answer = { 0 };
	size_t size = 0;
	cl_int error = OCL_NEXT.clGetDeviceInfo(device, param, 0, NULL, &size);

	if (error == CL_SUCCESS && cmn_buffer_reserve(&answer, size)) {
		error = OCL_NEXT.clGetDeviceInfo(device, param, size, answer.data, NULL);
		answer.len = error == CL_SUCCESS ? size : 0;
	}
	answer.failed |= !is_answer(error);
	return answer;
}

/* So that tools can tell what it is: texts lose their terminator, numbers of any size become one of 64 bits. */
static void add_device_field(struct cc_key *key, cl_device_id device, const char *field,
			     cl_device_info param, enum kind kind)
{
	struct cmn_buffer answer = ask_device(device, param);
	uint64_t number = 0;

	key->encoded.failed |= answer.failed;
	while (kind == TEXT && answer.len && answer.data[answer.len - 1] == '\0')
		answer.len--;
	if (kind == NUMBER && answer.len && answer.len <= sizeof(number)) {
		for (size_t i = answer.len; i; i--)
			number = number << 8 | answer.data[i - 1];
		cc_key_add_u64(key, CC_PART_DEVICE, field, number);
	} else {
		cc_key_add(key, CC_PART_DEVICE, field, answer.data, answer.len);
	}
	cmn_buffer_release(&answer);
}

static void add_platform_fields(struct cc_key *key, cl_platform_id platform)
{
	for (size_t i = 0; i < sizeof(platform_queries) / sizeof(platform_queries[0]); i++) {
		char text[1024] = "";
		cl_int error = OCL_NEXT.clGetPlatformInfo(platform, platform_queries[i].param, sizeof(text), text,
							  NULL);

		key->encoded.failed |= !is_answer(error);
		cc_key_add_text(key, CC_PART_DEVICE, platform_queries[i].field,
				error == CL_SUCCESS ? text : "");
	}
}

/*
 * What names the hardware exactly. A uuid would tell apart two boards of one
 * kind, which share code; it is asked for only where nothing better is known.
 */
static void add_hardware_fields(struct cc_key *key, cl_device_id device)
{
	struct cmn_buffer answer = ask_device(device, CL_DEVICE_EXTENSIONS);
	const char *extensions;

	cmn_buffer_append_u8(&answer, 0);
	if (answer.failed) {
		key->encoded.failed = true;
		cmn_buffer_release(&answer);
		return;
	}
	extensions = (const char *)answer.data;
	if (strstr(extensions, "cl_intel_device_attribute_query")) {
		add_device_field(key, device, "device.ip_version", DEVICE_IP_VERSION_INTEL, NUMBER);
		add_device_field(key, device, "device.id", DEVICE_ID_INTEL, NUMBER);
	} else if (strstr(extensions, "cl_nv_device_attribute_query")) {
		add_device_field(key, device, "device.cc_major",
				 DEVICE_COMPUTE_CAPABILITY_MAJOR_NV, NUMBER);
		add_device_field(key, device, "device.cc_minor",
				 DEVICE_COMPUTE_CAPABILITY_MINOR_NV, NUMBER);
	} else if (strstr(extensions, "cl_khr_device_uuid")) {
		add_device_field(key, device, "device.uuid", DEVICE_UUID_KHR, BYTES);
	}
	cmn_buffer_release(&answer);
}

static void add_files(struct cc_key *key, struct cc_contents *contents,
		      const struct drv_driver *driver)
{
	for (size_t i = 0; i < DRV_LISTS && driver->files[i]; i++) {
		glob_t found;

		if (glob(driver->files[i], 0, NULL, &found) != 0)
			continue;
		for (size_t j = 0; j < found.gl_pathc; j++)
			drv_libraries_add_content(key, contents, "driver.file", found.gl_pathv[j]);
		globfree(&found);
	}
}

/* Features of the processor that a CPU device compiles for; false: they are not known. */
static bool add_processor(struct cc_key *key)
{
#if defined(__x86_64__) && defined(__GLIBC__)
	/* glibc read them at start-up. The active half only: the raw one holds the number of the core that asked. */
	for (unsigned int i = 0; i <= CPUID_INDEX_14_ECX_0; i++) {
		const struct cpuid_feature *leaf = __x86_get_cpuid_feature_leaf(i);

		cc_key_add(key, CC_PART_DEVICE, "processor.features", leaf->active_array,
			   sizeof(leaf->active_array));
	}
	return true;
#else
	struct cmn_buffer shown = { 0 }, text = { 0 };
	bool known;

	if (cmn_file_read_shown("/proc/cpuinfo", MAX_CPUINFO, &shown) == CMN_OK)
		ocl_processor_describe(cmn_buffer_view(&shown), &text);
	known = text.len && !text.failed;
	if (known)
		cc_key_add(key, CC_PART_DEVICE, "processor.features", text.data, text.len);
	cmn_buffer_release(&shown);
	cmn_buffer_release(&text);
	return known;
#endif
}

/* Any function of the driver, through the dispatch table that every ICD's handles begin with (cl_khr_icd). */
static const void *driver_address(cl_device_id device)
{
	const cl_icd_dispatch *dispatch = *(const cl_icd_dispatch *const *)device;

	return dispatch ? (const void *)dispatch->clGetDeviceInfo : NULL;
}

static const struct drv_driver *row_of_version(const struct drv_driver *driver, cl_device_id device,
					       struct cc_key *key)
{
	struct cmn_buffer version = ask_device(device, CL_DRIVER_VERSION);
	const struct drv_driver *row;

	cmn_buffer_append_u8(&version, 0);
	key->encoded.failed |= version.failed;
	row = drv_driver_at(driver, version.failed ? NULL : (const char *)version.data);
	cmn_buffer_release(&version);
	return row;
}

static enum cmn_status gather(cl_device_id device, struct ocl_identity *ret)
{
	const void *address = driver_address(device);
	struct cc_key *key = &ret->fields;
	struct cc_contents contents = {
		.config = ocl_layer.cache ? cc_cache_config(ocl_layer.cache) : NULL,
	};
	struct drv_linker_variables linker;
	cl_platform_id platform;
	cl_device_type type = 0;
	cl_uint vendor = 0;
	enum cmn_status status;

	if (!address || !ocl_layers_below_are_known() ||
	    OCL_NEXT.clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform,
				     NULL) != CL_SUCCESS ||
	    OCL_NEXT.clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof(type), &type, NULL) != CL_SUCCESS)
		return CMN_MISS;
	ret->libraries.address = address;
	cc_key_init(key);
	add_platform_fields(key, platform);
	for (size_t i = 0; i < sizeof(device_queries) / sizeof(device_queries[0]); i++)
		add_device_field(key, device, device_queries[i].field, device_queries[i].param,
				 device_queries[i].kind);
	add_hardware_fields(key, device);
	/*
	 * A mask may have chosen a part of a card (ZE_AFFINITY_MASK=0.1), which tells by this alone.
	 * Code for a processor is the same for any number of its cores.
	 */
	if (!(type & CL_DEVICE_TYPE_CPU))
		add_device_field(key, device, "device.units", CL_DEVICE_MAX_COMPUTE_UNITS, NUMBER);
	status = drv_libraries_identify(&ret->libraries, &contents, key, &ret->driver);
	if (status == CMN_OK) {
		ret->driver = row_of_version(ret->driver, device, key);
		add_files(key, &contents, ret->driver);
		if (!drv_tools_add(ret->driver, &contents, key))
			status = CMN_ERR_NOMEM;
	}
	cc_contents_release(&contents);
	if (status != CMN_OK)
		return status;
	ret->parts_share_code = ret->driver->parts_share_code && (type & CL_DEVICE_TYPE_CPU);
	(void)OCL_NEXT.clGetDeviceInfo(device, CL_DEVICE_VENDOR_ID, sizeof(vendor), &vendor, NULL);
	ret->capture = (type & CL_DEVICE_TYPE_GPU) && vendor && vendor == ret->driver->eager_vendor ?
		       CC_CAPTURE_EAGER : ret->driver->capture;
	ocl_layers_below_add(key);
	/* An entry of an earlier layer may depend on more files than it says. */
	cc_key_add_text(key, CC_PART_DEVICE, "layer.files", "as seen");
	/* It also has fewer answers. */
	if (ret->driver->binaries_lose_answers)
		cc_key_add(key, CC_PART_DEVICE, "layer.answers", ANSWERS, strlen(ANSWERS));
	linker = drv_environment_linker();
	if (!drv_linker_add(ret->driver, &linker, key))
		return CMN_ERR_NOMEM;
	if ((type & CL_DEVICE_TYPE_CPU) && !ret->driver->portable_binaries && !add_processor(key))
		return CMN_MISS;
	return cc_key_status(key);
}

/* Newer knowledge stands before older, which somebody may still be using. */
static enum cmn_status learn(cl_device_id device, struct known_device **ret)
{
	struct known_device *found = calloc(1, sizeof(*found));
	enum cmn_status status;

	if (!found)
		return CMN_ERR_NOMEM;
	found->device = device;
	found->epoch = drv_libraries_epoch();
	status = gather(device, &found->identity);
	if (status != CMN_OK) {
		cc_key_release(&found->identity.fields);
		free(found);
		return status;
	}
	cc_key_fold(&found->identity.fields);
	found->next = atomic_load(&known_devices);
	while (!atomic_compare_exchange_weak(&known_devices, &found->next, found))
		;
	*ret = found;
	return CMN_OK;
}

/* NULL: none. false: the driver cannot tell now. */
static bool find_parent(cl_device_id device, cl_device_id *ret)
{
	cl_device_id parent = NULL;
	cl_int error = OCL_NEXT.clGetDeviceInfo(device, CL_DEVICE_PARENT_DEVICE, sizeof(parent), &parent, NULL);

	*ret = error == CL_SUCCESS ? parent : NULL;
	return is_answer(error);
}

static bool find_root(cl_device_id device, cl_device_id *ret)
{
	for (cl_device_id parent = device; parent;) {
		device = parent;
		if (!find_parent(device, &parent))
			return false;
	}
	*ret = device;
	return true;
}

/* Root devices live as long as the process; handles of sub-devices come and go, so that none is remembered. */
static enum cmn_status find(cl_device_id device, struct known_device **ret)
{
	for (cl_device_id parent = device; parent;) {
		struct known_device *found = atomic_load(&known_devices);

		device = parent;
		while (found && found->device != device)
			found = found->next;
		if (device && found && drv_libraries_hold(found->identity.driver, &found->epoch)) {
			*ret = found;
			return CMN_OK;
		}
		if (!find_parent(device, &parent))
			return CMN_ERR_NOMEM;
	}
	/* Two threads may learn at once: the results are equal, and one is a few bytes too many. */
	return learn(device, ret);
}

const char *ocl_identity_lack(void)
{
	return ocl_layers_below_are_known() ? "device-unidentified" : "layer-below";
}

enum cmn_status ocl_identity_add(cl_device_id device, struct cc_key *key, bool exact,
				 const struct ocl_identity **ret)
{
	struct known_device *found;
	enum cmn_status status = find(device, &found);

	if (status != CMN_OK)
		return status;
	cc_key_add_fields(key, &found->identity.fields);
	/* A part's share of the root may decide what a compiler makes for it. */
	if (exact || (found->device != device && !found->identity.parts_share_code)) {
		add_device_field(key, device, "device.partition", CL_DEVICE_PARTITION_TYPE, BYTES);
		add_device_field(key, device, "device.units", CL_DEVICE_MAX_COMPUTE_UNITS, NUMBER);
	}
	*ret = &found->identity;
	return CMN_OK;
}

void ocl_identity_forget(void)
{
	for (struct known_device *known = atomic_load(&known_devices); known; known = known->next)
		known->device = NULL;
}

const struct ocl_identity *ocl_identity_of(cl_device_id device)
{
	struct known_device *found;

	return find(device, &found) == CMN_OK ? &found->identity : NULL;
}

cl_device_id ocl_identity_builder(cl_device_id device)
{
	struct known_device *found;
	cl_device_id root;

	return find(device, &found) == CMN_OK && found->identity.parts_share_code && find_root(device, &root) ?
	       root : device;
}

enum cc_capture ocl_identity_capture(cl_uint count, const cl_device_id *devices)
{
	enum cc_capture capture = cc_cache_config(ocl_layer.cache)->capture;
	struct known_device *found;

	if (capture != CC_CAPTURE_AUTO)
		return capture;
	capture = CC_CAPTURE_EAGER;
	for (cl_uint i = 0; i < count; i++) {
		if (find(devices[i], &found) != CMN_OK || found->identity.capture != CC_CAPTURE_EAGER)
			capture = CC_CAPTURE_DEFERRED;
	}
	return capture;
}

enum cmn_status ocl_identity_renew(cl_uint num_devices, const cl_device_id *devices)
{
	enum cmn_status status = CMN_OK;

	for (cl_uint i = 0; i < num_devices && status == CMN_OK; i++) {
		struct known_device *found;
		cl_device_id root;

		status = find_root(devices[i], &root) ? learn(root, &found) : CMN_ERR_NOMEM;
	}
	return status;
}
