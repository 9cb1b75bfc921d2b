/* SPDX-License-Identifier: MIT */
/*
 * module_desc: gathers what identifies the modules, as zeModuleCreate does under the plugin; the steps by
 * which they come to be (layers/shared/api/desc_build.h); and the table of these functions.
 */
#include "layers/level_zero/plugin/module_desc.h"

#include <stdlib.h>
#include <string.h>

#include "common/cancel.h"
#include "layers/shared/api/desc_build.h"
#include "layers/shared/driver/environment.h"
#include "layers/level_zero/plugin/handles.h"
#include "layers/level_zero/plugin/module_key.h"
#include "layers/level_zero/plugin/module.h"
#include "layers/level_zero/plugin/spirv.h"

/* What one module is made from, in memory of its own. */
struct lz_desc_program {
	uint8_t *source;
	size_t source_size;
	char *options;			/* NULL: none */
	uint64_t *values;		/* as the application gave them, and zeros behind; then what constants has */
	ze_module_constants_t constants;
};

struct lz_desc {
	struct ckcache_desc base;	/* first */
	struct lz_target target;	/* identified, unless base.empty */
	struct lz_desc_program *programs;	/* base.count */
};

static void release_program(struct lz_desc_program *program)
{
	free(program->source);
	free(program->options);
	free(program->values);
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
	const void **pointers;
	uint32_t *ids;

	if (!count)
		return CMN_OK;
	ret->values = calloc(count, sizeof(*ret->values) + sizeof(*pointers) + sizeof(*ids));
	if (!ret->values)
		return CMN_ERR_NOMEM;
	pointers = (const void **)(ret->values + count);
	ids = (uint32_t *)(pointers + count);
	for (size_t i = 0; i < count; i++) {
		const struct ckcache_constant *given = &program->constants[i];

		ids[i] = given->id;
		memcpy(&ret->values[i], given->value, given->size);
		pointers[i] = &ret->values[i];
	}
	ret->constants = (ze_module_constants_t){ (uint32_t)count, ids, pointers };
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

/* What zeModuleCreate is to be called with; lives as long as the description. */
static ze_module_desc_t module_of(const struct lz_desc *desc, size_t i)
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
	const ze_module_desc_t module = module_of(desc, i);
	struct cc_key *key = &base->keys[i];
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

/* All keys have the same driver, device and environment. */
static bool key_holds(const struct ckcache_desc *base)
{
	const struct lz_desc *desc = (const struct lz_desc *)base;

	return lz_module_key_holds(&desc->target, &base->keys[0]);
}

static bool holds(struct ckcache_desc *base)
{
	return drv_environment_holds(((const struct lz_desc *)base)->target.identity->row) &&
	       api_desc_keys_hold(base, key_holds);
}

static enum ckcache_status status_of_build(ze_result_t result)
{
	switch (result) {
	case ZE_RESULT_SUCCESS:
		return CKCACHE_OK;
	case ZE_RESULT_ERROR_MODULE_BUILD_FAILURE:
	case ZE_RESULT_ERROR_MODULE_LINK_FAILURE:
		return CKCACHE_ERROR_BUILD;
	case ZE_RESULT_ERROR_UNINITIALIZED:
	case ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE:
		return CKCACHE_ERROR_UNAVAILABLE;
	default:
		return lz_is_out_of_memory(result) ? CKCACHE_ERROR_OUT_OF_MEMORY :
						     CKCACHE_ERROR_DRIVER;
	}
}

/* A module's native binary, as a field of a blob. */
static enum cmn_status add(struct ckcache_desc *base, size_t i, void *object, bool made, struct cmn_buffer *blob)
{
	struct lz_next *next = ((struct lz_desc *)base)->target.next;
	size_t size;
	uint8_t *room;

	(void)made;	/* nobody can ask what a module was made from */
	if (!object)
		return CMN_ERR_INVALID;
	size = lz_native_size(next, object);
	if (!size)
		return CMN_MISS;
	room = api_blob_add_room(blob, API_FIELD_IMAGE, (uint32_t)i, size);
	if (!room)
		return CMN_ERR_NOMEM;
	return lz_native_read(next, object, size, room) ? CMN_OK : CMN_MISS;
}

static void discard(struct ckcache_desc *base, size_t count, void *objects)
{
	ze_module_handle_t *modules = objects;

	for (size_t i = 0; i < count; i++) {
		lz_module_discard(((struct lz_desc *)base)->target.next, modules[i]);
		modules[i] = NULL;
	}
}

static enum ckcache_status load(struct ckcache_desc *base, size_t i, struct cmn_view image,
				void *objects)
{
	const struct lz_desc *desc = (const struct lz_desc *)base;
	ze_module_handle_t *modules = objects;
	ze_module_build_log_handle_t log;
	struct drv_observation *observation = drv_observer_pass(&(struct drv_observer_request){
		.driver = desc->target.identity->row, .libraries = lz_libraries });
	enum cmn_status status = lz_native_load(&desc->target, image, desc->programs[i].options,
						&modules[i], &log);

	drv_observer_drop(observation);
	if (status == CMN_OK)
		lz_log_discard(desc->target.next, log);
	return status == CMN_ERR_DRIVER ? CKCACHE_ERROR_REFUSED :
	       status == CMN_ERR_IO ? CKCACHE_ERROR_DRIVER : api_status_of(status);
}

static enum ckcache_status build(struct ckcache_desc *base, size_t i, struct api_order *order,
				 void **ret_object, enum ckcache_origin *ret_origin)
{
	struct lz_desc *desc = (struct lz_desc *)base;
	const struct lz_desc_program *program = &desc->programs[i];
	const ze_module_desc_t module = module_of(desc, i);
	ze_module_handle_t made = NULL;
	struct lz_build build = {
		.sequence.steps = &lz_native_steps, .target = desc->target, .desc = &module,
		.il = { program->source, program->source_size }, .module = &made,
	};
	enum ckcache_status status;

	/* What is to be kept needs one, for whoever asks zeModuleCreate for it. */
	if (order->cached)
		build.log = &build.own_log;
	if (desc->target.identity)
		build.sequence.driver = desc->target.identity->row;
	build.sequence.libraries = lz_libraries;
	api_build_begin(base, i, &build.sequence);
	*ret_origin = api_build_one(&build.sequence, order);
	status = status_of_build(build.result);
	/* A failed call's log is lost (module.h). */
	if (status == CKCACHE_OK)
		lz_log_discard(desc->target.next, build.own_log);
	if (status == CKCACHE_OK)
		api_build_store(base, i, &build.sequence, order, made);
	drv_sequence_release(&build.sequence);
	*ret_object = status == CKCACHE_OK ? made : NULL;
	return status;
}

static const struct api_kind kind = {
	.api = CKCACHE_API_LEVEL_ZERO, .blob = CKCACHE_KIND_PROGRAMS, .size = sizeof(struct lz_desc),
	.destroy = destroy, .begin = begin, .copy = copy, .gather = gather,
	.holds = holds, .load = load, .discard = discard, .build = build, .add = add,
};

enum ckcache_status lz_ckcache_desc_new(ze_driver_handle_t driver, ze_context_handle_t context,
					ze_device_handle_t device, size_t count,
					const struct ckcache_program *programs,
					struct ckcache_desc **ret_desc)
{
	CMN_NOT_CANCELLED;
	struct lz_target target = { .context = context, .driver = driver, .device = device };
	enum ckcache_status status = api_programs_check(count, programs, false);

	if (!driver || !context || !device || !ret_desc)
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	if (status != CKCACHE_OK)
		return status;
	target.next = lz_context_next(context, driver);
	return target.next ? api_desc_new(&kind, &target, lz_plugin_cache(), count, programs, ret_desc) :
			     CKCACHE_ERROR_UNAVAILABLE;
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
	return api_device_desc_new(lz_plugin_cache(), &target.identity->fields,
				   library, ret_desc);
}

static const struct ckcache_functions functions = {
	.struct_size = sizeof(struct ckcache_functions),
#define LEVEL_ZERO(name) .level_zero_##name = ckcache_level_zero_##name,
#include "layers/shared/api/functions.def"
};

static const struct ckcache_functions *table(void)
{
	return &functions;
}

ze_result_t lz_ckcache_get_function(struct lz_next *next, ze_driver_handle_t driver,
				    const char *name, void **ret)
{
	void *own = NULL;

	if (driver && name && ret)
		own = strcmp(name, "ckcache_functions") == 0 ? (void *)table :
							       api_function_named(&functions, name);
	if (!own)
		return LZ_NEXT_FIND(next, driver_get_function)(driver, name, ret);
	*ret = own;
	return ZE_RESULT_SUCCESS;
}
