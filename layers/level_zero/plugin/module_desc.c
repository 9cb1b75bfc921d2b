/* SPDX-License-Identifier: MIT */
/* module_desc: gathers what identifies the modules, as zeModuleCreate does under the plugin. */
#include "layers/level_zero/plugin/module_desc.h"

#include <stdlib.h>
#include <string.h>

#include "common/cancel.h"
#include "layers/shared/api/desc_programs.h"
#include "layers/shared/api/device.h"
#include "layers/level_zero/plugin/contexts.h"
#include "layers/level_zero/plugin/module_key.h"
#include "layers/level_zero/plugin/plugin.h"
#include "layers/level_zero/plugin/spirv.h"

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
	return check_sizes(ret, program);
}

static enum cmn_status copy(struct ckcache_desc *base, size_t i, const struct ckcache_program *program)
{
	struct lz_desc_program *ret = &((struct lz_desc *)base)->programs[i];

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

static enum cmn_status gather(struct ckcache_desc *base, size_t i)
{
	struct lz_desc *desc = (struct lz_desc *)base;
	const ze_module_desc_t module = lz_desc_module(desc, i);
	struct cc_key *key = &base->items[i].key;
	struct cmn_view il;
	const char *reason;

	cc_key_init(key);
	return lz_module_key(&desc->target, &module, key, &il, &reason);
}

static enum cmn_status begin(struct ckcache_desc *base, const void *ctx)
{
	struct lz_desc *desc = (struct lz_desc *)base;

	desc->target = *(const struct lz_target *)ctx;
	desc->programs = calloc(base->count, sizeof(*desc->programs));
	return desc->programs ? CMN_OK : CMN_ERR_NOMEM;
}

enum ckcache_status lz_ckcache_desc_new(ze_driver_handle_t driver, ze_context_handle_t context,
					ze_device_handle_t device, size_t count,
					const struct ckcache_program *programs,
					struct ckcache_desc **ret_desc)
{
	CMN_NOT_CANCELLED;
	static const struct api_desc_maker maker = {
		.size = sizeof(struct lz_desc), .functions = lz_ckcache_functions, .destroy = destroy,
		.begin = begin, .copy = copy, .gather = gather,
	};
	struct lz_target target = { .context = context, .driver = driver, .device = device };
	enum ckcache_status status = api_programs_check(count, programs, false);

	if (!driver || !context || !device || !ret_desc)
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	if (status != CKCACHE_OK)
		return status;
	target.next = lz_context_next(context, driver);
	return target.next ? api_desc_new(&maker, &target, lz_plugin_cache(), count, programs, ret_desc) :
			     CKCACHE_ERROR_UNAVAILABLE;
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
	target.next = lz_context_next(NULL, driver);
	if (!target.next)
		return CKCACHE_ERROR_UNAVAILABLE;
	status = lz_identity_of(&target);
	if (status != CMN_OK)
		return status == CMN_ERR_NOMEM ? CKCACHE_ERROR_OUT_OF_MEMORY :
						 CKCACHE_ERROR_UNAVAILABLE;
	return api_device_desc_new(lz_ckcache_functions(), lz_plugin_cache(), &target.identity->fields,
				   library, ret_desc);
}
