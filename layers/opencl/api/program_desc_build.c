/* SPDX-License-Identifier: MIT */
/*
 * program_desc_build: the steps by which described programs come to be (layers/shared/api/desc_build.h).
 */
#include <stdlib.h>

#include "layers/shared/api/desc_build.h"
#include "layers/shared/driver/environment.h"
#include "layers/opencl/program/capture.h"
#include "layers/opencl/api/program_desc.h"
#include "layers/opencl/program/watch.h"

/* One program on its way. */
struct construction {
	struct drv_sequence sequence;	/* first */
	struct ocl_desc *desc;
	size_t i;
	cl_program program;	/* of the driver's build, also where that failed */
	cl_int error;		/* of that build */
};

static void discard(struct ckcache_desc *base, size_t count, void *objects)
{
	cl_program *programs = objects;

	(void)base;
	for (size_t i = 0; i < count; i++) {
		if (programs[i])
			(void)OCL_NEXT.clReleaseProgram(programs[i]);	/* nobody to tell */
		programs[i] = NULL;
	}
}

/*
 * A new program of the driver's, for one binary, built; the image is known from then on.
 * CMN_ERR_DRIVER: it refused; CMN_ERR_NOMEM.
 */
static enum cmn_status load_image(struct ocl_desc *desc, size_t i, struct cmn_view image,
				  cl_program *ret)
{
	const struct ocl_load load = {
		.context = desc->context, .driver = desc->driver, .num_devices = 1,
		.devices = desc->targets.devices, .image = image, .is_executable = true,
		.options = desc->programs[i].options,
	};
	enum cmn_status status = ocl_load(&load, ret);

	if (status == CMN_OK)
		ocl_desc_note_image(desc, i, image);
	return status;
}

static struct construction *of(struct drv_sequence *sequence)
{
	return (struct construction *)sequence;
}

static bool is_out_of_memory(cl_int error)
{
	return error == CL_OUT_OF_HOST_MEMORY || error == CL_OUT_OF_RESOURCES;
}

static void step_prepare(struct drv_sequence *sequence)
{
	discard(NULL, 1, &of(sequence)->program);
}

static bool step_observe(struct drv_sequence *sequence, struct drv_observer_request *ret)
{
	return ocl_watch_driver(&of(sequence)->desc->targets, ret);
}

static struct ocl_watched watched(const struct construction *one)
{
	const struct ocl_desc_program *program = &one->desc->programs[one->i];

	return (struct ocl_watched){ .driver = one->desc->driver, .program = program->parts,
				     .options = program->options };
}

static struct drv_observer_text step_text(struct drv_sequence *sequence)
{
	const struct ocl_watched given = watched(of(sequence));

	return ocl_watch_text(&given);
}

static enum drv_outcome step_call(struct drv_sequence *sequence)
{
	struct construction *one = of(sequence);
	const struct ocl_desc *desc = one->desc;
	const struct ocl_program *parts = desc->programs[one->i].parts;
	cl_device_id device = desc->targets.devices[0];

	drv_environment_note_build();
	one->error = CL_SUCCESS;
	one->program = ocl_program_text_make_program(parts->text, desc->context, parts->constants,
						     parts->constant_count, &one->error);
	if (!one->program && one->error == CL_SUCCESS)
		one->error = CL_OUT_OF_HOST_MEMORY;
	if (one->error == CL_SUCCESS)
		one->error = OCL_NEXT.clBuildProgram(one->program, 1, &device,
						     desc->programs[one->i].options, NULL, NULL);
	if (one->error == CL_SUCCESS)
		return DRV_BUILT;
	return is_out_of_memory(one->error) ? DRV_OUT_OF_MEMORY : DRV_ERROR;
}

static char *step_failure(const struct drv_sequence *sequence)
{
	const struct construction *one = (const struct construction *)sequence;

	return ocl_failure_text(one->program, one->error, &one->desc->targets);
}

static bool step_key_holds(struct drv_sequence *sequence)
{
	return ocl_desc_holds(of(sequence)->desc);
}

static bool step_environment_holds(struct drv_sequence *sequence)
{
	return drv_environment_holds(of(sequence)->desc->driver);
}

static const char *step_input_changed(struct drv_sequence *sequence)
{
	const struct ocl_watched given = watched(of(sequence));

	return ocl_watch_token_may_matter(&given, sequence->manifest) ? "random-token" : NULL;
}

/* The same entry as a build of the application's own would leave. */
static enum cmn_status step_capture(struct drv_sequence *sequence, struct cc_entry **ret)
{
	struct construction *one = of(sequence);
	struct ocl_desc *desc = one->desc;
	const struct ocl_capture_request request = {
		.kind = OCL_LOADED_EXECUTABLE,
		.targets = &desc->targets,
		.driver = desc->driver,
		.build_ns = sequence->build_ns,
		.load_rate = desc->driver->load_rate,
	};
	enum cmn_status status;
	struct cmn_view image;

	/* The user's own word: where auto would say so, the application asks for it all the same. */
	if (sequence->apart) {
		sequence->bypass = "capture-deferred";
		return CMN_MISS;
	}
	status = ocl_capture_read(sequence, one->program, &request, ret);
	if (status == CMN_OK && cc_entry_find(*ret, CC_TAG_IMAGE, 0, &image))
		ocl_desc_note_image(desc, one->i, image);
	return status;
}

/* The program from an entry. */
static enum cmn_status step_attach(struct drv_sequence *sequence, struct cc_entry *entry)
{
	struct construction *one = of(sequence);
	const struct ocl_watched given = watched(one);
	struct cmn_view image, failure;

	/* A failure that the layer remembers says no more than that. */
	if (cc_entry_find(entry, OCL_TAG_ERROR, 0, &failure))
		return CMN_MISS;
	/* It was made with another token. */
	if (ocl_watch_token_may_matter(&given, cc_entry_manifest(entry)))
		return CMN_MISS;
	if (!cc_entry_find(entry, CC_TAG_IMAGE, 0, &image) || !image.len)
		return CMN_ERR_DRIVER;
	return load_image(one->desc, one->i, image, &one->program);
}

static const struct drv_sequence_steps sequence_steps = {
	.observe = step_observe,
	.text = step_text,
	.prepare = step_prepare,
	.call = step_call,
	.failure = step_failure,
	.key_holds = step_key_holds,
	.environment_holds = step_environment_holds,
	.input_changed = step_input_changed,
	.capture = step_capture,
	.attach = step_attach,
};

static enum ckcache_status status_of_build(const struct construction *one)
{
	switch (one->error) {
	case CL_SUCCESS:
		return CKCACHE_OK;
	case CL_BUILD_PROGRAM_FAILURE:
	case CL_INVALID_BUILD_OPTIONS:
		return CKCACHE_ERROR_BUILD;
	case CL_INVALID_OPERATION:
	case CL_COMPILER_NOT_AVAILABLE:
		return CKCACHE_ERROR_UNAVAILABLE;
	default:
		return is_out_of_memory(one->error) ? CKCACHE_ERROR_OUT_OF_MEMORY :
						      CKCACHE_ERROR_DRIVER;
	}
}

/* What a build read goes with its image, to be looked at when that is loaded. false: no blob. */
static bool add_to_blob(struct construction *one, struct cmn_buffer *blob)
{
	struct cmn_view image;

	if (!api_build_may_be_stored(&one->sequence) ||
	    ocl_desc_add_image(one->desc, one->i, one->program, blob, &image) != CMN_OK)
		return false;
	ocl_desc_note_image(one->desc, one->i, image);
	api_desc_add_files(blob, one->i, one->sequence.manifest);
	return true;
}

static enum ckcache_status build(struct ckcache_desc *base, size_t i, struct api_order *order,
				 void **ret_object, enum ckcache_origin *ret_origin)
{
	struct construction one = { .sequence.steps = &sequence_steps, .desc = (struct ocl_desc *)base, .i = i };
	enum ckcache_status status;

	api_build_begin(base, i, &one.sequence);
	one.sequence.apart = order->cached &&
			   cc_cache_config(base->cache)->capture == CC_CAPTURE_DEFERRED;
	*ret_origin = api_build_one(&one.sequence, order);
	status = status_of_build(&one);
	if (status == CKCACHE_OK && order->blob && !add_to_blob(&one, order->blob))
		order->blob = NULL;
	drv_sequence_release(&one.sequence);
	/* The application gets the one that failed, with its log. */
	if (status != CKCACHE_OK && status != CKCACHE_ERROR_BUILD)
		discard(base, 1, &one.program);
	*ret_object = one.program;
	return status;
}

static bool holds(struct ckcache_desc *base)
{
	return ocl_desc_holds((struct ocl_desc *)base);
}

static enum ckcache_status load(struct ckcache_desc *base, size_t i, struct cmn_view image,
				void *objects)
{
	enum cmn_status status = load_image((struct ocl_desc *)base, i, image,
					    (cl_program *)objects + i);

	return status == CMN_ERR_DRIVER ? CKCACHE_ERROR_REFUSED : api_status_of(status);
}

static const struct api_build_steps steps = {
	.holds = holds, .load = load, .discard = discard, .build = build, .add = ocl_desc_add,
	.gives_failed = true,
};

enum ckcache_status ocl_ckcache_build(struct ckcache_desc *base,
				      const struct ckcache_storage *storage,
				      struct _cl_program **ret_programs,
				      enum ckcache_origin *ret_origin)
{
	return api_desc_build(ocl_desc_of(base) ? base : NULL, storage, &steps, ret_programs,
			      ret_origin);
}

enum ckcache_status ocl_ckcache_create_from_blob(struct ckcache_desc *base, size_t size,
						 const uint8_t *blob,
						 struct _cl_program **ret_programs)
{
	return api_desc_create(ocl_desc_of(base) ? base : NULL, size, blob, &steps, ret_programs);
}

enum ckcache_status ocl_ckcache_get_blob(struct ckcache_desc *base, struct _cl_program *const *programs,
					 size_t *size, uint8_t *blob)
{
	return api_desc_get_blob(ocl_desc_of(base) ? base : NULL, &steps, programs, size, blob);
}
