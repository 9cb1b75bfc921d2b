/* SPDX-License-Identifier: MIT */
/*
 * link: clLinkProgram. Its result is a new program: on a miss the driver's,
 * on a hit one that is made from the binary and is the application's own, so
 * that no E stands beside it. A link is identified by what its inputs hold,
 * which is known of programs that were compiled, built or linked under the
 * layer's eyes.
 */
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "layers/opencl/key/build_key.h"
#include "layers/opencl/program/capture.h"
#include "layers/opencl/hooks/dispatch.h"
#include "layers/shared/driver/environment.h"
#include "layers/shared/driver/libraries.h"
#include "layers/opencl/key/options.h"
#include "layers/opencl/program/watch.h"

/* So many inputs need no memory to be found. */
enum { FEW_INPUTS = 8 };

struct link {
	cl_context context;
	cl_uint list_count;
	const cl_device_id *list;
	const char *options;
	cl_uint input_count;
	const cl_program *inputs;	/* the application's */
	/* With E in the place of each P that has one; NULL: there was no memory. */
	cl_program *targets;
	struct ocl_loaded_program **effectives;
	struct ocl_original **originals;	/* of the application's; each may be NULL */
	struct cmn_hash *contents;
	cl_program few_targets[FEW_INPUTS];
	struct ocl_loaded_program *few_effectives[FEW_INPUTS];
	struct ocl_original *few_originals[FEW_INPUTS];
	struct cmn_hash few_contents[FEW_INPUTS];
	enum ocl_loaded_program_kind kind;
	struct ocl_targets devices;
	struct cc_key key;
	struct drv_observation *observation;
	const struct drv_driver *driver;
	enum cc_capture capture;
	struct drv_library_epoch epoch;
	uint64_t start_ns, link_ns;
	const char *bypass;
	bool ran, hit;
	cl_program result;
	cl_int error;
};

static void release_inputs(struct link *link)
{
	if (link->effectives == link->few_effectives)
		return;
	free(link->effectives);
	free(link->originals);
	free(link->targets);
	free(link->contents);
	link->targets = NULL;
	link->effectives = NULL;
	link->originals = NULL;
	link->contents = NULL;
}

static void release(struct link *link)
{
	for (cl_uint i = 0; link->effectives && i < link->input_count; i++)
		ocl_loaded_program_unref(link->effectives[i]);
	for (cl_uint i = 0; link->originals && i < link->input_count; i++)
		ocl_original_unref(link->originals[i]);
	release_inputs(link);
	drv_observer_drop(link->observation);
	ocl_targets_release(&link->devices);
	ocl_build_key_release(&link->key);
}

static bool make_room(struct link *link, cl_uint count)
{
	if (count <= FEW_INPUTS) {
		link->targets = link->few_targets;
		link->effectives = link->few_effectives;
		link->originals = link->few_originals;
		link->contents = link->few_contents;
		return true;
	}
	link->targets = calloc(count, sizeof(*link->targets));
	link->effectives = calloc(count, sizeof(*link->effectives));
	link->originals = calloc(count, sizeof(*link->originals));
	link->contents = calloc(count, sizeof(*link->contents));
	if (link->targets && link->effectives && link->originals && link->contents)
		return true;
	release_inputs(link);
	return false;
}

/* A copy with E for P; false: out of memory. */
static bool find_inputs(struct link *link)
{
	cl_uint count = link->input_count;

	if (!make_room(link, count))
		return false;
	for (cl_uint i = 0; i < count; i++) {
		struct ocl_program *program = ocl_program_find(link->inputs[i]);

		if (!program || !ocl_program_content(program, &link->contents[i]))
			link->bypass = "link-input";
		if (program) {
			link->effectives[i] = ocl_program_effective(program);
			link->originals[i] = ocl_program_original(program);
		}
		link->targets[i] = link->inputs[i];
		if (link->effectives[i] && link->effectives[i]->handle)
			link->targets[i] = link->effectives[i]->handle;
		ocl_program_unref(program);
	}
	return true;
}

static bool is_library(const struct link *link)
{
	return link->options && strstr(link->options, "-create-library");
}

/* Fills key and policy; a reason not to cache goes to link->bypass. */
static void gather(struct link *link)
{
	const struct cc_config *config = cc_cache_config(ocl_layer.cache);
	struct ocl_key_request request = {
		.kind = "link",
		.options = link->options,
		.num_inputs = link->input_count,
		.inputs = link->contents,
	};
	const char *reason;

	if (!ocl_options_are_harmless(link->options)) {
		link->bypass = "option";
		return;
	}
	link->kind = is_library(link) ? OCL_EFFECTIVE_OBJECT : OCL_EFFECTIVE_EXECUTABLE;
	if (ocl_targets_of_context(link->context, link->list_count, link->list,
				   &link->devices) != CMN_OK) {
		link->bypass = "devices-unknown";
		return;
	}
	request.targets = &link->devices;
	if (ocl_build_key(&request, &link->key, &link->driver, &reason) != CMN_OK) {
		link->bypass = reason;
		return;
	}
	link->capture = config->capture == CC_CAPTURE_AUTO ? link->driver->capture
							   : config->capture;
	/* A library is quickly read. */
	if (link->kind == OCL_EFFECTIVE_OBJECT)
		link->capture = CC_CAPTURE_EAGER;
}

static void call_driver(struct link *link, const cl_program *inputs, ocl_notify_fn notify,
			void *user_data)
{
	link->error = CL_SUCCESS;
	link->result = OCL_NEXT.clLinkProgram(link->context, link->list_count, link->list,
					      link->options, link->input_count, inputs, notify,
					      user_data, &link->error);
}

/* Whether what a binary was loaded into is linked in place of what the application compiled. */
static bool is_substituted(const struct link *link, cl_uint i)
{
	return link->effectives[i] && link->effectives[i]->handle;
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
static void run_with_originals(struct link *link, ocl_notify_fn notify, void *user_data)
{
	cl_program *made = calloc(link->input_count, sizeof(*made));

	if (made && make_originals(link, made)) {
		cl_program failed = link->result;

		for (cl_uint i = 0; i < link->input_count; i++) {
			if (!made[i])
				continue;
			link->targets[i] = made[i];
			/* A file may not be what it was when the object of the key was compiled. */
			if (!ocl_original_holds(link->originals[i], cc_cache_file_memo(ocl_layer.cache)) &&
			    !link->bypass)
				link->bypass = "link-refused";
		}
		call_driver(link, link->targets, notify, user_data);
		if (failed)
			(void)OCL_NEXT.clReleaseProgram(failed);	/* nobody else has it */
	}
	for (cl_uint i = 0; made && i < link->input_count; i++) {
		if (made[i])
			(void)OCL_NEXT.clReleaseProgram(made[i]);	/* ours alone */
	}
	free(made);
}

static void remember(const struct link *link)
{
	const struct ocl_original_request request = { link->list_count, link->list, link->options };
	struct ocl_program *program;

	ocl_program_remember(link->result, link->context, OCL_PROGRAM_LINKED, NULL, 0);
	program = link->originals && link->error == CL_SUCCESS ? ocl_program_find(link->result) : NULL;
	/* Only libraries are linked again. */
	if (program && is_library(link))
		ocl_program_set_original(program, ocl_original_of_link(link->input_count,
								       link->originals, &request));
	ocl_program_unref(program);
}

/* Whether another thread compiled one of them meanwhile: nobody knows which of the two was linked. */
static bool inputs_changed(const struct link *link)
{
	bool changed = false;

	for (cl_uint i = 0; i < link->input_count && !changed; i++) {
		struct ocl_program *program = ocl_program_find(link->inputs[i]);
		struct cmn_hash content;

		changed = !program || !ocl_program_content(program, &content) ||
			  !cmn_hash_equal(&content, &link->contents[i]);
		ocl_program_unref(program);
	}
	return changed;
}

/* Whether compiler, environment or inputs became others with the link. */
static bool anything_changed(struct link *link)
{
	drv_environment_note_build();
	if (inputs_changed(link))
		link->bypass = "link-input";
	else if (drv_libraries_came(&link->epoch) && !ocl_build_key_holds(&link->key, &link->devices))
		link->bypass = "compiler-loaded-late";
	else if (!drv_environment_holds(link->driver))
		link->bypass = "environment-changed";
	return link->bypass;
}

/* false: bypass says why it is not known what the driver had and read. */
static bool see(struct link *link, struct cc_manifest **ret)
{
	const struct ocl_watched watched = { .driver = link->driver, .options = link->options };
	struct drv_observation *observation = link->observation;

	link->observation = NULL;
	*ret = NULL;
	if (!ocl_watch_end(observation, &watched, ret, &link->bypass))
		return false;
	if (!anything_changed(link))
		return true;
	cc_manifest_free(*ret);
	*ret = NULL;
	return false;
}

static void run(struct link *link, ocl_notify_fn notify, void *user_data)
{
	uint64_t start = cmn_clock_monotonic();

	link->ran = true;
	drv_environment_note_build();
	if (!link->bypass)
		link->observation = ocl_watch_begin(&link->devices, false);
	call_driver(link, link->targets ? link->targets : link->inputs, notify, user_data);
	/* Where there is a result, the callback may have it already. */
	if (link->error != CL_SUCCESS && link->targets && (!notify || !link->result))
		run_with_originals(link, notify, user_data);
	link->link_ns = cmn_clock_monotonic() - start;
	if (link->result && ocl_layer.cache)
		remember(link);
}

static void note_content(cl_program result, struct cc_entry *entry)
{
	struct ocl_program *program = ocl_program_find(result);

	if (program)
		ocl_program_set_content(program, entry);
	ocl_program_unref(program);
}

static struct ocl_capture_request capture_request(const struct link *link)
{
	return (struct ocl_capture_request){
		.kind = link->kind,
		.targets = &link->devices,
		.driver = link->driver,
	};
}

/* The driver's link, whose binary is had only if the application asks for it. */
static void run_and_defer(struct link *link)
{
	struct ocl_capture_request request = capture_request(link);
	struct cc_manifest *manifest;
	struct ocl_program *program;
	struct ocl_capture *capture;

	run(link, NULL, NULL);
	if (link->bypass)
		return;
	if (link->error != CL_SUCCESS || !link->result || !see(link, &manifest)) {
		if (!link->bypass)
			link->bypass = "capture-deferred";
		return;
	}
	link->bypass = "capture-deferred";
	request.on_request = true;
	request.build_ns = link->link_ns;
	program = ocl_program_find(link->result);
	capture = program ? ocl_capture_new(&link->key, &request, manifest) : NULL;
	if (!program)
		cc_manifest_free(manifest);
	if (capture)
		ocl_capture_attach(capture, program);
	ocl_program_unref(program);
}

/* The build callback of the cache. */
static enum cmn_status link_and_capture(void *ctx, struct cc_entry **ret)
{
	struct link *link = ctx;
	struct ocl_capture_request request = capture_request(link);
	struct cc_manifest *manifest;
	enum cmn_status status;

	/* Waiters need not wait for nothing. */
	if (link->capture == CC_CAPTURE_DEFERRED)
		return CMN_MISS;
	run(link, NULL, NULL);
	if (link->error != CL_SUCCESS || !link->result || link->bypass || !see(link, &manifest))
		return CMN_MISS;
	request.build_ns = link->link_ns;
	status = ocl_capture_read(link->result, &request, manifest, ret);
	if (status == CMN_MISS)
		link->bypass = "no-binary";
	else if (status == CMN_STALE)
		link->bypass = "random-token";
	if (status == CMN_OK && link->kind == OCL_EFFECTIVE_OBJECT)
		note_content(link->result, *ret);
	return status == CMN_OK ? CMN_OK : CMN_MISS;
}

/* The application's program from an entry. false: the driver would not have it. */
static bool attach(struct link *link, struct cc_entry *entry, enum cc_origin origin)
{
	const struct ocl_loaded_program_request request = {
		.context = link->context,
		.kind = link->kind,
		.num_devices = link->devices.count,
		.devices = link->devices.devices,
		.driver = link->driver,
		/* No options: those of a link are not those of a build, and the binary has them in it. */
		.entry = entry,
	};
	struct ocl_loaded_program *effective;
	struct ocl_program *program;
	enum cmn_status status = ocl_loaded_program_new(&request, &effective);

	if (status == CMN_ERR_DRIVER)
		cc_cache_reject(ocl_layer.cache, &link->key, entry);
	if (status != CMN_OK)
		return false;
	link->result = effective->handle;
	link->error = CL_SUCCESS;
	remember(link);
	program = ocl_program_find(effective->handle);
	/* Unknown to the layer it would not answer as a link's result. */
	if (!program) {
		ocl_loaded_program_unref(effective);
		link->result = NULL;
		return false;
	}
	effective->own = true;
	link->hit = true;
	ocl_program_set_effective(program, effective);
	if (link->kind == OCL_EFFECTIVE_OBJECT)
		ocl_program_set_content(program, entry);
	ocl_program_unref(program);
	cc_cache_count_hit(ocl_layer.cache, &link->key, origin, entry,
			   cmn_clock_monotonic() - link->start_ns);
	return true;
}

static void count(const struct link *link)
{
	if (link->bypass)
		cc_cache_count_bypass(ocl_layer.cache, link->bypass, &link->key);
	else
		cc_cache_count_miss(ocl_layer.cache, &link->key, link->link_ns);
}

/* What the layer did with the result is no reason for the application to end in its driver. */
static void guard(const struct link *link)
{
	struct ocl_program *program = link->result ? ocl_program_find(link->result) : NULL;

	if (program && link->driver->linked_builds_abort &&
	    (link->hit || link->capture == CC_CAPTURE_EAGER))
		program->unbuildable = true;
	ocl_program_unref(program);
}

static void look_up(struct link *link)
{
	struct cc_entry *entry = NULL;
	enum cc_origin origin;

	if (cc_cache_get_or_build(ocl_layer.cache, &link->key, link_and_capture, link, &entry,
				  &origin) == CMN_OK && origin != CC_ORIGIN_BUILT &&
	    !attach(link, entry, origin)) {
		cc_entry_unref(entry);
		entry = NULL;
		if (link_and_capture(link, &entry) == CMN_OK)
			cc_cache_put(ocl_layer.cache, &link->key, entry);
	}
	cc_entry_unref(entry);
	if (link->hit)
		return;
	if (!link->ran && link->capture == CC_CAPTURE_DEFERRED)
		run_and_defer(link);
	else if (!link->ran)
		run(link, NULL, NULL);
	count(link);
}

/* OpenCL 3.0, clLinkProgram, Errors: what a driver has to refuse. */
static bool has_bad_arguments(const struct link *link, ocl_notify_fn notify, const void *user_data)
{
	return (link->list_count == 0) != (link->list == NULL) || (!notify && user_data);
}

cl_program CL_API_CALL ocl_clLinkProgram(cl_context context, cl_uint num_devices,
					 const cl_device_id *device_list, const char *options,
					 cl_uint num_input_programs,
					 const cl_program *input_programs,
					 ocl_notify_fn pfn_notify, void *user_data,
					 cl_int *errcode_ret)
{
	struct link link = {
		.context = context,
		.list_count = num_devices,
		.list = device_list,
		.options = options,
		.input_count = num_input_programs,
		.inputs = input_programs,
		.start_ns = cmn_clock_monotonic(),
		.error = CL_SUCCESS,
	};

	if (!ocl_layer.cache || !num_input_programs || !input_programs)
		return OCL_NEXT.clLinkProgram(context, num_devices, device_list, options,
					      num_input_programs, input_programs, pfn_notify,
					      user_data, errcode_ret);
	cc_key_init(&link.key);
	link.epoch = drv_libraries_epoch();
	if (!find_inputs(&link))
		link.bypass = "no-memory";
	/* Which of several errors the driver names may depend on the inputs. */
	if (has_bad_arguments(&link, pfn_notify, user_data))
		link.bypass = "bad-arguments";
	/* The result of a link that goes on after the call cannot be read here. */
	if (pfn_notify && !link.bypass)
		link.bypass = "link-callback";
	if (!link.bypass) {
		cc_key_release(&link.key);
		gather(&link);
	}
	if (link.bypass) {
		cc_cache_count_bypass(ocl_layer.cache, link.bypass, NULL);
		run(&link, pfn_notify, user_data);
	} else {
		look_up(&link);
		guard(&link);
	}
	if (errcode_ret)
		*errcode_ret = link.error;
	release(&link);
	return link.result;
}
