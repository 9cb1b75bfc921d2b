/* SPDX-License-Identifier: MIT */
/*
 * build_callback: clBuildProgram or clCompileProgram with the application's callback. A hit needs
 * no driver thread: the hook calls back when it is done. A miss goes to the
 * driver with the layer's callback in front of the application's.
 */
#include "layers/opencl/hooks/build.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "layers/opencl/program/capture.h"

/* A build in the driver's hands belongs to the call that started it and to its callback. */
static void unref_record(struct ocl_build *record)
{
	if (atomic_fetch_sub(&record->refs, 1) != 1)
		return;
	ocl_program_unref(record->program);
	ocl_build_release(record);
	free(record);
}

/* Whether P still holds what this build made: the application may have had it built again since. */
static bool is_current(const struct ocl_build *build)
{
	bool current;

	ocl_objects_lock();
	current = build->program->build_serial == build->serial;
	ocl_objects_unlock();
	return current;
}

/*
 * Reads what was built and keeps it, unless P was built again meanwhile; with
 * the program claimed, so that what is read is of the size that the driver
 * said it has.
 */
static void keep(struct ocl_build *build)
{
	struct ocl_capture *capture = NULL;
	struct cc_entry *entry;

	if (!is_current(build))
		return;
	if (ocl_build_capture(build, &entry) == CMN_OK) {
		if (is_current(build))
			cc_cache_put(ocl_layer.cache, &build->key, entry);
		cc_entry_unref(entry);
	} else if (!is_current(build)) {
		/* If it was to be read later, that is too late now. */
		ocl_objects_lock();
		capture = build->program->capture;
		build->program->capture = NULL;
		ocl_objects_unlock();
		ocl_capture_free(capture);
	}
}

/* The driver's callback of a build that the application wanted one for, from any thread. */
static void CL_CALLBACK built(cl_program handle, void *user_data)
{
	struct ocl_build *build = user_data;
	struct ocl_program *program = build->program;
	cl_build_status status = CL_BUILD_ERROR;
	ocl_notify_fn notify = build->notify;
	void *notify_data = build->user_data;
	bool abandoned, claimed;

	ocl_objects_lock();
	build->called = true;
	abandoned = build->abandoned;
	ocl_objects_unlock();
	if (abandoned) {
		notify(handle, notify_data);
		return;
	}
	build->build_ns = cmn_clock_monotonic() - build->start_ns;
	for (cl_uint i = 0; i < build->targets.count; i++) {
		if (OCL_NEXT.clGetProgramBuildInfo(handle, build->targets.devices[i],
						   CL_PROGRAM_BUILD_STATUS, sizeof(status),
						   &status, NULL) != CL_SUCCESS)
			status = CL_BUILD_ERROR;
		if (status != CL_BUILD_SUCCESS)
			break;
	}
	/* Who builds it now may be in the driver until this callback returns, and is not waited for. */
	claimed = status == CL_BUILD_SUCCESS && ocl_program_try_begin(program);
	if (claimed && is_current(build) && build->kind == OCL_EFFECTIVE_EXECUTABLE)
		ocl_build_note_options(build);
	if (claimed)
		keep(build);
	ocl_build_count(build);
	ocl_objects_lock();
	program->async_builds--;
	ocl_objects_unlock();
	if (claimed)
		ocl_program_end(program);
	notify(handle, notify_data);
	unref_record(build);
}

/*
 * Gives the build to the driver with the layer's callback. Drivers differ in
 * whether they call back for a build that they refuse at once. Where one
 * refused and did not call, the bare record stays allocated in case that it
 * still does.
 */
static void build_later(struct ocl_build *build)
{
	struct ocl_program *program = build->program;
	struct ocl_build *record = malloc(sizeof(*record));
	char *options = build->options ? strdup(build->options) : NULL;
	bool abandoned;

	if (!record || (build->options && !options)) {
		free(record);
		free(options);
		ocl_build_run(build, build->notify, build->user_data);
		return;
	}
	ocl_build_watch(build);
	*record = *build;
	atomic_init(&record->refs, 2);
	record->own_options = options;
	record->options = options;
	record->compile = NULL;
	record->original = NULL;	/* the call's */
	build->targets = (struct ocl_targets){ 0 };
	build->observation = NULL;
	build->key = (struct cc_key){ 0 };
	ocl_object_ref(&program->object);
	ocl_objects_lock();
	program->async_builds++;
	record->serial = program->build_serial + 1;
	ocl_objects_unlock();
	ocl_build_run(build, built, record);
	ocl_objects_lock();
	abandoned = build->error != CL_SUCCESS && !record->called;
	if (abandoned) {
		record->abandoned = true;
		program->async_builds--;
	}
	ocl_objects_unlock();
	if (abandoned) {
		ocl_build_release(record);
		ocl_program_unref(program);
	} else {
		unref_record(record);
	}
}

void ocl_build_with_callback(struct ocl_build *build)
{
	struct cc_entry *entry;
	enum cc_origin origin;

	if (cc_cache_get(ocl_layer.cache, &build->key, &entry, &origin) == CMN_OK) {
		struct cmn_view error;

		/* Whether a failure is returned or only told to the callback differs among drivers. */
		if (!cc_entry_find(entry, OCL_TAG_ERROR, 0, &error))
			build->hit = ocl_build_attach(build, entry, origin);
		cc_entry_unref(entry);
		if (build->hit)
			return;
	}
	if (ocl_build_may_be_cached(build)) {
		build_later(build);
		return;
	}
	cc_cache_count_bypass(ocl_layer.cache, build->bypass, &build->key);
	ocl_build_run(build, build->notify, build->user_data);
}
