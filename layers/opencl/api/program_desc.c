/* SPDX-License-Identifier: MIT */
/* program_desc: gathers what identifies the programs, as a build does. */
#include "layers/opencl/api/program_desc.h"

#include <stdlib.h>
#include <string.h>

#include "common/cancel.h"
#include "layers/shared/api/desc_programs.h"
#include "layers/shared/api/device.h"
#include "layers/shared/driver/environment.h"
#include "layers/shared/driver/harmless.h"
#include "layers/opencl/key/build_key.h"
#include "layers/opencl/key/options.h"

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

struct ocl_desc *ocl_desc_of(struct ckcache_desc *desc)
{
	return desc && desc->destroy == destroy ? (struct ocl_desc *)desc : NULL;
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
	status = ocl_build_key(&request, &base->items[i].key, &desc->driver, &reason);
	if (status == CMN_OK && !drv_options_are_harmless(desc->driver->options, program->options))
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

enum ckcache_status ocl_ckcache_desc_new(cl_context context, cl_device_id device, size_t count,
					 const struct ckcache_program *programs,
					 struct ckcache_desc **ret_desc)
{
	CMN_NOT_CANCELLED;
	static const struct api_desc_maker maker = {
		.size = sizeof(struct ocl_desc), .functions = ocl_ckcache_functions, .destroy = destroy,
		.begin = begin, .copy = copy, .gather = gather,
	};
	const struct handles handles = { context, device };
	enum ckcache_status status = api_programs_check(count, programs, true);

	if (!context || !device || !ret_desc)
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	if (status != CKCACHE_OK)
		return status;
	return api_desc_new(&maker, &handles, ocl_layer.cache, count, programs, ret_desc);
}

/* All keys have the same devices and environment. */
static bool key_holds(const struct ckcache_desc *base)
{
	return ocl_build_key_holds(&base->items[0].key, &((const struct ocl_desc *)base)->targets);
}

bool ocl_desc_holds(struct ocl_desc *desc)
{
	return desc->driver && drv_environment_holds(desc->driver) &&
	       api_desc_keys_hold(&desc->base, key_holds);
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
		result = api_device_desc_new(ocl_ckcache_functions(), ocl_layer.cache, &fields,
					     library, ret_desc);
	else
		result = status == CMN_ERR_NOMEM ? CKCACHE_ERROR_OUT_OF_MEMORY :
						   CKCACHE_ERROR_UNAVAILABLE;
	cc_key_release(&fields);
	return result;
}
