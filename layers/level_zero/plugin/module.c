/* SPDX-License-Identifier: MIT */
/*
 * module: zeModuleCreate, on the course that all builds run
 * (layers/shared/course/course.h). Input that is not compiled goes to the
 * driver as it came.
 */
#include "layers/level_zero/plugin/module.h"

#include "common/cancel.h"
#include "common/clock.h"
#include "layers/shared/driver/environment.h"
#include "layers/level_zero/plugin/build_logs.h"
#include "layers/level_zero/plugin/contexts.h"
#include "layers/level_zero/plugin/identity.h"
#include "layers/level_zero/plugin/module_key.h"
#include "layers/level_zero/plugin/names.h"
#include "layers/level_zero/plugin/native.h"

/* One call of zeModuleCreate while it lasts. */
struct creation {
	struct drv_course course;	/* first */
	struct lz_next *next;
	ze_context_handle_t context;
	ze_device_handle_t device;
	ze_driver_handle_t driver;	/* NULL: not known */
	const ze_module_desc_t *desc;
	ze_module_handle_t *module;
	ze_module_build_log_handle_t *log;	/* NULL: the application wants none */
	/* A log that the application does not want belongs to the entry all the same: the next one may want it. */
	ze_module_build_log_handle_t own_log;
	struct lz_module_inputs inputs;
	struct cc_key key;
	ze_result_t result;		/* of the driver */
};

static struct creation *of(struct drv_course *course)
{
	return (struct creation *)course;
}

/* The driver's own call, as the application made it. */
static void call_driver(struct creation *creation, ze_module_build_log_handle_t *log)
{
	drv_environment_note_build();
	creation->result = LZ_NEXT_FIND(creation->next, module_create)(
		creation->context, creation->device, creation->desc, creation->module, log);
}

/* With nothing to be kept. */
static void run_uncached(struct creation *creation)
{
	drv_libraries_note_unseen();
	call_driver(creation, creation->log);
}

/* The steps of the course. */

static bool step_observe(struct drv_course *course, struct drv_observer_request *ret)
{
	const struct creation *creation = of(course);

	return lz_identity_observe(creation->next, creation->driver, creation->device, ret);
}

static struct drv_observer_text step_text(struct drv_course *course)
{
	const struct lz_module_inputs *inputs = &of(course)->inputs;

	return lz_native_text(inputs->items[0].il, inputs->flags);
}

static enum drv_outcome step_call(struct drv_course *course)
{
	struct creation *creation = of(course);

	creation->own_log = NULL;	/* a call that failed may have left something there */
	call_driver(creation, creation->log ? creation->log : &creation->own_log);
	return lz_outcome(creation->result);
}

static char *step_failure(const struct drv_course *course)
{
	return lz_native_failure(((const struct creation *)course)->result);
}

static bool step_key_holds(struct drv_course *course)
{
	const struct creation *creation = of(course);

	return lz_module_key_holds(creation->next, creation->driver, creation->device,
				   &creation->key);
}

static bool step_environment_holds(struct drv_course *course)
{
	const struct creation *creation = of(course);

	return lz_module_key_environment_holds(creation->next, creation->driver, creation->device);
}

static enum cmn_status step_capture(struct drv_course *course, struct cc_entry **ret)
{
	const struct creation *creation = of(course);
	const struct lz_native_built built = {
		.next = creation->next,
		.driver = creation->driver,
		.device = creation->device,
		.module = *creation->module,
		.log = creation->log ? *creation->log : creation->own_log,
	};

	return lz_native_capture(course, &built, ret);
}

/* The application's module from an entry. */
static enum cmn_status step_attach(struct drv_course *course, struct cc_entry *entry)
{
	struct creation *creation = of(course);
	ze_result_t result = ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
	ze_module_build_log_handle_t log = NULL;
	struct cmn_view native;

	if (cc_entry_find(entry, CC_TAG_IMAGE, 0, &native) && native.len)
		result = lz_native_load(creation->next, creation->context, creation->device, native,
					creation->inputs.flags, creation->module, &log);
	if (result != ZE_RESULT_SUCCESS)
		return lz_native_status(result);
	if (creation->log) {
		/* Without memory for it the log is empty. */
		if (log)
			(void)lz_build_log_replay(log, entry);
		*creation->log = log;
	} else {
		lz_log_discard(creation->next, log);
	}
	lz_names_replay(*creation->module, creation->driver, entry);
	creation->result = ZE_RESULT_SUCCESS;
	return CMN_OK;
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

static void run_without_key(struct creation *creation, struct cmn_view il)
{
	uint64_t start = cmn_clock_monotonic();

	run_uncached(creation);
	creation->course.build_ns = cmn_clock_monotonic() - start;
	creation->course.outcome = lz_outcome(creation->result);
	drv_course_count_without_key(&creation->course, il);
}

static void create_through_cache(struct creation *creation)
{
	struct drv_course *course = &creation->course;
	const char *reason;

	drv_course_begin(course);
	if (lz_module_key(creation->next, creation->driver, creation->device, &creation->inputs,
			  &creation->key, &reason) != CMN_OK) {
		course->bypass = reason;
		run_without_key(creation, creation->inputs.items[0].il);
	} else if (!drv_course_run(course) && creation->result == ZE_RESULT_SUCCESS) {
		/*
		 * With several drivers loaders leave a failed call's log unwrapped: it
		 * may not be touched, and is lost.
		 */
		lz_log_discard(creation->next, creation->own_log);
	}
	drv_course_release(course);
	lz_module_key_release(&creation->key);
}

ze_result_t lz_module_create(struct lz_next *next, ze_context_handle_t context,
			     ze_device_handle_t device, const ze_module_desc_t *desc,
			     ze_module_handle_t *module, ze_module_build_log_handle_t *log)
{
	CMN_NOT_CANCELLED;
	struct creation creation = {
		.course = { .steps = &steps, .cache = lz_plugin_cache(), .key = &creation.key },
		.next = next, .context = context, .device = device,
		.driver = context ? lz_context_driver(context) : NULL,
		.desc = desc, .module = module, .log = log,
	};
	const char *reason;

	/* What a driver has to refuse, it refuses (Level Zero core, zeModuleCreate, Returns). */
	if (!context || !device || !desc || !module) {
		run_uncached(&creation);
		return creation.result;
	}
	if (lz_module_inputs_of(desc, &creation.inputs, &reason)) {
		create_through_cache(&creation);
		lz_module_inputs_release(&creation.inputs);
		return creation.result;
	}
	creation.course.bypass = reason;
	if (reason && creation.course.cache)
		run_without_key(&creation, (struct cmn_view){ 0 });
	else
		run_uncached(&creation);
	return creation.result;
}
