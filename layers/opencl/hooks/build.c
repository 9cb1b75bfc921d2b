/* SPDX-License-Identifier: MIT */
/*
 * build: clBuildProgram and clCompileProgram, on the sequence that all builds
 * run (layers/shared/sequence/sequence.h). For a call with a callback a hit needs
 * no driver thread: the hook calls back when it is done. A miss goes to the
 * driver with the layer's callback in front of the application's. What compiling has beyond building are the
 * application's own headers, which are in the key, and which may include files.
 */
#include "layers/opencl/hooks/dispatch.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/cancel.h"
#include "layers/opencl/key/build_key.h"
#include "layers/opencl/key/options.h"
#include "layers/opencl/key/pyopencl_nonce.h"
#include "layers/opencl/program/capture.h"
#include "layers/opencl/program/moved_entry.h"
#include "layers/shared/driver/environment.h"
#include "layers/shared/driver/harmless.h"

/* What clCompileProgram is given beyond clBuildProgram. */
struct ocl_compile {
	cl_uint count;
	const cl_program *programs;
	const char **names;
	struct ocl_header *headers;	/* the same, as far as they are known; holds the texts */
};

/* The call, as the application made it. */
struct ocl_build_request {
	struct ocl_program *program;
	const struct ocl_compile *compile;	/* NULL: clBuildProgram */
	cl_uint list_count;
	const cl_device_id *list;
	const char *options;
	ocl_notify_fn notify;
	void *user_data;
};

struct build {
	struct drv_sequence sequence;	/* first */
	struct ocl_build_request call;	/* the application's */
	enum ocl_loaded_program_kind kind;	/* of what it makes */
	struct ocl_program_state found;	/* the program's; owns loaded */
	struct ocl_targets targets;
	struct cc_key key;
	enum cc_capture capture;
	struct ocl_original *original;	/* of a compilation with a key; for the call, or a hit's program */
	struct ocl_loaded_program *superseded;	/* what stood for the program until the driver was called */
	cl_int error;			/* the call's */
	bool hit;
	bool claimed;			/* other threads wait to build the program */
	/* Of a build in the driver's hands. */
	atomic_uint refs;		/* the call's and the callback's; the last of them calls the application back */
	char *options;			/* a copy for after the call, or NULL */
	uint64_t serial;		/* the program's, as this build makes it */
	bool called;			/* the driver called back; guarded by the objects' lock */
	bool abandoned;			/* the driver refused the build, and will hardly call back; likewise */
};

static struct build *of(struct drv_sequence *sequence)
{
	return (struct build *)sequence;
}

static void release(struct build *build)
{
	drv_sequence_release(&build->sequence);
	cc_key_release(&build->key);
	ocl_targets_release(&build->targets);
	free(build->options);
}

static bool is_built_beyond(const struct build *build)
{
	return ocl_program_built_beyond(build->call.program, build->targets.count,
					build->targets.devices);
}

/*
 * Compiled after a build, whether or not that failed, a program answers about kernels where one that was
 * only compiled, or was loaded, ends the process.
 */
static bool answers_by_build(const struct build *build, const struct drv_driver *driver)
{
	return driver->unbuilt_ends_process && ocl_program_build_was_tried(build->call.program);
}

/* The same, where the build was a hit, which the driver's own program never saw. */
static bool would_answer_by_build(const struct build *build)
{
	struct ocl_loaded_program *loaded = build->call.compile ? ocl_program_loaded(build->call.program) : NULL;
	bool would = loaded && answers_by_build(build, loaded->driver);

	ocl_loaded_program_unref(loaded);
	return would;
}

/* Of a compilation. NULL: out of memory. */
static struct ocl_original *original_of(const struct build *build)
{
	const struct ocl_build_request *call = &build->call;
	const struct ocl_original_request original = {
		.list_count = call->list_count,
		.list = call->list,
		.options = call->options,
		.compiled = true,
		.header_count = call->compile->count,
		.headers = call->compile->headers,
	};

	return ocl_program_new_original(call->program, &original);
}

/* Fills key, original and the sequence's driver and libraries. false: bypass is the reason not to cache. */
static bool gather(struct build *build)
{
	const struct ocl_build_request *call = &build->call;
	const struct ocl_compile *compile = call->compile;
	const bool il = call->program->text->is_il;
	const struct ocl_key_request request = {
		.kind = compile ? (il ? "compile-il" : "compile") : (il ? "il" : "source"),
		.program = call->program,
		.without_constants = !build->found.has_constants,
		.options = call->options,
		.targets = &build->targets,
		.num_headers = compile ? compile->count : 0,
		.headers = compile ? compile->headers : NULL,
	};
	const char **reason = &build->sequence.bypass;
	const struct ocl_identity *identity;

	*reason = "devices-unknown";
	if (!build->targets.count)
		return false;
	*reason = "device-subset";
	/* The program would have to be compiled anew for the others, whose headers are gone by then. */
	if (compile && build->targets.count != build->targets.program_count)
		return false;
	/* What is there for other devices could not stay beside a loaded program. */
	if (build->found.is_built && is_built_beyond(build))
		return false;
	*reason = "header-unknown";
	if (request.num_headers && !request.headers)
		return false;
	if (ocl_build_key(&request, &build->key, &identity, reason) != CMN_OK)
		return false;
	build->sequence.driver = identity->driver;
	build->sequence.libraries = identity->libraries;
	*reason = "compiled-again";
	if (compile && answers_by_build(build, identity->driver))
		return false;
	*reason = NULL;
	if (compile)
		build->original = original_of(build);
	return true;
}

static void give_up_claim(struct build *build)
{
	if (build->claimed)
		ocl_program_end(build->call.program);
	build->claimed = false;
}

/*
 * The driver's own build or compilation, after step_prepare. With notify, the
 * application may have released all that it passed when the driver returns.
 */
static void call_driver(struct build *build, const struct ocl_targets *targets, ocl_notify_fn notify,
			void *user_data)
{
	const struct ocl_build_request *call = &build->call;
	const struct ocl_compile *compile = call->compile;
	cl_program handle = call->program->object.handle;

	/* The application's callback may build the program again, in this thread. */
	if (notify)
		give_up_claim(build);
	drv_environment_note_build();
	if (!compile) {
		ocl_program_note_build(call->program);
		build->error = OCL_NEXT.clBuildProgram(handle, call->list_count, call->list,
						       call->options, notify, user_data);
	} else {
		build->error = OCL_NEXT.clCompileProgram(handle, call->list_count, call->list,
							 call->options, compile->count,
							 compile->programs, compile->names, notify,
							 user_data);
	}
	if (build->error == CL_SUCCESS) {
		ocl_program_add_built(call->program, targets->count, targets->devices);
		ocl_program_set_original(call->program, ocl_original_ref(build->original));
	}
	ocl_program_settle_loaded(call->program, build->superseded, build->error);
	build->superseded = NULL;
}

/* The steps of the sequence. */

static bool step_may_be_kept(struct drv_sequence *sequence, const char **ret_reason)
{
	struct build *build = of(sequence);
	enum drv_options options = drv_options_judge(sequence->driver->options, build->call.options);

	/* An object is as finished as it will be, quickly read, and a link is to know what it holds. */
	build->capture = build->kind == OCL_LOADED_OBJECT ? CC_CAPTURE_EAGER :
			 ocl_identity_capture(build->targets.count, build->targets.devices);
	sequence->apart = build->capture == CC_CAPTURE_DEFERRED;
	*ret_reason = "option";
	sequence->unproven = options == DRV_OPTIONS_UNPROVEN;
	return options != DRV_OPTIONS_HARMFUL;
}

static struct drv_observer_text step_text(struct drv_sequence *sequence)
{
	const struct ocl_build_request *call = &of(sequence)->call;
	struct drv_observer_text text = ocl_observer_text(sequence->driver, call->program->text, call->options);

	/* What the application's own headers ask for is not looked at. */
	text.named = call->compile && call->compile->count;
	return text;
}

/* From now on the application's program answers for itself, also while it is being built. */
static void step_prepare(struct drv_sequence *sequence)
{
	struct build *build = of(sequence);

	build->superseded = ocl_program_take_loaded(build->call.program);
}

static enum drv_outcome step_call(struct drv_sequence *sequence)
{
	struct build *build = of(sequence);

	call_driver(build, &build->targets, build->call.notify, build->call.user_data);
	return ocl_outcome_of(build->error);
}

static char *step_failure(const struct drv_sequence *sequence)
{
	const struct build *build = (const struct build *)sequence;

	return ocl_failure_text(build->call.program->object.handle, build->error, &build->targets);
}

static bool step_key_holds(struct drv_sequence *sequence)
{
	struct build *build = of(sequence);

	return ocl_build_key_holds(&build->key, &build->targets);
}

/* PyOpenCL's token, which the key of a build does not have. */
static bool token_may_matter(const struct build *build, const struct cc_manifest *manifest)
{
	return build->kind != OCL_LOADED_OBJECT &&
	       ocl_token_may_matter(build->call.program->text, build->call.options, manifest, &build->key.include_paths);
}

static const char *step_input_changed(struct drv_sequence *sequence)
{
	struct build *build = of(sequence);

	if (ocl_program_got_constants(build->call.program, &build->found))
		return "constants-unknown";
	return token_may_matter(build, sequence->manifest) ? "random-token" : NULL;
}

/* Reads the program just built, or leaves a recipe of it. */
static enum cmn_status step_capture(struct drv_sequence *sequence, struct cc_entry **ret)
{
	struct build *build = of(sequence);
	struct ocl_program *program = build->call.program;
	struct ocl_capture_request request = {
		.kind = build->kind,
		.targets = &build->targets,
		/* An object is only created from its binary, not built: much quicker. */
		.load_rate = build->kind == OCL_LOADED_OBJECT ? 0 : sequence->driver->load_rate,
		.text = program->text,
		.options = build->call.options,
	};
	enum cmn_status status;

	if (sequence->outcome == DRV_BUILD_FAILED) {
		if (sequence->driver->unbuilt_ends_process)
			return CMN_MISS;
		request.kind = OCL_LOADED_FAILURE;
		return ocl_capture_failure(sequence, program->object.handle, &request, build->error,
					   ret);
	}
	/* Reading the binary would hold up the application: another process is to make it. */
	if (build->capture == CC_CAPTURE_DEFERRED) {
		sequence->deferred = ocl_recipe_record(sequence, &build->targets, sequence->manifest);
		if (!sequence->deferred)
			sequence->bypass = "capture-deferred";
		return CMN_MISS;
	}
	status = ocl_capture_read(sequence, program->object.handle, &request, ret);
	if (status == CMN_OK && build->kind == OCL_LOADED_OBJECT)
		ocl_program_set_content(program, *ret);
	return status;
}

static bool step_leave_recipe(const struct drv_sequence *sequence)
{
	return ocl_recipe_record(sequence, &((const struct build *)sequence)->targets, NULL);
}

/* Puts the program that is loaded from the entry, or the failure that this tells of, in the place of the application's. */
static enum cmn_status step_attach(struct drv_sequence *sequence, struct cc_entry *entry)
{
	struct build *build = (struct build *)sequence;
	struct ocl_program *program = build->call.program;
	struct ocl_load load = {
		.context = program->context,
		.kind = build->kind,
		.num_devices = build->targets.count,
		.devices = build->targets.devices,
		.options = build->call.options,
		.driver = sequence->driver,
		.entry = entry,
	};
	struct ocl_program_hit hit = {
		.object = build->kind == OCL_LOADED_OBJECT ? entry : NULL,
		.num_devices = build->targets.count,
		.devices = build->targets.devices,
		.constants_told = build->found.constants_told,
	};
	cl_int error = CL_SUCCESS;
	enum cmn_status status;
	struct cmn_view failure;

	if (cc_entry_find(entry, OCL_TAG_ERROR, 0, &failure) && failure.len == sizeof(error)) {
		memcpy(&error, failure.data, sizeof(error));
		load.kind = OCL_LOADED_FAILURE;
		hit.object = NULL;
		/*
		 * Whether a failure is returned or only told to the callback differs among drivers, as
		 * does what it leaves of an earlier build.
		 */
		if (build->call.notify || build->found.is_built)
			return CMN_MISS;
	}
	/* It was made with another token of PyOpenCL's. */
	if (ocl_pyopencl_nonce_may_be(ocl_program_text_view(program->text)) &&
	    token_may_matter(build, cc_entry_manifest(entry)))
		return CMN_MISS;
	load.entry = build->key.include_paths.count ? ocl_entry_move(entry, &build->key.include_paths) :
						      cc_entry_ref(entry);
	if (!load.entry)
		return CMN_ERR_NOMEM;
	status = ocl_loaded_program_new(&load, &hit.loaded);
	cc_entry_unref(load.entry);
	if (status != CMN_OK)
		return status;
	hit.original = build->original;
	build->original = NULL;
	/* A program that is built for other devices too was refused by gather. */
	if (load.kind == OCL_LOADED_EXECUTABLE)
		hit.options = build->call.options ? build->call.options : "";
	ocl_program_put_hit(program, &hit);
	build->claimed = false;
	build->error = error;
	return CMN_OK;
}

static const struct drv_sequence_steps steps = {
	.keeps_failures = true,
	.may_be_kept = step_may_be_kept,
	.text = step_text,
	.prepare = step_prepare,
	.call = step_call,
	.failure = step_failure,
	.key_holds = step_key_holds,
	.input_changed = step_input_changed,
	.capture = step_capture,
	.leave_recipe = step_leave_recipe,
	.attach = step_attach,
};

/* By which options a build of the driver's that succeeded was done. */
static void note_options(const struct build *build)
{
	const char *options = build->call.options ? build->call.options : "";

	/* For others it may be built by others. */
	if (build->kind == OCL_LOADED_OBJECT || !build->targets.count || is_built_beyond(build))
		options = NULL;
	ocl_program_set_options(build->call.program, options, &build->found);
}

/*
 * A build in the driver's hands belongs to the call that started it and to its
 * callback. The application is called back when neither needs the program: it
 * may release it then.
 */
static void unref_record(struct build *record)
{
	struct ocl_program *program = record->call.program;

	if (atomic_fetch_sub(&record->refs, 1) != 1)
		return;
	record->call.notify(program->object.handle, record->call.user_data);
	ocl_program_unref(program);
	release(record);
	free(record);
}

/* Whether the program still holds what this build made: the application may have had it built again since. */
static bool is_current(const struct build *build)
{
	bool current;

	ocl_objects_lock();
	current = build->call.program->build_serial == build->serial;
	ocl_objects_unlock();
	return current;
}

/*
 * Reads what was built and keeps it, unless the program was built again
 * meanwhile; with the program claimed, so that what is read is of the size that
 * the driver said it has.
 */
static void keep(struct build *build)
{
	struct cc_entry *entry;

	if (!is_current(build))
		return;
	if (drv_sequence_capture(&build->sequence, &entry) == CMN_OK) {
		if (is_current(build))
			cc_cache_put(ocl_layer.cache, &build->key, entry);
		cc_entry_unref(entry);
	}
}

static bool is_built(const struct build *build, cl_program handle)
{
	cl_build_status status = CL_BUILD_ERROR;

	for (cl_uint i = 0; i < build->targets.count; i++) {
		if (OCL_NEXT.clGetProgramBuildInfo(handle, build->targets.devices[i],
						   CL_PROGRAM_BUILD_STATUS, sizeof(status),
						   &status, NULL) != CL_SUCCESS ||
		    status != CL_BUILD_SUCCESS)
			return false;
	}
	return true;
}

/* The driver's callback of a build that the application wanted one for, from any thread. */
static void CL_CALLBACK built(cl_program handle, void *user_data)
{
	struct build *build = user_data;
	struct ocl_program *program = build->call.program;
	bool abandoned, claimed;

	ocl_objects_lock();
	build->called = true;
	abandoned = build->abandoned;
	ocl_objects_unlock();
	if (abandoned) {
		build->call.notify(handle, build->call.user_data);
		return;
	}
	build->sequence.build_ns = cc_cache_build_ns(build->sequence.cache, &build->sequence.build_start);
	build->sequence.outcome = is_built(build, handle) ? DRV_BUILT : DRV_ERROR;
	if (build->sequence.outcome != DRV_BUILT)	/* which a callback is not told */
		build->error = build->kind == OCL_LOADED_OBJECT ? CL_COMPILE_PROGRAM_FAILURE : CL_BUILD_PROGRAM_FAILURE;
	/* Who builds it now may be in the driver until this callback returns, and is not waited for. */
	claimed = build->sequence.outcome == DRV_BUILT && ocl_program_try_begin(program);
	if (claimed && is_current(build) && build->kind == OCL_LOADED_EXECUTABLE)
		note_options(build);
	if (claimed)
		keep(build);
	drv_sequence_count(&build->sequence);
	drv_sequence_release(&build->sequence);	/* may ask devices, which the application lets go once it is called back */
	ocl_objects_lock();
	program->async_builds--;
	ocl_objects_unlock();
	if (claimed)
		ocl_program_end(program);
	unref_record(build);
}

/* What the callback needs of the build; NULL: out of memory. */
static struct build *new_record(struct build *build)
{
	struct build *record = malloc(sizeof(*record));
	const char *options = build->call.options;

	if (!record)
		return NULL;
	*record = *build;
	record->options = options ? strdup(options) : NULL;
	if (options && !record->options) {
		free(record);
		return NULL;
	}
	atomic_init(&record->refs, 2);
	record->sequence.key = &record->key;
	record->call.options = record->options;
	record->key.include_paths.options = record->options;
	record->call.compile = NULL;
	record->original = NULL;	/* the call's, as this is */
	record->found.loaded = NULL;
	/* These went to the record. */
	build->sequence.observation = NULL;
	build->sequence.driver_pid = 0;
	build->targets = (struct ocl_targets){ 0 };
	build->key = (struct cc_key){ 0 };
	ocl_object_ref(&record->call.program->object);
	return record;
}

/*
 * Gives the build to the driver with the layer's callback. Drivers differ in
 * whether they call back for a build that they refuse at once. Where one
 * refused and did not call, the bare record stays allocated in case that it
 * still does.
 */
static void build_later(struct build *build)
{
	struct ocl_program *program = build->call.program;
	struct drv_observation *observation;
	struct build *record;
	bool abandoned;

	step_prepare(&build->sequence);
	drv_sequence_watch(&build->sequence);
	observation = build->sequence.observation;
	build->sequence.build_start = cc_cache_start_build(build->sequence.cache);
	record = new_record(build);
	if (!record) {
		(void)drv_sequence_leave_driver(&build->sequence);
		drv_observer_miss();
		call_driver(build, &build->targets, build->call.notify, build->call.user_data);
		return;
	}
	ocl_objects_lock();
	program->async_builds++;
	record->serial = program->build_serial;
	ocl_objects_unlock();
	call_driver(build, &record->targets, built, record);
	drv_observer_leave_call(observation);	/* most drivers have called back before, in this thread */
	ocl_objects_lock();
	abandoned = build->error != CL_SUCCESS && !record->called;
	if (abandoned) {
		record->abandoned = true;
		program->async_builds--;
	}
	ocl_objects_unlock();
	if (abandoned) {
		record->error = build->error;
		record->sequence.outcome = ocl_outcome_of(build->error);
		drv_sequence_count(&record->sequence);
		release(record);
		ocl_program_unref(program);
	} else {
		unref_record(record);
	}
}

/* The application wants to be called back: the call may return before the driver is done. */
static void build_with_callback(struct build *build)
{
	build->hit = drv_sequence_look_up(&build->sequence);
	if (build->hit)
		return;
	(void)drv_sequence_may_be_kept(&build->sequence);	/* bypass tells */
	build_later(build);
}

/* Kernels of a loaded program live: whether the program may be built again is the driver's to say, and the loaded one is in the same state. */
static bool driver_refuses_rebuild(const struct build *build)
{
	const struct ocl_build_request *call = &build->call;
	const struct ocl_loaded_program *loaded = build->found.loaded;

	/* Asking a driver to compile would change the loaded program. */
	return call->compile ? !loaded->driver->compiles_with_kernels :
	       !ocl_loaded_program_has_kernels(loaded) ||
	       OCL_NEXT.clBuildProgram(loaded->handle, call->list_count, call->list,
				       call->options, NULL, NULL) == CL_INVALID_OPERATION;
}

/*
 * A loaded program stands for other devices than this build is for, or for a build that this
 * compilation is to follow: the application's own is built for them now, so that it holds
 * both. The application built it so before.
 */
static void bring_back_others(struct build *build)
{
	struct ocl_program *program = build->call.program;
	struct ocl_loaded_program *loaded = ocl_program_take_loaded(program);
	struct drv_observation *observation = drv_observer_pass(&(struct drv_observer_request){
		.driver = build->sequence.driver, .libraries = build->sequence.libraries });

	if (loaded && loaded->kind == OCL_LOADED_EXECUTABLE && !loaded->own)
		(void)OCL_NEXT.clBuildProgram(program->object.handle, loaded->num_devices,
					      loaded->devices, loaded->options, NULL,
					      NULL);	/* as it would be without us */
	drv_observer_drop(observation);
	ocl_program_set_loaded(program, loaded);
}

/* Header arguments that a driver has to refuse (OpenCL 3.0, clCompileProgram, Errors). */
static bool has_bad_headers(const struct ocl_compile *compile)
{
	return (compile->count == 0) != (compile->programs == NULL) ||
	       (compile->count == 0) != (compile->names == NULL);
}

/* false: that was all, without the cache. */
static bool prepare(struct build *build)
{
	const struct ocl_build_request *call = &build->call;
	const struct ocl_program *program = call->program;
	/* Arguments that a driver has to refuse (OpenCL 3.0, clBuildProgram, Errors). */
	bool bad = (call->list_count == 0) != (call->list == NULL) ||
		   (!call->notify && call->user_data) ||
		   (call->compile && has_bad_headers(call->compile));
	/* The driver alone is to decide: the layer could only get in its way. */
	bool plain = bad || build->found.left_to_driver ||
		     /* A linked program should not be built again; some drivers do it all the same. */
		     !program->text;
	bool unbuildable = program->unbuildable && !call->compile && !bad;
	const struct ocl_identity *identity;

	if (unbuildable || (!plain && build->found.loaded && driver_refuses_rebuild(build))) {
		build->error = CL_INVALID_OPERATION;
		return false;
	}
	/* Without any it is a list that the driver refuses. */
	if (ocl_targets_of_program(program->object.handle, call->list_count, call->list,
				   &build->targets) != CMN_OK)
		build->targets.count = 0;
	if (!plain && gather(build))
		return true;
	identity = build->targets.count ? ocl_identity_of(build->targets.devices[0]) : NULL;
	if (identity) {
		build->sequence.driver = identity->driver;
		build->sequence.libraries = identity->libraries;
	}
	if (!plain && build->targets.count && (is_built_beyond(build) || would_answer_by_build(build)))
		bring_back_others(build);
	drv_sequence_run_without_key(&build->sequence, ocl_program_text_view(program->text));
	return false;
}

/* Carries out the call; calls back where the cache had it. The driver's answer. */
static cl_int ocl_build(const struct ocl_build_request *request)
{
	struct ocl_program *program = request->program;
	struct build build = {
		.sequence = { .steps = &steps, .cache = ocl_layer.cache, .key = &build.key,
			      .goes_on = request->notify != NULL },
		.call = *request,
		.kind = request->compile ? OCL_LOADED_OBJECT : OCL_LOADED_EXECUTABLE,
	};

	drv_sequence_begin(&build.sequence);
	ocl_program_begin(program, &build.found);
	build.claimed = true;
	/* It may be over at any time from now on. */
	if (request->notify)
		ocl_program_set_options(program, NULL, NULL);
	if (prepare(&build)) {
		if (request->notify)
			build_with_callback(&build);
		else
			build.hit = drv_sequence_run(&build.sequence);
	}
	if (!build.hit && !request->notify && build.error == CL_SUCCESS)
		note_options(&build);
	if (build.claimed)
		ocl_program_end(program);
	if (build.hit && request->notify)
		request->notify(program->object.handle, request->user_data);
	if (build.original)
		ocl_original_unref(build.original);
	if (build.found.loaded)
		ocl_loaded_program_unref(build.found.loaded);
	release(&build);
	return build.error;
}

void ocl_build_failure(struct ocl_program *program, const struct ocl_loaded_program *loaded)
{
	struct ocl_program_state found;
	struct ocl_loaded_program *present;
	struct drv_observation *observation;
	struct cmn_view stored;
	cl_int error = CL_BUILD_PROGRAM_FAILURE;

	/* The headers of a compilation may be gone. */
	if (!cc_entry_find(loaded->entry, OCL_TAG_LEFT_IMAGES, 0, &stored) ||
	    !cc_entry_find(loaded->entry, OCL_TAG_ERROR, 0, &stored) ||
	    !cmn_view_equal(stored, (struct cmn_view){ &error, sizeof(error) }))
		return;
	ocl_program_begin(program, &found);
	ocl_loaded_program_unref(found.loaded);
	present = ocl_program_loaded(program);
	/* Else another thread had it built meanwhile. */
	if (present == loaded) {
		ocl_loaded_program_unref(ocl_program_take_loaded(program));
		drv_environment_note_build();
		observation = drv_observer_pass(&(struct drv_observer_request){ .driver = loaded->driver });
		error = OCL_NEXT.clBuildProgram(program->object.handle, loaded->num_devices, loaded->devices,
						loaded->options, NULL, NULL);
		drv_observer_drop(observation);
		if (error == CL_SUCCESS)
			ocl_program_add_built(program, loaded->num_devices, loaded->devices);
	}
	ocl_loaded_program_unref(present);
	ocl_program_end(program);
}

cl_int CL_API_CALL ocl_clBuildProgram(cl_program program, cl_uint num_devices,
				      const cl_device_id *device_list, const char *options,
				      ocl_notify_fn pfn_notify, void *user_data)
{
	CMN_NOT_CANCELLED;
	const struct ocl_build_request request = {
		.program = ocl_program_find(program),
		.list_count = num_devices,
		.list = device_list,
		.options = options,
		.notify = pfn_notify,
		.user_data = user_data,
	};
	cl_int error;

	if (!request.program) {
		drv_environment_note_build();
		drv_observer_miss();
		return OCL_NEXT.clBuildProgram(program, num_devices, device_list, options,
					       pfn_notify, user_data);
	}
	error = ocl_build(&request);
	ocl_program_unref(request.program);
	return error;
}

static void release_headers(struct ocl_compile *compile)
{
	for (cl_uint i = 0; compile->headers && i < compile->count; i++)
		ocl_program_text_unref(compile->headers[i].text);
	free(compile->headers);
	compile->headers = NULL;
}

/* Leaves headers NULL where one of them is not made from source, or bad. */
static void find_headers(struct ocl_compile *compile)
{
	if (!compile->count || !compile->programs || !compile->names)
		return;
	compile->headers = calloc(compile->count, sizeof(*compile->headers));
	for (cl_uint i = 0; compile->headers && i < compile->count; i++) {
		struct ocl_program *program = compile->names[i] ?
			ocl_program_find(compile->programs[i]) : NULL;

		compile->headers[i].name = compile->names[i];
		if (program && ocl_program_text_is_source(program->text))
			compile->headers[i].text = ocl_program_text_ref(program->text);
		ocl_program_unref(program);
		if (!compile->headers[i].text)
			release_headers(compile);
	}
}

cl_int CL_API_CALL ocl_clCompileProgram(cl_program handle, cl_uint num_devices,
					const cl_device_id *device_list, const char *options,
					cl_uint num_input_headers, const cl_program *input_headers,
					const char **header_include_names,
					ocl_notify_fn pfn_notify, void *user_data)
{
	CMN_NOT_CANCELLED;
	struct ocl_compile compile = { num_input_headers, input_headers, header_include_names,
				       NULL };
	const struct ocl_build_request request = {
		.program = ocl_program_find(handle),
		.compile = &compile,
		.list_count = num_devices,
		.list = device_list,
		.options = options,
		.notify = pfn_notify,
		.user_data = user_data,
	};
	cl_int error;

	if (!request.program) {
		drv_environment_note_build();
		drv_observer_miss();
		return OCL_NEXT.clCompileProgram(handle, num_devices, device_list, options,
						 num_input_headers, input_headers,
						 header_include_names, pfn_notify, user_data);
	}
	find_headers(&compile);
	error = ocl_build(&request);
	release_headers(&compile);
	ocl_program_unref(request.program);
	return error;
}
