/* SPDX-License-Identifier: MIT */
/*
 * module_desc_build: the steps by which described modules come to be (layers/shared/api/desc_build.h).
 */
#include "layers/shared/api/desc_build.h"
#include "layers/level_zero/plugin/module_desc.h"
#include "layers/level_zero/plugin/native.h"

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
static enum cmn_status add(struct ckcache_desc *base, size_t i, void *object, struct cmn_buffer *blob)
{
	struct lz_next *next = ((struct lz_desc *)base)->target.next;
	size_t size;
	uint8_t *room;

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

/* What a build read goes with its binary, to be looked at when that is loaded. false: no blob. */
static bool add_to_blob(struct ckcache_desc *base, size_t i, struct lz_build *build, struct cmn_buffer *blob)
{
	if (!api_build_may_be_stored(&build->sequence) ||
	    add(base, i, *build->module, blob) != CMN_OK)
		return false;
	api_desc_add_files(blob, i, build->sequence.manifest);
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
	enum cmn_status status = lz_native_load(&desc->target, image, desc->programs[i].options,
						&modules[i], &log);

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
	const ze_module_desc_t module = lz_desc_module(desc, i);
	ze_module_handle_t made = NULL;
	struct lz_build build = {
		.sequence.steps = &lz_native_steps, .target = desc->target, .desc = &module,
		.il = { program->source, program->source_size }, .module = &made,
	};
	enum ckcache_status status;

	/* What is to be kept needs one, for whoever asks zeModuleCreate for it. */
	if (order->cached)
		build.log = &build.own_log;
	api_build_begin(base, i, &build.sequence);
	*ret_origin = api_build_one(&build.sequence, order);
	status = status_of_build(build.result);
	/* A failed call's log is lost (native.h). */
	if (status == CKCACHE_OK)
		lz_log_discard(desc->target.next, build.own_log);
	if (status == CKCACHE_OK && order->blob && !add_to_blob(base, i, &build, order->blob))
		order->blob = NULL;
	drv_sequence_release(&build.sequence);
	*ret_object = status == CKCACHE_OK ? made : NULL;
	return status;
}

static bool holds(struct ckcache_desc *base)
{
	return lz_desc_holds((struct lz_desc *)base);
}

static const struct api_build_steps steps = {
	.holds = holds, .load = load, .discard = discard, .build = build, .add = add,
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

enum ckcache_status lz_ckcache_get_blob(struct ckcache_desc *base,
					struct _ze_module_handle_t *const *modules, size_t *size,
					uint8_t *blob)
{
	return api_desc_get_blob(lz_desc_of(base) ? base : NULL, &steps, modules, size, blob);
}
