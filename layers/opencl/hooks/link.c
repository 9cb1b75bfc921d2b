/* SPDX-License-Identifier: MIT */
/*
 * link: clLinkProgram, on the sequence that all builds run
 * (layers/shared/sequence/sequence.h). Its result is a new program: on a miss the
 * driver's, on a hit one that is loaded from the binary and is the
 * application's own, so that no other stands in its place. A link is identified by what its inputs hold,
 * which is known of programs that were compiled, built or linked under the
 * layer's eyes.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "layers/opencl/key/build_key.h"
#include "common/cancel.h"
#include "layers/opencl/program/capture.h"
#include "layers/opencl/hooks/dispatch.h"
#include "layers/shared/driver/environment.h"
#include "layers/shared/driver/harmless.h"

/* So many inputs need no memory to be found. */
enum { FEW_INPUTS = 8 };

/*
 * A callback that the application wants: it comes when neither the call nor the driver's callback
 * needs what it may release. One that the driver owes after it refused stays allocated.
 */
struct notice {
	atomic_uint refs;	/* the call's and the driver's */
	atomic_bool called;	/* by the driver */
	ocl_notify_fn notify;	/* NULL: the link was repeated, and has another notice */
	void *user_data;
	cl_program program;	/* of the driver's callback */
};

struct link {
	struct drv_sequence sequence;	/* first */
	cl_context context;
	cl_uint list_count;
	const cl_device_id *list;
	const char *options;
	cl_uint input_count;
	const cl_program *inputs;	/* the application's */
	/* With the loaded program in the place of each that has one; NULL: there was no memory. */
	cl_program *targets;
	struct ocl_loaded_program **loaded;
	struct ocl_original **originals;	/* of the application's; each may be NULL */
	struct cmn_hash *contents;
	struct {
		cl_program targets[FEW_INPUTS];
		struct ocl_loaded_program *loaded[FEW_INPUTS];
		struct ocl_original *originals[FEW_INPUTS];
		struct cmn_hash contents[FEW_INPUTS];
	} few;	/* all four, if they fit; else they are one allocation */
	enum ocl_loaded_program_kind kind;
	struct ocl_targets devices;
	struct cc_key key;
	enum cc_capture capture;
	bool hit;
	ocl_notify_fn notify;
	void *user_data;
	struct notice *notice;		/* of the last call of the driver */
	cl_program result;
	cl_int error;
};

static struct link *of(struct drv_sequence *sequence)
{
	return (struct link *)sequence;
}

static void release(struct link *link)
{
	drv_sequence_release(&link->sequence);
	for (cl_uint i = 0; link->targets && i < link->input_count; i++) {
		ocl_loaded_program_unref(link->loaded[i]);
		ocl_original_unref(link->originals[i]);
	}
	if (link->targets != link->few.targets)
		free(link->targets);
	ocl_targets_release(&link->devices);
	cc_key_release(&link->key);
}

static bool make_room(struct link *link, cl_uint count)
{
	if (count <= FEW_INPUTS) {
		link->targets = link->few.targets;
		link->loaded = link->few.loaded;
		link->originals = link->few.originals;
		link->contents = link->few.contents;
		return true;
	}
	link->targets = calloc(count, sizeof(*link->targets) + sizeof(*link->loaded) +
					      sizeof(*link->originals) + sizeof(*link->contents));
	if (!link->targets)
		return false;
	link->loaded = (struct ocl_loaded_program **)(link->targets + count);
	link->originals = (struct ocl_original **)(link->loaded + count);
	link->contents = (struct cmn_hash *)(link->originals + count);
	return true;
}

/* A copy with loaded programs in place of the application's; false: out of memory. */
static bool find_inputs(struct link *link)
{
	cl_uint count = link->input_count;

	if (!make_room(link, count))
		return false;
	for (cl_uint i = 0; i < count; i++) {
		struct ocl_program *program = ocl_program_find(link->inputs[i]);

		if (!program || !ocl_program_content(program, &link->contents[i]))
			link->sequence.bypass = "link-input";
		if (program) {
			link->loaded[i] = ocl_program_loaded(program);
			link->originals[i] = ocl_program_original(program);
		}
		link->targets[i] = link->inputs[i];
		if (link->loaded[i] && link->loaded[i]->handle)
			link->targets[i] = link->loaded[i]->handle;
		ocl_program_unref(program);
	}
	return true;
}

static bool is_library(const struct link *link)
{
	return link->options && strstr(link->options, "-create-library");
}

/* Fills kind, devices, key and the sequence's driver and libraries; its bypass is why not to cache, or NULL. */
static void gather(struct link *link)
{
	struct ocl_key_request request = {
		.kind = "link",
		.options = link->options,
		.num_inputs = link->input_count,
		.inputs = link->contents,
	};
	const struct ocl_identity *identity;
	const char *reason;

	link->kind = is_library(link) ? OCL_LOADED_OBJECT : OCL_LOADED_EXECUTABLE;
	if (ocl_targets_of_context(link->context, link->list_count, link->list,
				   &link->devices) != CMN_OK) {
		link->sequence.bypass = "devices-unknown";
		return;
	}
	request.targets = &link->devices;
	if (ocl_build_key(&request, &link->key, &identity, &reason) != CMN_OK) {
		link->sequence.bypass = reason;
		return;
	}
	link->sequence.driver = identity->driver;
	link->sequence.libraries = identity->libraries;
	/* It answers about one that it linked, and not about one that was loaded. */
	if (is_library(link) && identity->driver->unbuilt_ends_process)
		link->sequence.bypass = "library";
	else if (!drv_options_are_harmless(identity->driver->options, link->options))
		link->sequence.bypass = "option";
}

static void unref_notice(struct notice *notice)
{
	if (!notice || atomic_fetch_sub(&notice->refs, 1) != 1)
		return;
	if (notice->notify)
		notice->notify(notice->program, notice->user_data);
	free(notice);
}

static void CL_CALLBACK linked(cl_program program, void *user_data)
{
	struct notice *notice = user_data;

	notice->program = program;
	atomic_store(&notice->called, true);
	unref_notice(notice);
}

static void call_driver(struct link *link, const cl_program *inputs)
{
	struct notice *notice = link->notify ? calloc(1, sizeof(*notice)) : NULL;

	if (notice) {
		atomic_init(&notice->refs, 2);
		notice->notify = link->notify;
		notice->user_data = link->user_data;
	}
	link->notice = notice;
	link->error = CL_SUCCESS;
	link->result = OCL_NEXT.clLinkProgram(link->context, link->list_count, link->list,
					      link->options, link->input_count, inputs,
					      notice ? linked : link->notify,
					      notice ? notice : link->user_data, &link->error);
}

/* Whether what a binary was loaded into is linked in place of what the application compiled. */
static bool is_substituted(const struct link *link, cl_uint i)
{
	return link->loaded[i] && link->loaded[i]->handle;
}

/* For each input that is substituted the driver's own program, else NULL. false: one cannot be made, or none is. */
static bool make_originals(const struct link *link, cl_program *ret)
{
	bool any = false, made = true;

	for (cl_uint i = 0; i < link->input_count && made; i++) {
		if (!is_substituted(link, i))
			continue;
		any = true;
		ret[i] = ocl_original_make(link->originals[i], link->context);
		made = ret[i] != NULL;
	}
	return any && made;
}

/*
 * The driver did not link what was loaded from binaries (rusticl 26 refuses
 * some): it gets what it compiled itself. The answer to the application is the
 * one to that, also where the link fails as it would have without the layer.
 */
static void run_with_originals(struct link *link)
{
	cl_program *made = calloc(link->input_count, sizeof(*made));

	if (made && make_originals(link, made)) {
		cl_program failed = link->result;
		struct notice *notice = link->notice;

		for (cl_uint i = 0; i < link->input_count; i++) {
			if (!made[i])
				continue;
			link->targets[i] = made[i];
			/* A file may not be what it was when the object of the key was compiled. */
			if (!ocl_original_holds(link->originals[i], cc_cache_file_memo(ocl_layer.cache)) &&
			    !link->sequence.bypass)
				link->sequence.bypass = "link-refused";
		}
		call_driver(link, link->targets);
		if (notice)
			notice->notify = NULL;
		unref_notice(notice);
		if (failed)
			(void)OCL_NEXT.clReleaseProgram(failed);	/* nobody else has it */
	}
	for (cl_uint i = 0; made && i < link->input_count; i++) {
		if (!made[i])
			continue;
		/* The link may be tried again. */
		link->targets[i] = is_substituted(link, i) ? link->loaded[i]->handle : link->inputs[i];
		(void)OCL_NEXT.clReleaseProgram(made[i]);	/* ours alone */
	}
	free(made);
}

static void remember(const struct link *link)
{
	const struct ocl_original_request request = {
		.list_count = link->list_count,
		.list = link->list,
		.options = link->options,
	};
	struct ocl_program *program;

	ocl_program_remember(link->result, link->context, NULL);
	program = link->originals && link->error == CL_SUCCESS ? ocl_program_find(link->result) : NULL;
	/* Only libraries are linked again. */
	if (program && is_library(link))
		ocl_program_set_original(program, ocl_original_of_link(link->input_count,
								       link->originals, &request));
	ocl_program_unref(program);
}

/* Whether what the application passed, and the result, are still there: no callback of its own has been called. */
static bool is_held(const struct link *link)
{
	return !link->notify || link->notice;
}

static void run(struct link *link)
{
	drv_environment_note_build();
	call_driver(link, link->targets ? link->targets : link->inputs);
	/* Where the driver has yet to call back, it may be at it. */
	if (link->error != CL_SUCCESS && link->targets && is_held(link) &&
	    (!link->notice || !link->result || atomic_load(&link->notice->called)))
		run_with_originals(link);
	if (link->result && is_held(link))
		remember(link);
}

/* The steps of the sequence. */

static bool step_may_be_kept(struct drv_sequence *sequence, const char **ret_reason)
{
	struct link *link = of(sequence);

	(void)ret_reason;
	/* A library is quickly read. */
	link->capture = link->kind == OCL_LOADED_OBJECT ? CC_CAPTURE_EAGER :
			ocl_identity_capture(link->devices.count, link->devices.devices);
	sequence->apart = link->capture == CC_CAPTURE_DEFERRED;
	return true;
}

static struct drv_observer_text step_text(struct drv_sequence *sequence)
{
	/* A link is of its options. */
	return (struct drv_observer_text){ .options = of(sequence)->options, .named = true };
}

/* Of a link that ran out of memory the driver may have left a program. */
static void step_prepare(struct drv_sequence *sequence)
{
	struct link *link = of(sequence);

	if (link->result)
		(void)ocl_clReleaseProgram(link->result);	/* nobody else has it */
}

static enum drv_outcome step_call(struct drv_sequence *sequence)
{
	struct link *link = of(sequence);

	run(link);
	return link->error == CL_SUCCESS && !link->result ? DRV_ERROR : ocl_outcome_of(link->error);
}

/* Whose program the application may have released in its callback. */
static char *step_failure(const struct drv_sequence *sequence)
{
	const struct link *link = (const struct link *)sequence;

	return ocl_failure_text(link->notify ? NULL : link->result, link->error, &link->devices);
}

static bool step_key_holds(struct drv_sequence *sequence)
{
	return ocl_build_key_holds(&of(sequence)->key, &of(sequence)->devices);
}

/* Whether another thread compiled one of them meanwhile: nobody knows which of the two was linked. */
static const char *step_input_changed(struct drv_sequence *sequence)
{
	const struct link *link = of(sequence);
	bool changed = false;

	for (cl_uint i = 0; i < link->input_count && !changed; i++) {
		struct ocl_program *program = ocl_program_find(link->inputs[i]);
		struct cmn_hash content;

		changed = !program || !ocl_program_content(program, &content) ||
			  !cmn_hash_equal(&content, &link->contents[i]);
		ocl_program_unref(program);
	}
	return changed ? "link-input" : NULL;
}

static enum cmn_status step_capture(struct drv_sequence *sequence, struct cc_entry **ret)
{
	struct link *link = of(sequence);
	const struct ocl_capture_request request = {
		.kind = link->kind,
		.targets = &link->devices,
	};
	struct ocl_program *program;
	enum cmn_status status;

	/* The inputs, which are in the cache, are linked again by another process. */
	if (link->capture == CC_CAPTURE_DEFERRED) {
		sequence->deferred = ocl_recipe_record(sequence, &link->devices, sequence->manifest);
		if (!sequence->deferred)
			sequence->bypass = "capture-deferred";
		return CMN_MISS;
	}
	status = ocl_capture_read(sequence, link->result, &request, ret);
	program = ocl_program_find(link->result);
	if (status == CMN_OK && program && link->kind == OCL_LOADED_OBJECT)
		ocl_program_set_content(program, *ret);
	ocl_program_unref(program);
	return status;
}

static bool step_leave_recipe(const struct drv_sequence *sequence)
{
	return ocl_recipe_record(sequence, &((const struct link *)sequence)->devices, NULL);
}

/* The application's program from an entry. */
static enum cmn_status step_attach(struct drv_sequence *sequence, struct cc_entry *entry)
{
	struct link *link = of(sequence);
	const struct ocl_load load = {
		.context = link->context,
		.kind = link->kind,
		.num_devices = link->devices.count,
		.devices = link->devices.devices,
		.driver = sequence->driver,
		/* No options: those of a link are not those of a build, and the binary has them in it. */
		.entry = entry,
	};
	struct ocl_loaded_program *loaded;
	struct ocl_program *program;
	enum cmn_status status = ocl_loaded_program_new(&load, &loaded);

	if (status != CMN_OK)
		return status;
	link->result = loaded->handle;
	link->error = CL_SUCCESS;
	remember(link);
	program = ocl_program_find(loaded->handle);
	/* Unknown to the layer it would not answer as a link's result. */
	if (!program) {
		ocl_loaded_program_unref(loaded);
		link->result = NULL;
		return CMN_ERR_NOMEM;
	}
	loaded->own = true;
	ocl_program_set_loaded(program, loaded);
	if (link->kind == OCL_LOADED_OBJECT)
		ocl_program_set_content(program, entry);
	ocl_program_unref(program);
	return CMN_OK;
}

static const struct drv_sequence_steps steps = {
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

/* What the layer did with the result is no reason for the application to end in its driver. */
static void guard(const struct link *link)
{
	struct ocl_program *program = link->result ? ocl_program_find(link->result) : NULL;

	if (program && link->sequence.driver->linked_builds_abort &&
	    (link->hit || link->capture == CC_CAPTURE_EAGER))
		program->unbuildable = true;
	ocl_program_unref(program);
}

/* OpenCL 3.0, clLinkProgram, Errors: what a driver has to refuse. */
static bool has_bad_arguments(const struct link *link)
{
	return (link->list_count == 0) != (link->list == NULL) || (!link->notify && link->user_data);
}

cl_program CL_API_CALL ocl_clLinkProgram(cl_context context, cl_uint num_devices,
					 const cl_device_id *device_list, const char *options,
					 cl_uint num_input_programs,
					 const cl_program *input_programs,
					 ocl_notify_fn pfn_notify, void *user_data,
					 cl_int *errcode_ret)
{
	CMN_NOT_CANCELLED;
	struct link link = {
		.sequence = { .steps = &steps, .cache = ocl_layer.cache, .key = &link.key,
			      .goes_on = pfn_notify != NULL },
		.context = context,
		.list_count = num_devices,
		.list = device_list,
		.options = options,
		.input_count = num_input_programs,
		.inputs = input_programs,
		.notify = pfn_notify,
		.user_data = user_data,
	};

	if (!num_input_programs || !input_programs)
		return OCL_NEXT.clLinkProgram(context, num_devices, device_list, options,
					      num_input_programs, input_programs, pfn_notify,
					      user_data, errcode_ret);
	drv_sequence_begin(&link.sequence);
	if (!find_inputs(&link))
		link.sequence.bypass = "no-memory";
	/* Which of several errors the driver names may depend on the inputs. */
	if (has_bad_arguments(&link))
		link.sequence.bypass = "bad-arguments";
	/* The result of a link that goes on after the call cannot be read here. */
	if (pfn_notify && !link.sequence.bypass)
		link.sequence.bypass = "link-callback";
	if (!link.sequence.bypass)
		gather(&link);
	if (link.sequence.bypass) {
		drv_sequence_run_without_key(&link.sequence, (struct cmn_view){ 0 });
	} else {
		link.hit = drv_sequence_run(&link.sequence);
		guard(&link);
	}
	if (errcode_ret)
		*errcode_ret = link.error;
	release(&link);
	unref_notice(link.notice);
	return link.result;
}
