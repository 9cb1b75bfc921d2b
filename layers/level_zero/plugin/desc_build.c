/* SPDX-License-Identifier: MIT */
/*
 * desc_build: described modules from a storage or from the machine's cache,
 * else built by the driver. Whatever goes wrong with the caches, the driver
 * builds them.
 */
#include <stdlib.h>
#include <string.h>

#include "layers/shared/api/storage.h"
#include "layers/shared/driver/environment.h"
#include "layers/level_zero/plugin/desc.h"
#include "layers/level_zero/plugin/identity.h"
#include "layers/level_zero/plugin/native.h"

/* One module on its way. */
struct construction {
	struct drv_course course;	/* first */
	struct lz_desc *desc;
	size_t i;
	ze_module_handle_t module;
	ze_module_build_log_handle_t log;	/* of a build that is to be kept, for who asks zeModuleCreate for it */
	ze_result_t result;		/* of the driver's build */
};

static struct construction *of(struct drv_course *course)
{
	return (struct construction *)course;
}

static bool step_observe(struct drv_course *course, struct drv_observer_request *ret)
{
	const struct lz_desc *desc = of(course)->desc;

	return lz_identity_observe(desc->next, desc->driver, desc->device, ret);
}

static struct drv_observer_text step_text(struct drv_course *course)
{
	const struct construction *one = of(course);
	const struct lz_desc_program *program = &one->desc->programs[one->i];

	return lz_native_text((struct cmn_view){ program->source, program->source_size },
			      program->options);
}

/* log may be NULL. */
static void call_driver(struct construction *one, ze_module_build_log_handle_t *log)
{
	const struct lz_desc *desc = one->desc;
	const ze_module_desc_t module = lz_desc_module(desc, one->i);

	drv_environment_note_build();
	one->result = LZ_NEXT_FIND(desc->next, module_create)(desc->context, desc->device, &module,
							      &one->module, log);
	if (one->result != ZE_RESULT_SUCCESS)
		one->module = NULL;	/* drivers may leave something there */
}

static enum drv_outcome step_call(struct drv_course *course)
{
	struct construction *one = of(course);

	one->log = NULL;	/* a call that failed may have left something there */
	call_driver(one, &one->log);
	return lz_outcome(one->result);
}

static bool step_key_holds(struct drv_course *course)
{
	return lz_desc_holds(of(course)->desc);
}

static bool step_environment_holds(struct drv_course *course)
{
	const struct lz_desc *desc = of(course)->desc;

	return lz_module_key_environment_holds(desc->next, desc->driver, desc->device);
}

/* The same entry as a module of the application's own would leave. */
static enum cmn_status step_capture(struct drv_course *course, struct cc_entry **ret)
{
	const struct construction *one = of(course);
	const struct lz_native_built built = {
		.next = one->desc->next,
		.driver = one->desc->driver,
		.device = one->desc->device,
		.module = one->module,
		.log = one->log,
	};

	return lz_native_capture(course, &built, ret);
}

/* The module from an entry. */
static enum cmn_status step_attach(struct drv_course *course, struct cc_entry *entry)
{
	struct construction *one = of(course);
	ze_result_t result = ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
	struct cmn_view native;

	if (cc_entry_find(entry, CC_TAG_IMAGE, 0, &native) && native.len)
		result = lz_desc_load(one->desc, one->i, native, &one->module);
	return lz_native_status(result);
}

static const struct drv_course_steps steps = {
	.observe = step_observe,
	.text = step_text,
	.call = step_call,
	.key_holds = step_key_holds,
	.environment_holds = step_environment_holds,
	.capture = step_capture,
	.attach = step_attach,
};

/* How described modules come to be. */
struct order {
	bool cached;			/* through the machine's cache, else by the driver alone */
	struct cmn_buffer *blob;	/* begun; NULL: none is wanted, or there can be none */
};

/* Afterwards module and result are as after a build. */
static enum ckcache_origin obtain(struct construction *one, const struct order *order)
{
	struct drv_course *course = &one->course;

	if (!order->cached) {
		if (order->blob)
			drv_course_watch(course);
		call_driver(one, NULL);
		return CKCACHE_ORIGIN_BUILT;
	}
	if (!drv_course_run(course)) {
		/* A failed call's log may not be touched (native.c), and is lost. */
		if (one->result == ZE_RESULT_SUCCESS)
			lz_log_discard(one->desc->next, one->log);
		return CKCACHE_ORIGIN_BUILT;
	}
	return course->origin == CC_ORIGIN_MEMORY ? CKCACHE_ORIGIN_MEMORY : CKCACHE_ORIGIN_DISK;
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

/* What a build read goes with its binary, to be looked at when that is loaded. false: no blob. */
static bool add_to_blob(struct construction *one, struct cmn_buffer *blob)
{
	struct drv_course *course = &one->course;

	if (!drv_course_see(course)) {
		if (course->cache)
			drv_course_count(course);
		return false;
	}
	if (lz_desc_add_native(one->desc, one->i, one->module, blob) != CMN_OK)
		return false;
	api_desc_add_files(blob, one->i, course->manifest);
	return true;
}

/* Every module, one after the other. */
static enum ckcache_status construct(struct lz_desc *desc, struct order *order,
				     ze_module_handle_t *modules, enum ckcache_origin *ret_origin)
{
	enum ckcache_origin origin = CKCACHE_ORIGIN_MEMORY;

	for (size_t i = 0; i < desc->base.count; i++) {
		struct construction one = {
			.course = {
				.steps = &steps,
				.cache = desc->base.cache,
				.key = &desc->base.items[i].key,
			},
			.desc = desc,
			.i = i,
		};
		enum ckcache_origin from;
		enum ckcache_status status;

		drv_course_begin(&one.course);
		one.course.epoch = lz_desc_epoch(desc);
		from = obtain(&one, order);
		status = status_of_build(one.result);
		if (status == CKCACHE_OK && order->blob && !add_to_blob(&one, order->blob))
			order->blob = NULL;
		drv_course_release(&one.course);
		if (status != CKCACHE_OK) {
			lz_desc_discard(desc, i, modules);
			return status;
		}
		modules[i] = one.module;
		origin = api_origin_of_both(origin, from);
	}
	*ret_origin = origin;
	return CKCACHE_OK;
}

/* A storage that fails, or a driver without binaries, only means that it is built again. */
static enum ckcache_status build_and_store(struct lz_desc *desc,
					   const struct ckcache_storage *storage,
					   ze_module_handle_t *modules,
					   enum ckcache_origin *ret_origin)
{
	struct cmn_buffer blob = { 0 };
	struct order order = { .blob = storage->store ? &blob : NULL };
	enum ckcache_status status;

	api_blob_begin(&blob, &desc->base.id);
	status = construct(desc, &order, modules, ret_origin);
	if (status == CKCACHE_OK && order.blob && api_blob_end(&blob) == CMN_OK)
		(void)!api_storage_store(storage, &desc->base.id, cmn_buffer_view(&blob));
	cmn_buffer_release(&blob);
	return status;
}

/* CKCACHE_OK: from the storage; else they are to be built. */
static enum ckcache_status load_blob(struct lz_desc *desc, const struct ckcache_storage *storage,
				     ze_module_handle_t *modules)
{
	struct cmn_buffer blob = { 0 };
	enum ckcache_status status;

	if (!lz_desc_holds(desc) || api_storage_load(storage, &desc->base.id, &blob) != CMN_OK)
		return CKCACHE_MISS;
	status = lz_desc_create(desc, cmn_buffer_view(&blob), modules);
	if (status == CKCACHE_ERROR_REFUSED || status == CKCACHE_ERROR_DAMAGED ||
	    status == CKCACHE_ERROR_STALE)
		(void)!api_storage_evict(storage, &desc->base.id);	/* another takes its place */
	cmn_buffer_release(&blob);
	return status;
}

static enum ckcache_status build(struct lz_desc *desc, const struct ckcache_storage *storage,
				 ze_module_handle_t *modules, enum ckcache_origin *ret_origin)
{
	struct order order = { .cached = false };

	if (storage && !desc->base.empty) {
		if (load_blob(desc, storage, modules) != CKCACHE_OK)
			return build_and_store(desc, storage, modules, ret_origin);
		*ret_origin = CKCACHE_ORIGIN_STORAGE;
		return CKCACHE_OK;
	}
	order.cached = !storage && !desc->base.empty && desc->base.cache && lz_desc_holds(desc);
	return construct(desc, &order, modules, ret_origin);
}

enum ckcache_status lz_ckcache_build(struct ckcache_desc *base,
				     const struct ckcache_storage *storage,
				     struct _ze_module_handle_t **ret_modules,
				     enum ckcache_origin *ret_origin)
{
	struct lz_desc *desc = lz_desc_of(base);
	enum ckcache_origin origin = CKCACHE_ORIGIN_BUILT;
	enum ckcache_status status;
	ze_module_handle_t *modules;

	if (!desc || !api_storage_is_valid(storage) || !ret_modules)
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	modules = calloc(base->count, sizeof(*modules));
	if (!modules)
		return CKCACHE_ERROR_OUT_OF_MEMORY;
	status = build(desc, storage, modules, &origin);
	if (status == CKCACHE_OK) {
		memcpy(ret_modules, modules, base->count * sizeof(*modules));
		if (ret_origin)
			*ret_origin = origin;
	}
	free(modules);
	return status;
}
