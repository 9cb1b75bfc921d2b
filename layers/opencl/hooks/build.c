/* SPDX-License-Identifier: MIT */
/*
 * build: clBuildProgram, and the course that clCompileProgram shares. Gather
 * what identifies the build, look it up, let the driver build what is not
 * there, publish what it built. Whatever goes wrong on the way, the driver
 * builds P as it would have without the layer.
 */
#include "layers/opencl/hooks/build.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "layers/shared/driver/environment.h"
#include "layers/opencl/hooks/dispatch.h"
#include "layers/opencl/key/options.h"

void ocl_build_release(struct ocl_build *build)
{
	ocl_build_key_release(&build->key);
	drv_observer_drop(build->observation);
	cc_manifest_free(build->manifest);
	ocl_targets_release(&build->targets);
	free(build->own_options);
}

/* Arguments that a driver has to refuse (OpenCL 3.0, clBuildProgram, Errors). */
static bool has_bad_arguments(const struct ocl_build *build)
{
	return (build->list_count == 0) != (build->list == NULL) ||
	       (!build->notify && build->user_data) ||
	       (build->compile && ocl_compile_has_bad_headers(build->compile));
}

static const char *kind_of(const struct ocl_build *build)
{
	bool il = build->program->kind == OCL_PROGRAM_IL;

	if (build->compile)
		return il ? "compile-il" : "compile";
	return il ? "il" : "source";
}

/* Fills key, policy and original; a reason not to cache goes to build->bypass. */
static void gather(struct ocl_build *build)
{
	const struct cc_config *config = cc_cache_config(ocl_layer.cache);
	const struct ocl_original_request original = { build->list_count, build->list,
						       build->options };
	struct ocl_key_request request = {
		.kind = kind_of(build),
		.program = build->program,
		.options = build->options,
	};
	const char *reason;

	cc_key_init(&build->key);
	if (ocl_targets_of_program(build->program->object.handle, build->list_count, build->list,
				   &build->targets) != CMN_OK) {
		build->bypass = "devices-unknown";
		return;
	}
	/* P would have to be compiled anew for the others, whose headers are gone by then. */
	if (build->compile && build->targets.count != build->targets.program_count) {
		build->bypass = "device-subset";
		return;
	}
	/* What is there for other devices could not stay in P's place beside an E. */
	if (ocl_program_built_beyond(build->program, build->targets.count,
				     build->targets.devices)) {
		build->bypass = "device-subset";
		return;
	}
	request.targets = &build->targets;
	if (build->compile) {
		request.num_headers = build->compile->count;
		request.headers = build->compile->headers;
	}
	if (request.num_headers && !request.headers) {
		build->bypass = "header-unknown";
		return;
	}
	cc_key_release(&build->key);
	if (ocl_build_key(&request, &build->key, &build->driver, &reason) != CMN_OK) {
		build->bypass = reason;
		return;
	}
	build->capture = config->capture == CC_CAPTURE_AUTO ? build->driver->capture
							    : config->capture;
	/* An object is as finished as it will be, quickly read, and a link is to know what it holds. */
	if (build->kind == OCL_EFFECTIVE_OBJECT)
		build->capture = CC_CAPTURE_EAGER;
	build->original = ocl_original_of_program(build->program, build->compile, &original);
}

bool ocl_build_may_be_cached(struct ocl_build *build)
{
	if (!ocl_options_are_harmless(build->options))
		build->bypass = "option";
	return !build->bypass;
}

void ocl_build_watch(struct ocl_build *build)
{
	if (!build->bypass && !build->observation)
		build->observation = ocl_watch_begin(&build->targets, build->notify != NULL);
}

bool ocl_build_see(struct ocl_build *build)
{
	const struct ocl_watched watched = { build->driver, build->program, build->options };
	struct drv_observation *observation = build->observation;

	build->observation = NULL;
	cc_manifest_free(build->manifest);
	build->manifest = NULL;
	return ocl_watch_end(observation, &watched, &build->manifest, &build->bypass);
}

static void give_up_claim(struct ocl_build *build)
{
	if (build->claimed)
		ocl_program_end(build->program);
	build->claimed = false;
}

static cl_int call_driver(const struct ocl_build *build, ocl_notify_fn notify, void *user_data)
{
	cl_program handle = build->program->object.handle;
	const struct ocl_compile *compile = build->compile;

	if (!compile)
		return OCL_NEXT.clBuildProgram(handle, build->list_count, build->list,
					       build->options, notify, user_data);
	return OCL_NEXT.clCompileProgram(handle, build->list_count, build->list, build->options,
					 compile->count, compile->programs, compile->names, notify,
					 user_data);
}

/* P is built for these from now on; a call that was not looked into has not said for which. */
static void note_devices(struct ocl_build *build)
{
	struct ocl_targets *targets = &build->targets;

	if (targets->count == 0 &&
	    ocl_targets_of_program(build->program->object.handle, build->list_count, build->list,
				   targets) != CMN_OK)
		*targets = (struct ocl_targets){ 0 };
	ocl_program_add_built(build->program, targets->count, targets->devices);
}

/* The driver's own build of P, timed. E goes first: from now on P answers, also while it is being built. */
void ocl_build_run(struct ocl_build *build, ocl_notify_fn notify, void *user_data)
{
	struct ocl_loaded_program *old = ocl_program_supersede(build->program);
	uint64_t start = cmn_clock_monotonic();

	/* The application's callback may build the program again, in this thread. */
	if (notify)
		give_up_claim(build);
	build->ran = true;
	drv_environment_note_build();
	build->error = call_driver(build, notify, user_data);
	build->build_ns = cmn_clock_monotonic() - start;
	if (build->error == CL_SUCCESS) {
		note_devices(build);
		ocl_program_set_original(build->program, ocl_original_ref(build->original));
	}
	ocl_program_superseded(build->program, old, build->error);
}

/* The build callback of the cache, for a build without the application's own. */
static enum cmn_status build_and_capture(void *ctx, struct cc_entry **ret)
{
	struct ocl_build *build = ctx;

	/* Found out before building, so that waiters need not wait for nothing. */
	if (!ocl_build_may_be_cached(build) || build->capture == CC_CAPTURE_DEFERRED)
		return CMN_MISS;
	ocl_build_watch(build);
	ocl_build_run(build, NULL, NULL);
	if ((build->error == CL_OUT_OF_HOST_MEMORY || build->error == CL_OUT_OF_RESOURCES) &&
	    !build->retried) {
		build->retried = true;
		drv_observer_drop(build->observation);
		build->observation = NULL;
		return CMN_ERR_NOMEM;
	}
	if (build->error != CL_SUCCESS)
		return ocl_build_capture_failure(build, ret);
	return ocl_build_capture(build, ret);
}

void ocl_build_count(struct ocl_build *build)
{
	if (build->bypass)
		cc_cache_count_bypass(ocl_layer.cache, build->bypass, &build->key);
	else if (build->deferred)
		cc_cache_count_deferred(ocl_layer.cache, &build->key, build->build_ns);
	else
		cc_cache_count_miss(ocl_layer.cache, &build->key, build->build_ns);
}

/* What an entry makes of P: as built, or the failure that it tells of. */
static enum ocl_loaded_program_kind kind_of_entry(const struct ocl_build *build,
					     const struct cc_entry *entry, cl_int *ret_error)
{
	struct cmn_view error;

	if (!cc_entry_find(entry, OCL_TAG_ERROR, 0, &error) || error.len != sizeof(*ret_error))
		return build->kind;
	memcpy(ret_error, error.data, sizeof(*ret_error));
	return OCL_EFFECTIVE_FAILURE;
}

/* Puts E in P's place. false: the driver would not have it; the entry is gone and P is to be built. */
bool ocl_build_attach(struct ocl_build *build, struct cc_entry *entry, enum cc_origin origin)
{
	cl_int error = CL_SUCCESS;
	const struct ocl_loaded_program_request request = {
		.context = build->program->context,
		.kind = kind_of_entry(build, entry, &error),
		.num_devices = build->targets.count,
		.devices = build->targets.devices,
		.options = build->options,
		.driver = build->driver,
		.entry = entry,
	};
	struct ocl_loaded_program *effective;
	enum cmn_status status;

	/* It was made with another one. */
	if (ocl_build_token_may_matter(build, cc_entry_manifest(entry)))
		return false;
	status = ocl_loaded_program_new(&request, &effective);
	if (status == CMN_ERR_DRIVER)
		cc_cache_reject(ocl_layer.cache, &build->key, entry);
	if (status != CMN_OK)
		return false;
	ocl_program_set_effective(build->program, effective);
	ocl_program_set_original(build->program, ocl_original_ref(build->original));
	/* Executables are no inputs of links, and hashing a large one takes time. */
	ocl_program_set_content(build->program,
				request.kind == OCL_EFFECTIVE_OBJECT ? entry : NULL);
	ocl_program_add_built(build->program, build->targets.count, build->targets.devices);
	build->error = error;
	cc_cache_count_hit(ocl_layer.cache, &build->key, origin, entry,
			   cmn_clock_monotonic() - build->start_ns);
	return true;
}

/* There is no entry to be had now, but there may be a recipe. */
static void build_without_entry(struct ocl_build *build)
{
	bool deferred = build->capture == CC_CAPTURE_DEFERRED && !build->bypass;
	struct cc_entry *entry;

	if (!build->ran) {
		ocl_build_watch(build);
		ocl_build_run(build, NULL, NULL);
	}
	if (deferred && build->error == CL_SUCCESS) {
		(void)!ocl_build_capture(build, &entry);	/* never an entry of this policy */
	} else if (deferred && ocl_build_capture_failure(build, &entry) == CMN_OK) {
		cc_cache_put(ocl_layer.cache, &build->key, entry);
		cc_entry_unref(entry);
	}
	ocl_build_count(build);
}

/* After a refused entry: build, and put a good one in its place. */
static void rebuild(struct ocl_build *build)
{
	struct cc_entry *entry;

	if (build_and_capture(build, &entry) == CMN_OK) {
		cc_cache_put(ocl_layer.cache, &build->key, entry);
		cc_entry_unref(entry);
		ocl_build_count(build);
	} else {
		build_without_entry(build);
	}
}

static void build_now(struct ocl_build *build)
{
	struct cc_entry *entry = NULL;
	enum cc_origin origin;

	if (cc_cache_get_or_build(ocl_layer.cache, &build->key, build_and_capture, build, &entry,
				  &origin) != CMN_OK) {
		build_without_entry(build);
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
	struct ocl_loaded_program *effective = NULL;
	bool refuses;

	ocl_object_lock(&build->program->object);
	if (build->program->effective_kernels)
		effective = ocl_loaded_program_ref(build->program->effective);
	ocl_object_unlock(&build->program->object);
	if (!effective)
		return false;
	/* Asking a driver to compile would change E. */
	refuses = build->compile ? !effective->driver->compiles_with_kernels :
		  !ocl_loaded_program_has_kernels(effective) ||
		  OCL_NEXT.clBuildProgram(effective->handle, build->list_count, build->list,
					  build->options, NULL, NULL) == CL_INVALID_OPERATION;
	ocl_loaded_program_unref(effective);
	return refuses;
}

/* Whether the driver alone is to decide: the layer could only get in its way. */
static bool is_plain(const struct ocl_build *build)
{
	const struct ocl_program *program = build->program;
	bool plain;

	if (has_bad_arguments(build))
		return true;
	ocl_objects_lock();
	plain = program->async_builds != 0;
	ocl_objects_unlock();
	ocl_object_lock(&program->object);
	plain = plain ||
		(program->live_kernels && !ocl_loaded_program_has_kernels(program->effective));
	ocl_object_unlock(&program->object);
	return plain;
}

/*
 * E stands for other devices than this build is for: P itself is built for
 * them now, so that it holds both. The application built it so before.
 */
static void bring_back_others(struct ocl_build *build)
{
	/* What P holds may have to be read before that is gone. */
	struct ocl_loaded_program *effective = ocl_program_supersede(build->program);

	if (effective && effective->kind == OCL_EFFECTIVE_EXECUTABLE && !effective->own)
		(void)OCL_NEXT.clBuildProgram(build->program->object.handle,
					      effective->num_devices, effective->devices,
					      effective->options, NULL, NULL);	/* as it would be without us */
	ocl_program_set_effective(build->program, effective);
}

static void run_plainly(struct ocl_build *build)
{
	if (build->bypass) {
		/* Without targets it is a list that the driver refuses. */
		if (build->targets.count &&
		    ocl_program_built_beyond(build->program, build->targets.count,
					     build->targets.devices))
			bring_back_others(build);
		cc_cache_count_bypass(ocl_layer.cache, build->bypass, NULL);
	}
	ocl_build_run(build, build->notify, build->user_data);
}

static void do_build(struct ocl_build *build)
{
	if (build->program->unbuildable && !build->compile && !has_bad_arguments(build)) {
		build->error = CL_INVALID_OPERATION;
		return;
	}
	/* A linked program should not be built again; some drivers do it all the same. */
	if (is_plain(build) || build->program->kind == OCL_PROGRAM_LINKED) {
		run_plainly(build);
		return;
	}
	if (driver_refuses_rebuild(build)) {
		build->error = CL_INVALID_OPERATION;
		return;
	}
	gather(build);
	if (build->bypass)
		run_plainly(build);
	else if (build->notify)
		ocl_build_with_callback(build);
	else
		build_now(build);
}

void ocl_build_note_options(struct ocl_build *build)
{
	const char *options = build->options ? build->options : "";

	/* For others it may be built by others. */
	if (build->compile || !build->targets.count ||
	    ocl_program_built_beyond(build->program, build->targets.count, build->targets.devices))
		options = NULL;
	ocl_program_set_options(build->program, options);
}

cl_int ocl_build_call(struct ocl_build *build)
{
	build->start_ns = cmn_clock_monotonic();
	build->epoch = drv_libraries_epoch();
	ocl_program_begin(build->program);
	build->claimed = true;
	/* It may be over at any time from now on. */
	if (build->notify)
		ocl_program_set_options(build->program, NULL);
	do_build(build);
	if (build->error == CL_SUCCESS && (build->hit || !build->notify))
		ocl_build_note_options(build);
	give_up_claim(build);
	if (build->hit && build->notify)
		build->notify(build->program->object.handle, build->user_data);
	ocl_original_unref(build->original);
	ocl_build_release(build);
	return build->error;
}

cl_int CL_API_CALL ocl_clBuildProgram(cl_program program, cl_uint num_devices,
				      const cl_device_id *device_list, const char *options,
				      ocl_notify_fn pfn_notify, void *user_data)
{
	struct ocl_build build = {
		.program = ocl_program_find(program),
		.kind = OCL_EFFECTIVE_EXECUTABLE,
		.options = options,
		.list_count = num_devices,
		.list = device_list,
		.notify = pfn_notify,
		.user_data = user_data,
	};
	cl_int error;

	if (!build.program) {
		drv_environment_note_build();
		return OCL_NEXT.clBuildProgram(program, num_devices, device_list, options,
					       pfn_notify, user_data);
	}
	error = ocl_build_call(&build);
	ocl_program_unref(build.program);
	return error;
}
