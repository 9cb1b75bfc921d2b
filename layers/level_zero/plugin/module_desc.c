/* SPDX-License-Identifier: MIT */
/* module_desc: gathers what identifies the modules, as zeModuleCreate does under the plugin. */
#include "layers/level_zero/plugin/module_desc.h"

#include <stdlib.h>
#include <string.h>

#include "common/cancel.h"
#include "layers/shared/api/device.h"
#include "layers/level_zero/plugin/module_key.h"
#include "layers/level_zero/plugin/plugin.h"
#include "layers/level_zero/plugin/spirv.h"

/* More than anybody links into one object. */
#define MAX_PROGRAMS 65536
/* More than any module has. */
#define MAX_CONSTANTS 65536

static void release_program(struct lz_desc_program *program)
{
	free(program->source);
	free(program->options);
	free(program->ids);
	free(program->values);
	free(program->pointers);
}

static void destroy(struct ckcache_desc *base)
{
	struct lz_desc *desc = (struct lz_desc *)base;

	for (size_t i = 0; desc->programs && i < base->count; i++)
		release_program(&desc->programs[i]);
	free(desc->programs);
	api_desc_release(base);
	free(desc);
}

struct lz_desc *lz_desc_of(struct ckcache_desc *desc)
{
	return desc && desc->destroy == destroy ? (struct lz_desc *)desc : NULL;
}

static bool constants_are_valid(const struct ckcache_program *program)
{
	if (program->constant_count > MAX_CONSTANTS ||
	    (program->constant_count && !program->constants))
		return false;
	for (size_t i = 0; i < program->constant_count; i++) {
		const struct ckcache_constant *constant = &program->constants[i];

		if (!constant->value || !constant->size || constant->size > sizeof(uint64_t))
			return false;
	}
	return true;
}

static bool is_valid(const struct ckcache_program *program)
{
	/* What a later version has more would be missing in the id; and the next one would not be where it is looked for. */
	return program->struct_size == sizeof(*program) &&
	       program->language == CKCACHE_LANGUAGE_SPIRV && program->source &&
	       program->source_size && constants_are_valid(program);
}

static int compare_ids(const void *a, const void *b)
{
	const uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return left < right ? -1 : left > right;
}

/* CMN_ERR_INVALID: an id is given twice. */
static enum cmn_status check_ids(const struct lz_desc_program *program, size_t count)
{
	uint32_t *sorted = malloc(count * sizeof(*sorted));
	enum cmn_status status = CMN_OK;

	if (!sorted)
		return CMN_ERR_NOMEM;
	memcpy(sorted, program->ids, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), compare_ids);
	for (size_t i = 1; i < count; i++) {
		if (sorted[i] == sorted[i - 1])
			status = CMN_ERR_INVALID;
	}
	free(sorted);
	return status;
}

/*
 * CMN_ERR_INVALID: a value is not as wide as the module declares it; the driver
 * would read as much all the same. What is not declared is the driver's affair.
 */
static enum cmn_status check_sizes(const struct lz_desc_program *program,
				   const struct ckcache_program *given)
{
	const struct cmn_view module = { program->source, program->source_size };
	struct lz_spirv_constants declared;
	enum cmn_status status = lz_spirv_constants_gather(module, &declared);

	if (status != CMN_OK)
		return status == CMN_ERR_NOMEM ? status : CMN_OK;
	for (size_t i = 0; i < given->constant_count && status == CMN_OK; i++) {
		size_t size;

		if (lz_spirv_constants_size(&declared, given->constants[i].id, &size) == CMN_OK &&
		    size != given->constants[i].size)
			status = CMN_ERR_INVALID;
	}
	lz_spirv_constants_release(&declared);
	return status;
}

static enum cmn_status copy_constants(struct lz_desc_program *ret,
				      const struct ckcache_program *program)
{
	size_t count = program->constant_count;
	enum cmn_status status;

	if (!count)
		return CMN_OK;
	ret->ids = calloc(count, sizeof(*ret->ids));
	ret->values = calloc(count, sizeof(*ret->values));
	ret->pointers = calloc(count, sizeof(*ret->pointers));
	if (!ret->ids || !ret->values || !ret->pointers)
		return CMN_ERR_NOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct ckcache_constant *given = &program->constants[i];

		ret->ids[i] = given->id;
		memcpy(&ret->values[i], given->value, given->size);
		ret->pointers[i] = &ret->values[i];
	}
	ret->constants = (ze_module_constants_t){ (uint32_t)count, ret->ids, ret->pointers };
	status = check_ids(ret, count);
	return status == CMN_OK ? check_sizes(ret, program) : status;
}

static enum cmn_status copy_program(struct lz_desc_program *ret,
				    const struct ckcache_program *program)
{
	ret->source = malloc(program->source_size);
	if (program->options)
		ret->options = strdup(program->options);
	if (!ret->source || (program->options && !ret->options))
		return CMN_ERR_NOMEM;
	memcpy(ret->source, program->source, program->source_size);
	ret->source_size = program->source_size;
	return copy_constants(ret, program);
}

ze_module_desc_t lz_desc_module(const struct lz_desc *desc, size_t i)
{
	const struct lz_desc_program *program = &desc->programs[i];

	return (ze_module_desc_t){
		.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
		.format = ZE_MODULE_FORMAT_IL_SPIRV,
		.inputSize = program->source_size,
		.pInputModule = program->source,
		.pBuildFlags = program->options,
		.pConstants = program->constants.numConstants ? &program->constants : NULL,
	};
}

/* The key of one module. CMN_MISS: not to be cached. */
static enum cmn_status gather(struct lz_desc *desc, size_t i)
{
	const ze_module_desc_t module = lz_desc_module(desc, i);
	struct cc_key *key = &desc->base.items[i].key;
	struct cmn_view il;
	const char *reason;

	cc_key_init(key);
	return lz_module_key(&desc->target, &module, key, &il, &reason);
}

static enum cmn_status fill(struct lz_desc *desc, const struct ckcache_program *programs)
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

enum ckcache_status lz_ckcache_desc_new(ze_driver_handle_t driver, ze_context_handle_t context,
					ze_device_handle_t device, size_t count,
					const struct ckcache_program *programs,
					struct ckcache_desc **ret_desc)
{
	CMN_NOT_CANCELLED;
	struct lz_target target = { .context = context, .driver = driver, .device = device };
	struct lz_desc *desc;
	enum cmn_status status;

	if (!driver || !context || !device || !count || count > MAX_PROGRAMS || !programs ||
	    !ret_desc)
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	for (size_t i = 0; i < count; i++) {
		if (!is_valid(&programs[i]))
			return CKCACHE_ERROR_INVALID_ARGUMENT;
	}
	target.next = lz_identity_next(context, driver);
	if (!target.next)
		return CKCACHE_ERROR_UNAVAILABLE;
	desc = calloc(1, sizeof(*desc));
	if (!desc)
		return CKCACHE_ERROR_OUT_OF_MEMORY;
	desc->base.functions = lz_ckcache_functions();
	desc->base.cache = lz_plugin_cache();
	desc->base.destroy = destroy;
	desc->target = target;
	if (api_desc_init(&desc->base, count) != CMN_OK) {
		free(desc);
		return CKCACHE_ERROR_OUT_OF_MEMORY;
	}
	desc->programs = calloc(count, sizeof(*desc->programs));
	status = desc->programs ? fill(desc, programs) : CMN_ERR_NOMEM;
	if (status != CMN_OK) {
		destroy(&desc->base);
		return api_status_of(status);
	}
	*ret_desc = &desc->base;
	return CKCACHE_OK;
}

/* All keys have the same driver, device and environment. */
static bool key_holds(const struct ckcache_desc *base)
{
	const struct lz_desc *desc = (const struct lz_desc *)base;

	return lz_module_key_holds(&desc->target, &base->items[0].key);
}

bool lz_desc_holds(struct lz_desc *desc)
{
	return lz_module_key_environment_holds(&desc->target) &&
	       api_desc_keys_hold(&desc->base, key_holds);
}

enum ckcache_status lz_ckcache_device_desc_new(ze_driver_handle_t driver,
					       ze_device_handle_t device,
					       const struct ckcache_library *library,
					       struct ckcache_desc **ret_desc)
{
	struct lz_target target = { .driver = driver, .device = device };
	enum cmn_status status;

	if (!driver || !device || !ret_desc)
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	target.next = lz_identity_next(NULL, driver);
	if (!target.next)
		return CKCACHE_ERROR_UNAVAILABLE;
	status = lz_identity_of(&target);
	if (status != CMN_OK)
		return status == CMN_ERR_NOMEM ? CKCACHE_ERROR_OUT_OF_MEMORY :
						 CKCACHE_ERROR_UNAVAILABLE;
	return api_device_desc_new(lz_ckcache_functions(), lz_plugin_cache(), &target.identity->fields,
				   library, ret_desc);
}
