/* SPDX-License-Identifier: MIT */
/*
 * module_desc_build: the steps by which described modules come to be (layers/shared/api/desc_build.h).
 */
#include "layers/shared/api/desc_build.h"
#include "layers/level_zero/plugin/module_desc.h"
#include "layers/level_zero/plugin/native.h"

/* One module on its way. */
struct construction {
	struct lz_build build;	/* first */
	struct lz_desc *desc;
	ze_module_handle_t module;
};

static bool step_key_holds(struct drv_sequence *sequence)
{
	return lz_desc_holds(((const struct construction *)sequence)->desc);
}

/* The module from an entry, which a module of the application's own would have left as well. */
static enum cmn_status step_attach(struct drv_sequence *sequence, struct cc_entry *entry)
{
	const struct lz_build *build = (const struct lz_build *)sequence;
	ze_module_build_log_handle_t log;
	struct cmn_view native = { 0 };
	ze_result_t result;

	(void)cc_entry_find(entry, CC_TAG_IMAGE, 0, &native);
	result = lz_native_load(&build->target, native, build->desc->pBuildFlags, build->module, &log);
	if (result == ZE_RESULT_SUCCESS)
		lz_log_discard(build->target.next, log);
	return lz_native_status(result);
}

static const struct drv_sequence_steps sequence_steps = {
	.observe = lz_native_observe,
	.text = lz_native_text,
	.call = lz_native_call,
	.failure = lz_native_failure,
	.key_holds = step_key_holds,
	.environment_holds = lz_native_environment_holds,
	.capture = lz_native_capture,
	.attach = step_attach,
};

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

/* What a build read goes with its binary, to be looked at when that is loaded. false: no blob. */
static bool add_to_blob(struct construction *one, size_t i, struct cmn_buffer *blob)
{
	if (!api_build_may_be_stored(&one->build.sequence) ||
	    lz_desc_add_native(one->desc, i, one->module, blob) != CMN_OK)
		return false;
	api_desc_add_files(blob, i, one->build.sequence.manifest);
	return true;
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
	ze_result_t result = lz_native_load(&desc->target, image, desc->programs[i].options,
					    &modules[i], &log);

	if (result == ZE_RESULT_SUCCESS) {
		lz_log_discard(desc->target.next, log);
		return CKCACHE_OK;
	}
	if (lz_is_out_of_memory(result))
		return CKCACHE_ERROR_OUT_OF_MEMORY;
	return lz_native_is_refused(result) ? CKCACHE_ERROR_REFUSED : CKCACHE_ERROR_DRIVER;
}

static enum ckcache_status build(struct ckcache_desc *base, size_t i, struct api_order *order,
				 void *objects, enum ckcache_origin *ret_origin)
{
	struct lz_desc *desc = (struct lz_desc *)base;
	const struct lz_desc_program *program = &desc->programs[i];
	const ze_module_desc_t module = lz_desc_module(desc, i);
	struct construction one = {
		.build = { .sequence.steps = &sequence_steps, .target = desc->target, .desc = &module,
			   .il = { program->source, program->source_size },
			   .module = &one.module },
		.desc = desc,
	};
	struct drv_sequence *sequence = &one.build.sequence;
	ze_module_handle_t *modules = objects;
	enum ckcache_status status;

	/* What is to be kept needs one, for whoever asks zeModuleCreate for it. */
	if (order->cached)
		one.build.log = &one.build.own_log;
	api_build_begin(base, i, sequence);
	*ret_origin = api_build_one(sequence, order);
	status = status_of_build(one.build.result);
	/* A failed call's log is lost (native.h). */
	if (status == CKCACHE_OK)
		lz_log_discard(desc->target.next, one.build.own_log);
	if (status == CKCACHE_OK && order->blob && !add_to_blob(&one, i, order->blob))
		order->blob = NULL;
	drv_sequence_release(sequence);
	if (status == CKCACHE_OK)
		modules[i] = one.module;
	else
		discard(base, i, modules);
	return status;
}

static bool holds(struct ckcache_desc *base)
{
	return lz_desc_holds((struct lz_desc *)base);
}

static const struct api_build_steps steps = {
	.holds = holds, .load = load, .discard = discard, .build = build,
};

enum ckcache_status lz_ckcache_build(struct ckcache_desc *base,
				     const struct ckcache_storage *storage,
				     struct _ze_module_handle_t **ret_modules,
				     enum ckcache_origin *ret_origin)
{
	return api_desc_build(lz_desc_of(base) ? base : NULL, storage, &steps, ret_modules, ret_origin);
}

enum ckcache_status lz_ckcache_create_from_blob(struct ckcache_desc *base, size_t size,
						const uint8_t *blob,
						struct _ze_module_handle_t **ret_modules)
{
	return api_desc_create(lz_desc_of(base) ? base : NULL, size, blob, &steps, ret_modules);
}
