/* SPDX-License-Identifier: MIT */
/*
 * desc_build: the steps by which described modules come to be (layers/shared/api/desc_build.h).
 */
#include <stdlib.h>
#include <string.h>

#include "layers/shared/api/desc_build.h"
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
	bool wants_log;		/* the build is to be kept, for whoever asks zeModuleCreate for it */
	ze_module_build_log_handle_t log;
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

static enum drv_outcome step_call(struct drv_course *course)
{
	struct construction *one = of(course);
	const struct lz_desc *desc = one->desc;
	const ze_module_desc_t module = lz_desc_module(desc, one->i);

	one->log = NULL;	/* a call that failed may have left something there */
	drv_environment_note_build();
	one->result = LZ_NEXT_FIND(desc->next, module_create)(desc->context, desc->device, &module,
							      &one->module,
							      one->wants_log ? &one->log : NULL);
	if (one->result != ZE_RESULT_SUCCESS)
		one->module = NULL;	/* drivers may leave something there */
	return lz_outcome(one->result);
}

static char *step_failure(const struct drv_course *course)
{
	return lz_native_failure(((const struct construction *)course)->result);
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
	.failure = step_failure,
	.key_holds = step_key_holds,
	.environment_holds = step_environment_holds,
	.capture = step_capture,
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
static bool add_to_blob(struct construction *one, struct cmn_buffer *blob)
{
	if (!api_build_may_be_stored(&one->course) ||
	    lz_desc_add_native(one->desc, one->i, one->module, blob) != CMN_OK)
		return false;
	api_desc_add_files(blob, one->i, one->course.manifest);
	return true;
}

static enum ckcache_status build(struct ckcache_desc *base, size_t i, struct api_order *order,
				 void *objects, enum ckcache_origin *ret_origin)
{
	struct construction one = { .course.steps = &steps, .desc = (struct lz_desc *)base, .i = i };
	ze_module_handle_t *modules = objects;
	enum ckcache_status status;

	one.wants_log = order->cached;
	api_build_begin(base, i, &one.course);
	*ret_origin = api_build_one(&one.course, order);
	status = status_of_build(one.result);
	/* A failed call's log may not be touched (native.c), and is lost. */
	if (one.log && status == CKCACHE_OK)
		lz_log_discard(one.desc->next, one.log);
	if (status == CKCACHE_OK && order->blob && !add_to_blob(&one, order->blob))
		order->blob = NULL;
	drv_course_release(&one.course);
	if (status == CKCACHE_OK)
		modules[i] = one.module;
	else
		lz_desc_discard(one.desc, i, modules);
	return status;
}

static bool holds(struct ckcache_desc *base)
{
	return lz_desc_holds((struct lz_desc *)base);
}

static enum ckcache_status create(struct ckcache_desc *base, struct cmn_view blob, void *objects)
{
	return lz_desc_create((struct lz_desc *)base, blob, objects);
}

static const struct api_build_steps build_steps = {
	.holds = holds, .create = create, .build = build,
};

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
	status = api_desc_build(base, storage, &build_steps, modules, &origin);
	if (status == CKCACHE_OK) {
		memcpy(ret_modules, modules, base->count * sizeof(*modules));
		if (ret_origin)
			*ret_origin = origin;
	}
	free(modules);
	return status;
}
