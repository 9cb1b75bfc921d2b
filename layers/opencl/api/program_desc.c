/* SPDX-License-Identifier: MIT */
/*
 * program_desc: gathers what identifies the programs, as a build does; the steps by which they come to be
 * (layers/shared/api/desc_build.h); and the table of these functions.
 */
#include "layers/opencl/api/program_desc.h"

#include <stdlib.h>
#include <string.h>

#include "common/cancel.h"
#include "layers/shared/api/desc_build.h"
#include "layers/shared/driver/environment.h"
#include "layers/shared/driver/harmless.h"
#include "layers/opencl/hooks/dispatch.h"
#include "layers/opencl/key/build_key.h"
#include "layers/opencl/key/layers_below.h"
#include "layers/opencl/key/options.h"
#include "layers/opencl/program/capture.h"
#include "layers/opencl/program/moved_entry.h"

struct ocl_desc {
	struct ckcache_desc base;	/* first */
	cl_context context;		/* retained */
	cl_device_id device;		/* NULL unless it is a sub-device, retained */
	struct ocl_targets targets;	/* the device, among the context's */
	const struct ocl_identity *identity;	/* NULL: nothing is cached */
	struct ocl_desc_program *programs;	/* base.count */
};

/* What is built: a source, IL or constants as a program has them, but no driver's handle; never in a map. */
struct ocl_desc_program {
	struct ocl_program *parts;
	char *options;			/* NULL: none */
	struct cmn_hash image;		/* that was made or loaded last; guarded by the layer's lock */
};

static void free_parts(struct ocl_object *object)
{
	struct ocl_program *parts = (struct ocl_program *)object;

	free(parts->constants);
	ocl_program_text_unref(parts->text);
	free(parts);
}

static void destroy(struct ckcache_desc *base)
{
	struct ocl_desc *desc = (struct ocl_desc *)base;

	for (size_t i = 0; desc->programs && i < base->count; i++) {
		ocl_program_unref(desc->programs[i].parts);
		free(desc->programs[i].options);
	}
	free(desc->programs);
	ocl_targets_release(&desc->targets);
	if (desc->device)
		(void)OCL_NEXT.clReleaseDevice(desc->device);	/* nobody to tell */
	if (desc->context)
		(void)OCL_NEXT.clReleaseContext(desc->context);
	api_desc_release(base);
	free(desc);
}

static int compare_constants(const void *a, const void *b)
{
	const struct ocl_constant *left = a, *right = b;

	return left->id < right->id ? -1 : left->id > right->id;
}

/* By id, as a program has them. */
static enum cmn_status copy_constants(struct ocl_program *parts,
				      const struct ckcache_program *program)
{
	size_t count = program->constant_count;

	if (!count)
		return CMN_OK;
	parts->constants = calloc(count, sizeof(*parts->constants));
	if (!parts->constants)
		return CMN_ERR_NOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct ckcache_constant *given = &program->constants[i];

		parts->constants[i] = (struct ocl_constant){ .id = given->id, .size = given->size };
		memcpy(parts->constants[i].value, given->value, given->size);
	}
	parts->constant_count = count;
	qsort(parts->constants, count, sizeof(*parts->constants), compare_constants);
	return CMN_OK;
}

static enum cmn_status copy(struct ckcache_desc *base, size_t i, const struct ckcache_program *program)
{
	struct ocl_desc_program *ret = &((struct ocl_desc *)base)->programs[i];
	struct ocl_program *parts = calloc(1, sizeof(*parts));

	if (!parts)
		return CMN_ERR_NOMEM;
	ocl_object_init(&parts->object, NULL, free_parts);
	ret->parts = parts;
	parts->text = ocl_program_text_new(program->language == CKCACHE_LANGUAGE_SPIRV,
				   program->source_size);
	if (program->options)
		ret->options = strdup(program->options);
	if (!parts->text || (program->options && !ret->options))
		return CMN_ERR_NOMEM;
	memcpy(parts->text->data, program->source, program->source_size);
	return copy_constants(parts, program);
}

/* Whether an id says all that a build depends on. */
static bool has_name(const struct ocl_desc_program *program)
{
	const struct ocl_program_text *text = program->parts->text;

	/* IL reads nothing; its options may. */
	return ocl_source_tells_all(ocl_program_text_view(text->is_il ? NULL : text),
				    program->options);
}

static enum cmn_status gather(struct ckcache_desc *base, size_t i)
{
	struct ocl_desc *desc = (struct ocl_desc *)base;
	const struct ocl_desc_program *program = &desc->programs[i];
	const struct ocl_key_request request = {
		/* As build.c has them: such a program and an application's are one. */
		.kind = program->parts->text->is_il ? "il" : "source",
		.program = program->parts,
		.options = program->options,
		.targets = &desc->targets,
	};
	enum cmn_status status;
	const char *reason;

	base->nameless |= !has_name(program);
	status = ocl_build_key(&request, &base->keys[i], &desc->identity, &reason);
	if (status == CMN_OK && !drv_options_are_harmless(desc->identity->driver->options, program->options))
		return CMN_MISS;
	return status == CMN_OK || status == CMN_ERR_NOMEM ? status : CMN_MISS;
}

/*
 * Roots are not counted; and through a loader the call must not be made where a
 * driver may not have it, before OpenCL 1.2, which brought sub-devices.
 */
static void retain_device(struct ocl_desc *desc, cl_device_id device)
{
	cl_device_id parent = NULL;

	if (OCL_NEXT.clGetDeviceInfo(device, CL_DEVICE_PARENT_DEVICE, sizeof(parent), &parent,
				     NULL) == CL_SUCCESS &&
	    parent && OCL_NEXT.clRetainDevice(device) == CL_SUCCESS)
		desc->device = device;
}

struct handles {
	cl_context context;
	cl_device_id device;
};

/* Takes references to the context and the device, which must be one of its. */
static enum cmn_status begin(struct ckcache_desc *base, const void *ctx)
{
	struct ocl_desc *desc = (struct ocl_desc *)base;
	const struct handles *handles = ctx;
	enum cmn_status status;

	desc->programs = calloc(base->count, sizeof(*desc->programs));
	if (!desc->programs)
		return CMN_ERR_NOMEM;
	if (OCL_NEXT.clRetainContext(handles->context) != CL_SUCCESS)
		return CMN_ERR_INVALID;
	desc->context = handles->context;
	status = ocl_targets_of_device(handles->context, handles->device, &desc->targets);
	if (status != CMN_OK)
		return status == CMN_ERR_NOMEM ? status : CMN_ERR_INVALID;
	retain_device(desc, handles->device);
	return CMN_OK;
}

/* All keys have the same devices and environment. */
static bool key_holds(const struct ckcache_desc *base)
{
	return ocl_build_key_holds(&base->keys[0], &((const struct ocl_desc *)base)->targets);
}

static bool holds(struct ckcache_desc *base)
{
	const struct ocl_identity *identity = ((const struct ocl_desc *)base)->identity;

	return identity && drv_environment_holds(identity->driver) && api_desc_keys_hold(base, key_holds);
}

/*
 * Programs are the application's, and the layer may stand for them: they are
 * asked by the hooks. What is made here is the driver's, and made by it.
 */
static struct cmn_buffer ask_program(cl_program program, cl_program_info param)
{
	struct cmn_buffer answer = { 0 };
	size_t size = 0;

	if (ocl_clGetProgramInfo(program, param, 0, NULL, &size) == CL_SUCCESS && size &&
	    cmn_buffer_reserve(&answer, size) &&
	    ocl_clGetProgramInfo(program, param, size, answer.data, NULL) == CL_SUCCESS)
		answer.len = size;
	return answer;
}

/* As far as the driver tells; *ret_none: it does not. */
static bool has_source(cl_program program, const struct ocl_program *parts, bool *ret_none)
{
	struct cmn_buffer answer = ask_program(program, CL_PROGRAM_SOURCE);
	size_t len = answer.len;
	bool same;

	/* The terminator is no part of it. */
	if (len && answer.data[len - 1] == '\0')
		len--;
	*ret_none = len == 0;
	same = len && ocl_program_text_is_source(parts->text) && len == parts->text->len &&
	       memcmp(answer.data, parts->text->data, len) == 0;
	cmn_buffer_release(&answer);
	return same;
}

/* The next word of *text, which moves behind it; empty: there is none. */
static struct cmn_view next_word(const char **text)
{
	static const char blanks[] = " \t\n";
	const char *start = *text + strspn(*text, blanks);
	size_t len = strcspn(start, blanks);

	*text = start + len;
	return (struct cmn_view){ start, len };
}

/* Whether both have the same words in the same order: where there is an id, none has blanks in it. */
static bool same_options(const char *a, const char *b)
{
	struct cmn_view left, right;

	do {
		left = next_word(&a);
		right = next_word(&b);
		if (!cmn_view_equal(left, right))
			return false;
	} while (left.len);
	return true;
}

/* As the driver tells. */
static bool has_options(const struct ocl_desc *desc, cl_program program, const char *options)
{
	cl_device_id device = desc->targets.devices[0];
	char *reported = NULL;
	bool same = false;
	size_t size = 0;

	if (ocl_clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_OPTIONS, 0, NULL,
				      &size) == CL_SUCCESS)
		reported = calloc(1, size + 1);
	if (reported && ocl_clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_OPTIONS, size,
						  reported, NULL) == CL_SUCCESS)
		same = same_options(reported, options ? options : "");
	free(reported);
	return same;
}

static bool is_built(cl_program program, cl_device_id device)
{
	cl_build_status status = CL_BUILD_NONE;
	cl_program_binary_type type = CL_PROGRAM_BINARY_TYPE_NONE;

	return ocl_clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_STATUS, sizeof(status),
					 &status, NULL) == CL_SUCCESS &&
	       status == CL_BUILD_SUCCESS &&
	       ocl_clGetProgramBuildInfo(program, device, CL_PROGRAM_BINARY_TYPE, sizeof(type),
					 &type, NULL) == CL_SUCCESS &&
	       type == CL_PROGRAM_BINARY_TYPE_EXECUTABLE;
}

/*
 * The layer saw how its programs were built; of others, and where there is no layer, the driver is
 * asked. *ret_by_image: it cannot tell (programs from binaries, IL, whose constants nobody tells),
 * so that the image must be one that this description made or loaded.
 */
static bool is_as_described(const struct ocl_desc *desc, size_t i, cl_program handle,
			    bool *ret_by_image)
{
	const struct ocl_desc_program *described = &desc->programs[i];
	struct ocl_program *program;
	bool same;

	*ret_by_image = false;
	if (!handle || !is_built(handle, desc->targets.devices[0]))
		return false;
	program = ocl_program_find(handle);
	if (!program)
		return has_source(handle, described->parts, ret_by_image) ?
			       has_options(desc, handle, described->options) : *ret_by_image;
	same = ocl_program_is_build_of(program, described->parts, described->options);
	ocl_program_unref(program);
	return same;
}

/* Of a program of the description's own: by it others are known, too. */
static void note_image(struct ocl_desc *desc, size_t i, struct cmn_view image)
{
	struct cmn_hash hash = cmn_hash_of(image.data, image.len);

	ocl_objects_lock();
	desc->programs[i].image = hash;
	ocl_objects_unlock();
}

static bool is_noted(struct ocl_desc *desc, size_t i, struct cmn_view image)
{
	struct cmn_hash hash = cmn_hash_of(image.data, image.len);
	bool same;

	ocl_objects_lock();
	same = cmn_hash_equal(&desc->programs[i].image, &hash);
	ocl_objects_unlock();
	return same;
}

/* Where the device stands among the program's, or the number of these, which is *ret_count. */
static size_t place_of(cl_program program, cl_device_id device, size_t *ret_count)
{
	struct cmn_buffer devices = ask_program(program, CL_PROGRAM_DEVICES);
	size_t count = devices.len / sizeof(device), i = 0;

	*ret_count = count;
	while (i < count && memcmp(devices.data + i * sizeof(device), &device, sizeof(device)) != 0)
		i++;
	cmn_buffer_release(&devices);
	return i;
}

/*
 * The binary of a built program, as a field of a blob; *ret_image is borrowed from it, until the
 * next field. CMN_MISS: the driver has none; CMN_ERR_NOMEM.
 */
static enum cmn_status add_image(const struct ocl_desc *desc, size_t i, cl_program program,
				 struct cmn_buffer *blob, struct cmn_view *ret_image)
{
	size_t count, ours = place_of(program, desc->targets.devices[0], &count);
	struct ocl_images images;
	enum cmn_status status = ocl_images_measure(ocl_clGetProgramInfo, program, &images);
	unsigned char *room;

	/* Some drivers have a place for each of the context's devices: which is whose, nobody says. */
	if (status == CMN_OK && (images.count != count || ours >= count || !images.lens[ours]))
		status = CMN_MISS;
	if (status == CMN_OK)
		status = ocl_images_read(ocl_clGetProgramInfo, program, &images);
	if (status == CMN_OK) {
		room = api_blob_add_room(blob, API_FIELD_IMAGE, (uint32_t)i, images.lens[ours]);
		if (room)
			memcpy(room, images.data[ours], images.lens[ours]);
		*ret_image = (struct cmn_view){ room, images.lens[ours] };
		status = room ? CMN_OK : CMN_ERR_NOMEM;
	}
	ocl_images_release(&images);
	return status;
}

static enum cmn_status add(struct ckcache_desc *base, size_t i, void *program, bool made,
			   struct cmn_buffer *blob)
{
	struct ocl_desc *desc = (struct ocl_desc *)base;
	enum cmn_status status;
	struct cmn_view image;
	bool by_image = false;

	if (!made && !is_as_described(desc, i, program, &by_image))
		return CMN_ERR_INVALID;
	status = add_image(desc, i, program, blob, &image);
	if (status == CMN_OK && made)
		note_image(desc, i, image);
	return status == CMN_OK && by_image && !is_noted(desc, i, image) ? CMN_ERR_INVALID : status;
}

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
		.context = desc->context, .kind = OCL_LOADED_EXECUTABLE,
		.driver = desc->identity->driver, .num_devices = 1,
		.devices = desc->targets.devices, .image = image,
		.options = desc->programs[i].options,
	};
	enum cmn_status status = ocl_load(&load, ret);

	if (status == CMN_OK)
		note_image(desc, i, image);
	return status;
}

static struct construction *of(struct drv_sequence *sequence)
{
	return (struct construction *)sequence;
}

static void step_prepare(struct drv_sequence *sequence)
{
	discard(NULL, 1, &of(sequence)->program);
}

static struct drv_observer_text step_text(struct drv_sequence *sequence)
{
	const struct ocl_desc_program *program = &of(sequence)->desc->programs[of(sequence)->i];

	return ocl_observer_text(sequence->driver, program->parts->text, program->options);
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
	return ocl_outcome_of(one->error);
}

static char *step_failure(const struct drv_sequence *sequence)
{
	const struct construction *one = (const struct construction *)sequence;

	return ocl_failure_text(one->program, one->error, &one->desc->targets);
}

static bool step_key_holds(struct drv_sequence *sequence)
{
	return holds(&of(sequence)->desc->base);
}

/* PyOpenCL's token, which is not in the key. */
static bool token_may_matter(const struct construction *one, const struct cc_manifest *manifest)
{
	const struct ocl_desc_program *program = &one->desc->programs[one->i];

	return ocl_token_may_matter(program->parts->text, program->options, manifest,
				    &one->desc->base.keys[one->i].include_paths);
}

static const char *step_input_changed(struct drv_sequence *sequence)
{
	return token_may_matter(of(sequence), sequence->manifest) ? "random-token" : NULL;
}

/* The same entry as a build of the application's own would leave. */
static enum cmn_status step_capture(struct drv_sequence *sequence, struct cc_entry **ret)
{
	struct construction *one = of(sequence);
	struct ocl_desc *desc = one->desc;
	const struct ocl_capture_request request = {
		.kind = OCL_LOADED_EXECUTABLE,
		.targets = &desc->targets,
		.load_rate = sequence->driver->load_rate,
		.text = desc->programs[one->i].parts->text,
		.options = desc->programs[one->i].options,
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
		note_image(desc, one->i, image);
	return status;
}

/* The program from an entry. */
static enum cmn_status step_attach(struct drv_sequence *sequence, struct cc_entry *entry)
{
	struct construction *one = of(sequence);
	struct cmn_view image, failure;
	enum cmn_status status = CMN_ERR_DRIVER;

	/* A failure that the layer remembers says no more than that. */
	if (cc_entry_find(entry, OCL_TAG_ERROR, 0, &failure))
		return CMN_MISS;
	/* It was made with another token. */
	if (token_may_matter(one, cc_entry_manifest(entry)))
		return CMN_MISS;
	entry = ocl_entry_move(entry, &sequence->key->include_paths);
	if (!entry)
		return CMN_ERR_NOMEM;
	if (cc_entry_find(entry, CC_TAG_IMAGE, 0, &image) && image.len)
		status = load_image(one->desc, one->i, image, &one->program);
	cc_entry_unref(entry);
	return status;
}

static const struct drv_sequence_steps sequence_steps = {
	.text = step_text,
	.prepare = step_prepare,
	.call = step_call,
	.failure = step_failure,
	.key_holds = step_key_holds,
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
	case CL_OUT_OF_HOST_MEMORY:
	case CL_OUT_OF_RESOURCES:
		return CKCACHE_ERROR_OUT_OF_MEMORY;
	default:
		return CKCACHE_ERROR_DRIVER;
	}
}

static enum ckcache_status build(struct ckcache_desc *base, size_t i, struct api_order *order,
				 void **ret_object, enum ckcache_origin *ret_origin)
{
	struct ocl_desc *desc = (struct ocl_desc *)base;
	struct construction one = { .sequence.steps = &sequence_steps, .desc = desc, .i = i };
	enum ckcache_status status;

	if (desc->identity) {
		one.sequence.driver = desc->identity->driver;
		one.sequence.libraries = desc->identity->libraries;
	}
	api_build_begin(base, i, &one.sequence);
	one.sequence.apart = order->cached &&
			   cc_cache_config(base->cache)->capture == CC_CAPTURE_DEFERRED;
	*ret_origin = api_build_one(&one.sequence, order);
	status = status_of_build(&one);
	if (status == CKCACHE_OK)
		api_build_store(base, i, &one.sequence, order, one.program);
	drv_sequence_release(&one.sequence);
	/* The application gets the one that failed, with its log. */
	if (status != CKCACHE_OK && status != CKCACHE_ERROR_BUILD)
		discard(base, 1, &one.program);
	*ret_object = one.program;
	return status;
}

static enum ckcache_status load(struct ckcache_desc *base, size_t i, struct cmn_view image,
				void *objects)
{
	struct ocl_desc *desc = (struct ocl_desc *)base;
	struct drv_observation *observation = drv_observer_pass(&(struct drv_observer_request){
		.driver = desc->identity->driver, .libraries = desc->identity->libraries });
	enum cmn_status status = load_image(desc, i, image, (cl_program *)objects + i);

	drv_observer_drop(observation);
	return status == CMN_ERR_DRIVER ? CKCACHE_ERROR_REFUSED : api_status_of(status);
}

static const struct api_kind kind = {
	.api = CKCACHE_API_OPENCL, .blob = CKCACHE_KIND_PROGRAMS, .size = sizeof(struct ocl_desc),
	.destroy = destroy, .begin = begin, .copy = copy, .gather = gather,
	.holds = holds, .load = load, .discard = discard, .build = build, .add = add, .gives_failed = true,
};

enum ckcache_status ocl_ckcache_desc_new(cl_context context, cl_device_id device, size_t count,
					 const struct ckcache_program *programs,
					 struct ckcache_desc **ret_desc)
{
	CMN_NOT_CANCELLED;
	const struct handles handles = { context, device };
	enum ckcache_status status = api_programs_check(count, programs, true);

	if (!context || !device || !ret_desc)
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	if (status != CKCACHE_OK)
		return status;
	return api_desc_new(&kind, &handles, ocl_layer.cache, count, programs, ret_desc);
}

enum ckcache_status ocl_ckcache_device_desc_new(cl_device_id device,
						const struct ckcache_library *library,
						struct ckcache_desc **ret_desc)
{
	const struct ocl_identity *identity;
	enum ckcache_status result;
	enum cmn_status status;
	struct cc_key fields;

	if (!device || !ret_desc)
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	cc_key_init(&fields);
	status = ocl_identity_add(device, &fields, true, &identity);
	if (status == CMN_OK)
		result = api_device_desc_new(ocl_layer.cache, &fields,
					     library, ret_desc);
	else
		result = status == CMN_ERR_NOMEM ? CKCACHE_ERROR_OUT_OF_MEMORY :
						   CKCACHE_ERROR_UNAVAILABLE;
	cc_key_release(&fields);
	return result;
}

static const struct ckcache_functions functions = {
	.struct_size = sizeof(struct ckcache_functions),
#define OPENCL(name) .opencl_##name = ckcache_opencl_##name,
#include "layers/shared/api/functions.def"
};

static const struct ckcache_functions *table(void)
{
	return &functions;
}

void *ocl_ckcache_function(const char *name)
{
	if (strcmp(name, "ckcache_functions") == 0)
		return (void *)table;
	/* For ckcache doctor. */
	if (strcmp(name, "ckcache_layers_below_are_known") == 0)
		return (void *)ocl_layers_below_are_known;
	return api_function_named(&functions, name);
}
