/* SPDX-License-Identifier: MIT */
/* program_desc: gathers what identifies the programs, as a build does. */
#include "layers/opencl/api/program_desc.h"

#include <stdlib.h>
#include <string.h>

#include "common/cancel.h"
#include "layers/shared/api/device.h"
#include "layers/shared/driver/environment.h"
#include "layers/shared/driver/harmless.h"
#include "layers/opencl/key/build_key.h"
#include "layers/opencl/key/options.h"

/* More than anybody links into one object. */
#define MAX_PROGRAMS 65536

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

static bool is_valid(const struct ckcache_program *program)
{
	/* What a later version has more would be missing in the id; and the next one would not be where it is looked for. */
	if (program->struct_size != sizeof(*program) || !program->source || !program->source_size)
		return false;
	if (program->language != CKCACHE_LANGUAGE_OPENCL_C &&
	    program->language != CKCACHE_LANGUAGE_SPIRV)
		return false;
	if (program->constant_count && (!program->constants ||
					program->language != CKCACHE_LANGUAGE_SPIRV))
		return false;
	for (size_t i = 0; i < program->constant_count; i++) {
		const struct ckcache_constant *constant = &program->constants[i];

		if (!constant->value || !constant->size ||
		    constant->size > sizeof(((struct ocl_constant *)0)->value))
			return false;
	}
	return true;
}

static int compare_constants(const void *a, const void *b)
{
	const struct ocl_constant *left = a, *right = b;

	return left->id < right->id ? -1 : left->id > right->id;
}

/* By id, as a program has them. CMN_ERR_INVALID: one is given twice. */
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
	for (size_t i = 1; i < count; i++) {
		if (parts->constants[i].id == parts->constants[i - 1].id)
			return CMN_ERR_INVALID;
	}
	return CMN_OK;
}

static enum cmn_status copy_program(struct ocl_desc_program *ret,
				    const struct ckcache_program *program)
{
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

/* The key of one program. CMN_MISS: not to be cached. */
static enum cmn_status gather(struct ocl_desc *desc, size_t i)
{
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

	desc->base.nameless |= !has_name(program);
	status = ocl_build_key(&request, &desc->base.items[i].key, &desc->driver, &reason);
	if (status == CMN_OK && !drv_options_are_harmless(desc->driver->options, program->options))
		return CMN_MISS;
	return status == CMN_OK || status == CMN_ERR_NOMEM ? status : CMN_MISS;
}

static enum cmn_status fill(struct ocl_desc *desc, const struct ckcache_program *programs)
{
	enum cmn_status status = CMN_OK;

	for (size_t i = 0; i < desc->base.count && status == CMN_OK; i++)
		status = copy_program(&desc->programs[i], &programs[i]);
	for (size_t i = 0; i < desc->base.count && status == CMN_OK; i++)
		status = gather(desc, i);
	if (status == CMN_MISS) {
		desc->base.empty = true;
		status = CMN_OK;
	}
	return status == CMN_OK ? api_desc_identify(&desc->base) : status;
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

/* References to the context and the device, which must be one of its. */
static enum cmn_status take_handles(struct ocl_desc *desc, cl_context context, cl_device_id device)
{
	enum cmn_status status;

	if (OCL_NEXT.clRetainContext(context) != CL_SUCCESS)
		return CMN_ERR_INVALID;
	desc->context = context;
	status = ocl_targets_of_device(context, device, &desc->targets);
	if (status != CMN_OK)
		return status == CMN_ERR_NOMEM ? status : CMN_ERR_INVALID;
	retain_device(desc, device);
	return CMN_OK;
}

enum ckcache_status ocl_ckcache_desc_new(cl_context context, cl_device_id device, size_t count,
					 const struct ckcache_program *programs,
					 struct ckcache_desc **ret_desc)
{
	CMN_NOT_CANCELLED;
	struct ocl_desc *desc;
	enum cmn_status status;

	if (!context || !device || !count || count > MAX_PROGRAMS || !programs || !ret_desc)
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	for (size_t i = 0; i < count; i++) {
		if (!is_valid(&programs[i]))
			return CKCACHE_ERROR_INVALID_ARGUMENT;
	}
	desc = calloc(1, sizeof(*desc));
	if (!desc)
		return CKCACHE_ERROR_OUT_OF_MEMORY;
	desc->base.functions = ocl_ckcache_functions();
	desc->base.cache = ocl_layer.cache;
	desc->base.destroy = destroy;
	if (api_desc_init(&desc->base, count) != CMN_OK) {
		free(desc);
		return CKCACHE_ERROR_OUT_OF_MEMORY;
	}
	desc->programs = calloc(count, sizeof(*desc->programs));
	status = desc->programs ? take_handles(desc, context, device) : CMN_ERR_NOMEM;
	if (status == CMN_OK)
		status = fill(desc, programs);
	if (status != CMN_OK) {
		destroy(&desc->base);
		return api_status_of(status);
	}
	*ret_desc = &desc->base;
	return CKCACHE_OK;
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
