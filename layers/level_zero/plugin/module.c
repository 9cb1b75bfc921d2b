/* SPDX-License-Identifier: MIT */
/*
 * module: zeModuleCreate, on the sequence that all builds run (layers/shared/sequence/sequence.h): building,
 * reading and loading, and what the driver's log says that it did. Input that is not compiled goes to the
 * driver as it came.
 */
#include "layers/level_zero/plugin/module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cancel.h"
#include "layers/level_zero/plugin/module_key.h"
#include "layers/level_zero/plugin/handles.h"
#include "layers/shared/driver/environment.h"
#include "layers/shared/driver/spirv_files.h"

bool lz_is_out_of_memory(ze_result_t result)
{
	return result == ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY ||
	       result == ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
}

void lz_module_discard(struct lz_next *next, ze_module_handle_t module)
{
	ze_pfnModuleDestroy_t destroy = LZ_NEXT_FIND(next, module_destroy);

	if (module && destroy)
		(void)destroy(module);	/* see above */
}

void lz_log_discard(struct lz_next *next, ze_module_build_log_handle_t log)
{
	ze_pfnModuleBuildLogDestroy_t destroy = LZ_NEXT_FIND(next, log_destroy);

	if (log && destroy)
		(void)destroy(log);	/* likewise */
}

/* The log's text with its terminator; an empty buffer where there is none to be had. */
static struct cmn_buffer read_log(struct lz_next *next, ze_module_build_log_handle_t log)
{
	ze_pfnModuleBuildLogGetString_t get = LZ_NEXT_FIND(next, log_get_string);
	struct cmn_buffer text = { 0 };
	size_t size = 0;

	if (!log || !get || get(log, &size, NULL) != ZE_RESULT_SUCCESS || !size ||
	    size == SIZE_MAX || !cmn_buffer_reserve(&text, size + 1))
		return text;
	if (get(log, &size, (char *)text.data) == ZE_RESULT_SUCCESS) {
		text.data[size] = '\0';
		text.len = strlen((const char *)text.data) + 1;
	}
	return text;
}

size_t lz_native_size(struct lz_next *next, ze_module_handle_t module)
{
	ze_pfnModuleGetNativeBinary_t get = LZ_NEXT_FIND(next, module_get_native);
	size_t size = 0;

	return get && get(module, &size, NULL) == ZE_RESULT_SUCCESS ? size : 0;
}

bool lz_native_read(struct lz_next *next, ze_module_handle_t module, size_t size, uint8_t *room)
{
	return LZ_NEXT_FIND(next, module_get_native)(module, &size, room) == ZE_RESULT_SUCCESS;
}

static enum cmn_status add_native(struct lz_next *next, ze_module_handle_t module,
				  struct cc_entry *entry)
{
	size_t size = lz_native_size(next, module);
	uint8_t *room;

	if (!size)
		return CMN_MISS;
	room = cc_entry_add_room(entry, CC_TAG_IMAGE, 0, size);
	if (!room)
		return CMN_ERR_NOMEM;
	return lz_native_read(next, module, size, room) ? CMN_OK : CMN_MISS;
}

static enum cmn_status fill(const struct lz_build *build, struct cc_entry *entry)
{
	struct lz_next *next = build->target.next;
	enum cmn_status status = add_native(next, *build->module, entry);
	struct cmn_buffer text;

	if (status != CMN_OK)
		return status;
	text = read_log(next, build->log ? *build->log : NULL);
	if (text.len)
		cc_entry_add(entry, LZ_TAG_LOG, 0, text.data, text.len);
	cmn_buffer_release(&text);
	return CMN_OK;
}

/* Keeps the driver from saying that it compiled a binary again. */
#define SILENCER "-Wno-recompiled-from-ir"

/* The flags without it; heap, NULL: no memory. */
static char *without_silencer(const char *flags)
{
	char *copy = strdup(flags);

	for (char *at = copy ? strstr(copy, SILENCER) : NULL; at; at = strstr(at, SILENCER))
		memset(at, ' ', strlen(SILENCER));
	return copy;
}

enum cmn_status lz_native_load(const struct lz_target *target, struct cmn_view native,
			       const char *flags, ze_module_handle_t *ret_module,
			       ze_module_build_log_handle_t *ret_log)
{
	char *warning = flags && strstr(flags, SILENCER) ? without_silencer(flags) : NULL;
	const ze_module_desc_t desc = {
		.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
		.format = ZE_MODULE_FORMAT_NATIVE,
		.inputSize = native.len,
		.pInputModule = native.data,
		/* They say more than what to compile: what to export, what to measure. */
		.pBuildFlags = warning ? warning : flags,
	};
	ze_result_t result = ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
	ze_module_build_log_handle_t log = NULL;
	ze_module_handle_t module = NULL;
	struct cmn_buffer text;
	bool recompiled;

	if (native.len)
		result = LZ_NEXT_FIND(target->next, module_create)(target->context, target->device,
								   &desc, &module, &log);
	free(warning);
	/* With several drivers loaders leave a failed call's log unwrapped: it may not be touched. */
	if (result != ZE_RESULT_SUCCESS)
		return lz_is_out_of_memory(result) ? CMN_ERR_NOMEM :
		       result == ZE_RESULT_ERROR_DEVICE_LOST ? CMN_ERR_IO : CMN_ERR_DRIVER;
	/* A native of another driver version is compiled again from what it carries, with a warning (NEO). */
	text = read_log(target->next, log);
	recompiled = text.len && strstr((const char *)text.data, "recompiled-from-ir");
	cmn_buffer_release(&text);
	if (recompiled) {
		lz_log_discard(target->next, log);
		lz_module_discard(target->next, module);
		return CMN_ERR_DRIVER;
	}
	*ret_module = module;
	*ret_log = log;
	return CMN_OK;
}

static struct lz_build *of(struct drv_sequence *sequence)
{
	return (struct lz_build *)sequence;
}

static struct drv_observer_text step_text(struct drv_sequence *sequence)
{
	/* What is compiled includes nothing: nobody need have looked for a file. */
	return (struct drv_observer_text){ .options = of(sequence)->desc->pBuildFlags,
					   .source = of(sequence)->il };
}

static enum drv_outcome step_call(struct drv_sequence *sequence)
{
	struct lz_build *build = of(sequence);
	const struct lz_target *target = &build->target;

	build->own_log = NULL;	/* a call that failed may have left something there */
	drv_environment_note_build();
	build->result = LZ_NEXT_FIND(target->next, module_create)(
		target->context, target->device, build->desc, build->module, build->log);
	if (build->result == ZE_RESULT_SUCCESS)
		return DRV_BUILT;
	return lz_is_out_of_memory(build->result) ? DRV_OUT_OF_MEMORY : DRV_ERROR;
}

/* The result, and what it means; not the build log. */
static char *step_failure(const struct drv_sequence *sequence)
{
	ze_result_t result = ((const struct lz_build *)sequence)->result;
	const char *words = result == ZE_RESULT_ERROR_MODULE_BUILD_FAILURE ? "error: the module does not build" :
			    result == ZE_RESULT_ERROR_MODULE_LINK_FAILURE ? "error: the module does not link" : "";
	char code[16];

	(void)snprintf(code, sizeof(code), "0x%x", (unsigned int)result);	/* it fits */
	return drv_failure_text(code, cmn_view_of(words));
}

static enum cmn_status step_capture(struct drv_sequence *sequence, struct cc_entry **ret)
{
	const struct lz_build *build = of(sequence);
	struct cc_entry *entry = cc_entry_new(sequence->build_ns);
	enum cmn_status status = entry ? fill(build, entry) : CMN_ERR_NOMEM;
	struct cmn_view log;

	if (status == CMN_MISS)
		sequence->bypass = "no-binary";
	if (status == CMN_OK) {
		status = cc_entry_finish(entry, sequence->manifest);
		sequence->manifest = NULL;
	}
	if (status == CMN_OK && cc_entry_find(entry, LZ_TAG_LOG, 0, &log) && !build->desc->pNext &&
	    drv_spirv_is_in_log(sequence->driver, build->desc->pBuildFlags, build->il, log)) {
		sequence->bypass = "random-token";
		status = CMN_MISS;
	}
	if (status == CMN_OK)
		*ret = entry;
	else
		cc_entry_unref(entry);
	return status;
}

static bool step_key_holds(struct drv_sequence *sequence)
{
	return lz_module_key_holds(&of(sequence)->target, sequence->key);
}

/* The application's module from an entry. */
static enum cmn_status step_attach(struct drv_sequence *sequence, struct cc_entry *entry)
{
	struct lz_build *build = (struct lz_build *)sequence;
	struct cmn_view native = { 0 };
	ze_module_build_log_handle_t log;
	enum cmn_status status;

	(void)cc_entry_find(entry, CC_TAG_IMAGE, 0, &native);
	status = lz_native_load(&build->target, native, build->desc->pBuildFlags, build->module, &log);
	if (status != CMN_OK)
		return status;
	if (build->log == &build->own_log) {
		lz_log_discard(build->target.next, log);
	} else {
		if (log)
			lz_module_log_of(build->target.next, log, entry);
		*build->log = log;
	}
	build->result = ZE_RESULT_SUCCESS;
	return CMN_OK;
}

/* The device is found by what the key has of it. */
static bool step_leave_recipe(const struct drv_sequence *sequence)
{
	return drv_build_recipe_put(sequence, NULL, (struct cmn_view){ 0 });
}

const struct drv_sequence_steps lz_native_steps = {
	.text = step_text,
	.call = step_call,
	.failure = step_failure,
	.key_holds = step_key_holds,
	.capture = step_capture,
	.leave_recipe = step_leave_recipe,
	.attach = step_attach,
};

ze_result_t lz_module_create(struct lz_next *next, ze_context_handle_t context,
			     ze_device_handle_t device, const ze_module_desc_t *desc,
			     ze_module_handle_t *module, ze_module_build_log_handle_t *log)
{
	CMN_NOT_CANCELLED;
	struct cc_key key;
	struct lz_build build = {
		.sequence = { .steps = &lz_native_steps, .cache = lz_plugin_opened, .key = &key },
		.target = { .next = next, .context = context, .device = device },
		.desc = desc, .module = module, .log = log,
	};
	bool keyed;

	/* What a driver has to refuse, it refuses (Level Zero core, zeModuleCreate, Returns). */
	if (!context || !device || !desc || !module) {
		drv_sequence_run_without_key(&build.sequence, (struct cmn_view){ 0 });
		return build.result;
	}
	drv_sequence_begin(&build.sequence);
	cc_key_init(&key);
	keyed = lz_module_key(&build.target, desc, &key, &build.il, &build.sequence.bypass) == CMN_OK;
	/* What a driver without a row reads counts without a key as well; for a native module none is asked who it is. */
	if (build.target.identity ||
	    (desc->format != ZE_MODULE_FORMAT_NATIVE && lz_identity_of(&build.target) == CMN_OK))
		build.sequence.driver = build.target.identity->row;
	build.sequence.libraries = lz_libraries;
	if (!keyed) {
		drv_sequence_run_without_key(&build.sequence, build.il);
	} else {
		build.sequence.bypass = NULL;
		/* A log that the application does not want belongs to the entry all the same: the next one may want it. */
		if (!log)
			build.log = &build.own_log;
		/* A failed call's log is lost (module.h). */
		if (!drv_sequence_run(&build.sequence) && build.result == ZE_RESULT_SUCCESS)
			lz_log_discard(next, build.own_log);
	}
	drv_sequence_release(&build.sequence);
	cc_key_release(&key);
	return build.result;
}
