/* SPDX-License-Identifier: MIT */
/*
 * build: clBuildProgram. Gather what identifies the build, look it up, let
 * the driver build what is not there, publish what it built. Whatever goes
 * wrong on the way, the driver builds P as it would have without the layer.
 */
#include "layers/opencl/build.h"

#include <stdlib.h>

#include "common/clock.h"
#include "layers/opencl/capture.h"
#include "layers/opencl/dispatch.h"
#include "layers/opencl/include_scan.h"

void ocl_build_release(struct ocl_build *build)
{
	ocl_build_key_release(&build->key);
	cc_manifest_free(build->manifest);
	free(build->devices);
	free(build->own_options);
}

/* The program's devices. false: the driver would not say. */
static bool read_devices(struct ocl_build *build)
{
	cl_program handle = build->program->object.handle;
	cl_uint count = 0;

	if (OCL_NEXT.clGetProgramInfo(handle, CL_PROGRAM_NUM_DEVICES, sizeof(count), &count,
				      NULL) != CL_SUCCESS || count == 0)
		return false;
	build->devices = calloc(count, sizeof(*build->devices));
	if (!build->devices ||
	    OCL_NEXT.clGetProgramInfo(handle, CL_PROGRAM_DEVICES, count * sizeof(*build->devices),
				      build->devices, NULL) != CL_SUCCESS)
		return false;
	build->num_devices = count;
	return true;
}

/* Whether the application's list is all of the program's devices, each once. */
static bool covers_all_devices(const struct ocl_build *build)
{
	if (!build->list)
		return true;
	if (build->list_count != build->num_devices)
		return false;
	for (cl_uint i = 0; i < build->num_devices; i++) {
		bool found = false;

		for (cl_uint j = 0; j < build->list_count; j++)
			found = found || build->list[j] == build->devices[i];
		if (!found)
			return false;
	}
	return true;
}

/* Arguments that a driver has to refuse (OpenCL 3.0, clBuildProgram, Errors). */
static bool has_bad_arguments(const struct ocl_build *build)
{
	return (build->list_count == 0) != (build->list == NULL) ||
	       (!build->notify && build->user_data);
}

/* Fills key and policy; a reason not to cache goes to build->bypass. */
static void gather(struct ocl_build *build)
{
	const struct cc_config *config = cc_cache_config(ocl_layer.cache);

	cc_key_init(&build->key);
	if (!read_devices(build)) {
		build->bypass = "devices-unknown";
		return;
	}
	if (!covers_all_devices(build)) {
		build->bypass = "device-subset";
		return;
	}
	ocl_build_key_release(&build->key);
	if (ocl_build_key(build->program, build->num_devices, build->devices, build->options,
			  &build->key, &build->driver) != CMN_OK) {
		build->bypass = "device-unidentified";
		return;
	}
	build->capture = config->capture == CC_CAPTURE_AUTO ? build->driver->capture
							    : config->capture;
}

bool ocl_build_scan(struct ocl_build *build)
{
	const struct ocl_include_request request = {
		.source = { build->program->source, build->program->source_len },
		.options = build->options,
		.quotes_group = build->driver->quotes_group,
	};
	enum cmn_status status;

	cc_manifest_free(build->manifest);
	build->manifest = NULL;
	status = ocl_include_scan(&request, cc_cache_file_memo(ocl_layer.cache), &build->manifest,
				  &build->bypass);
	if (status != CMN_OK && !build->bypass)
		build->bypass = "scan-failed";
	return status == CMN_OK;
}

static void give_up_claim(struct ocl_build *build)
{
	if (build->claimed)
		ocl_program_end(build->program);
	build->claimed = false;
}

/* The driver's own build of P, timed. E goes first: from now on P answers, also while it is being built. */
void ocl_build_run(struct ocl_build *build, ocl_notify_fn notify, void *user_data)
{
	struct ocl_effective *old = ocl_program_supersede(build->program);
	uint64_t start = cmn_clock_monotonic();

	/* The application's callback may build the program again, in this thread. */
	if (notify)
		give_up_claim(build);
	build->ran = true;
	build->error = OCL_NEXT.clBuildProgram(build->program->object.handle, build->list_count,
					       build->list, build->options, notify, user_data);
	build->build_ns = cmn_clock_monotonic() - start;
	ocl_program_superseded(build->program, old, build->error);
}

/* A compiler that came only with the build was not in the key: what it made cannot be kept under it. */
static bool compiler_came_late(const struct ocl_build *build)
{
	struct ocl_library_epoch now = ocl_libraries_epoch();
	struct cc_key key;
	const struct ocl_driver *driver;
	bool late;

	if (now.loaded == build->epoch.loaded)
		return false;
	cc_key_init(&key);
	late = ocl_identity_renew(build->num_devices, build->devices) != CMN_OK ||
	       ocl_build_key(build->program, build->num_devices, build->devices, build->options,
			     &key, &driver) != CMN_OK ||
	       !cmn_view_equal(cc_key_view(&key), cc_key_view(&build->key));
	ocl_build_key_release(&key);
	return late;
}

/* Reads the built program, now or at its last release. CMN_OK: *ret is the entry. */
enum cmn_status ocl_build_capture(struct ocl_build *build, struct cc_entry **ret)
{
	struct cc_manifest *manifest = build->manifest;
	struct ocl_capture *later;
	enum cmn_status status;

	if (build->capture == CC_CAPTURE_DEFERRED) {
		build->bypass = "capture-deferred";
		return CMN_MISS;
	}
	if (compiler_came_late(build)) {
		build->bypass = "compiler-loaded-late";
		return CMN_MISS;
	}
	build->manifest = NULL;
	if (build->capture == CC_CAPTURE_LATE) {
		later = ocl_capture_new(&build->key, build->num_devices, build->devices,
					build->driver->binaries_lose_attributes, build->build_ns,
					manifest);
		if (later)
			ocl_capture_attach(later, build->program);
		return CMN_MISS;
	}
	status = ocl_capture_read(build->program->object.handle, build->num_devices,
				  build->devices, build->driver->binaries_lose_attributes,
				  build->build_ns, manifest, ret);
	if (status == CMN_MISS)
		build->bypass = "no-binary";
	if (status == CMN_STALE)
		build->bypass = "include-changed";
	return status == CMN_OK ? CMN_OK : CMN_MISS;
}

/* The build callback of the cache, for a build without the application's own. */
static enum cmn_status build_and_capture(void *ctx, struct cc_entry **ret)
{
	struct ocl_build *build = ctx;

	/* Found out before building, so that waiters need not wait for nothing. */
	if (!ocl_build_scan(build) || build->capture == CC_CAPTURE_DEFERRED)
		return CMN_MISS;
	ocl_build_run(build, NULL, NULL);
	if ((build->error == CL_OUT_OF_HOST_MEMORY || build->error == CL_OUT_OF_RESOURCES) &&
	    !build->retried) {
		build->retried = true;
		return CMN_ERR_NOMEM;
	}
	if (build->error != CL_SUCCESS)
		return CMN_MISS;
	return ocl_build_capture(build, ret);
}

void ocl_build_count(struct ocl_build *build)
{
	if (build->bypass)
		cc_cache_count_bypass(ocl_layer.cache, build->bypass, &build->key);
	else
		cc_cache_count_miss(ocl_layer.cache, &build->key, build->build_ns);
}

/* Puts E in P's place. false: the driver would not have it; the entry is gone and P is to be built. */
bool ocl_build_attach(struct ocl_build *build, struct cc_entry *entry, enum cc_origin origin)
{
	struct ocl_effective *effective;
	enum cmn_status status = ocl_effective_new(build->program->context, build->num_devices,
						   build->devices, build->options, entry,
						   &effective);

	if (status == CMN_ERR_DRIVER)
		cc_cache_reject(ocl_layer.cache, &build->key, entry);
	if (status != CMN_OK)
		return false;
	ocl_program_set_effective(build->program, effective);
	cc_cache_count_hit(ocl_layer.cache, &build->key, origin, entry,
			   cmn_clock_monotonic() - build->start_ns);
	return true;
}

/* After a refused entry: build, and put a good one in its place. */
static void rebuild(struct ocl_build *build)
{
	struct cc_entry *entry;

	if (build_and_capture(build, &entry) == CMN_OK) {
		cc_cache_put(ocl_layer.cache, &build->key, entry);
		cc_entry_unref(entry);
	}
	if (!build->ran)
		ocl_build_run(build, NULL, NULL);
	ocl_build_count(build);
}

static void build_now(struct ocl_build *build)
{
	struct cc_entry *entry = NULL;
	enum cc_origin origin;

	if (cc_cache_get_or_build(ocl_layer.cache, &build->key, build_and_capture, build, &entry,
				  &origin) != CMN_OK) {
		if (build->capture == CC_CAPTURE_DEFERRED && !build->bypass)
			build->bypass = "capture-deferred";
		if (!build->ran)
			ocl_build_run(build, NULL, NULL);
		ocl_build_count(build);
	} else if (origin == CC_ORIGIN_BUILT) {
		ocl_build_count(build);
	} else {
		build->hit = ocl_build_attach(build, entry, origin);
		if (!build->hit)
			rebuild(build);
	}
	cc_entry_unref(entry);
}

/* Kernels of E live: whether P may be built again is the driver's to say, and E is in the state that P would be in. */
static bool driver_refuses_rebuild(const struct ocl_build *build)
{
	struct ocl_effective *effective = NULL;
	bool refuses;

	ocl_objects_lock();
	if (build->program->live_kernels)
		effective = ocl_effective_ref(build->program->effective);
	ocl_objects_unlock();
	if (!effective)
		return false;
	refuses = OCL_NEXT.clBuildProgram(effective->handle, build->list_count, build->list,
					  build->options, NULL, NULL) == CL_INVALID_OPERATION;
	ocl_effective_unref(effective);
	return refuses;
}

/* Whether the driver alone is to decide: the layer could only get in its way. */
static bool is_plain(const struct ocl_build *build)
{
	bool plain;

	if (has_bad_arguments(build))
		return true;
	ocl_objects_lock();
	plain = build->program->async_builds ||
		(build->program->live_kernels && !build->program->effective);
	ocl_objects_unlock();
	return plain;
}

static void build_program(struct ocl_build *build)
{
	if (is_plain(build)) {
		ocl_build_run(build, build->notify, build->user_data);
		return;
	}
	if (driver_refuses_rebuild(build)) {
		build->error = CL_INVALID_OPERATION;
		return;
	}
	gather(build);
	if (build->bypass) {
		cc_cache_count_bypass(ocl_layer.cache, build->bypass, NULL);
		ocl_build_run(build, build->notify, build->user_data);
	} else if (build->notify) {
		ocl_build_with_callback(build);
	} else {
		build_now(build);
	}
}

cl_int CL_API_CALL ocl_clBuildProgram(cl_program program, cl_uint num_devices,
				      const cl_device_id *device_list, const char *options,
				      ocl_notify_fn pfn_notify, void *user_data)
{
	struct ocl_build build = {
		.program = ocl_program_find(program),
		.options = options,
		.list_count = num_devices,
		.list = device_list,
		.notify = pfn_notify,
		.user_data = user_data,
		.start_ns = cmn_clock_monotonic(),
		.error = CL_SUCCESS,
	};

	if (!build.program)
		return OCL_NEXT.clBuildProgram(program, num_devices, device_list, options,
					       pfn_notify, user_data);
	build.epoch = ocl_libraries_epoch();
	ocl_program_begin(build.program);
	build.claimed = true;
	build_program(&build);
	give_up_claim(&build);
	if (build.hit && pfn_notify)
		pfn_notify(program, user_data);
	ocl_build_release(&build);
	ocl_program_unref(build.program);
	return build.error;
}
