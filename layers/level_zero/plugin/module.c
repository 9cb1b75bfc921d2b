/* SPDX-License-Identifier: MIT */
/*
 * module: gather what identifies the module, look it up, let the driver build
 * what is not there, publish what it built. Whatever goes wrong on the way,
 * the driver builds it as it would have without the plugin.
 */
#include "layers/level_zero/plugin/module.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "layers/driver/libraries.h"
#include "layers/level_zero/plugin/build_logs.h"
#include "layers/level_zero/plugin/contexts.h"
#include "layers/level_zero/plugin/module_key.h"

/* One call of zeModuleCreate while it lasts. */
struct creation {
	struct lz_next *next;
	ze_context_handle_t context;
	ze_device_handle_t device;
	ze_driver_handle_t driver;	/* NULL: not known */
	const ze_module_desc_t *desc;
	ze_module_handle_t *module;
	ze_module_build_log_handle_t *log;	/* NULL: the application wants none */
	struct lz_module_inputs inputs;
	struct cc_key key;
	struct drv_library_epoch epoch;
	uint64_t start_ns, build_ns;
	ze_result_t result;		/* of the driver */
	bool ran;			/* the driver was called for the application */
	bool retried;			/* after running out of memory */
	const char *bypass;		/* why nothing is cached, or NULL */
};

static bool is_out_of_memory(ze_result_t result)
{
	return result == ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY ||
	       result == ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
}

/* The log's text with its terminator; an empty buffer where there is none to be had. */
static struct cmn_buffer read_log(struct creation *creation, ze_module_build_log_handle_t log)
{
	ze_pfnModuleBuildLogGetString_t get = LZ_NEXT_FIND(creation->next, log_get_string);
	struct cmn_buffer text = { 0 };
	size_t size = 0;

	if (!log || !get || get(log, &size, NULL) != ZE_RESULT_SUCCESS || !size ||
	    !cmn_buffer_reserve(&text, size + 1))
		return text;
	if (get(log, &size, (char *)text.data) == ZE_RESULT_SUCCESS) {
		text.data[size] = '\0';
		text.len = strlen((const char *)text.data) + 1;
	}
	return text;
}

static void destroy_log(struct creation *creation, ze_module_build_log_handle_t log)
{
	ze_pfnModuleBuildLogDestroy_t destroy = LZ_NEXT_FIND(creation->next, log_destroy);

	if (log && destroy)
		(void)destroy(log);	/* what it refuses to destroy is lost either way */
}

static void destroy_module(struct creation *creation, ze_module_handle_t module)
{
	ze_pfnModuleDestroy_t destroy = LZ_NEXT_FIND(creation->next, module_destroy);

	if (module && destroy)
		(void)destroy(module);	/* likewise */
}

/* The driver's own call, as the application made it, timed. */
static void run(struct creation *creation, ze_module_build_log_handle_t *log)
{
	uint64_t start = cmn_clock_monotonic();

	creation->ran = true;
	creation->result = LZ_NEXT_FIND(creation->next, module_create)(
		creation->context, creation->device, creation->desc, creation->module, log);
	creation->build_ns = cmn_clock_monotonic() - start;
}

/* A compiler that came only with the build was not in the key: what it made cannot be kept under it. */
static bool compiler_came_late(const struct creation *creation)
{
	return drv_libraries_came(&creation->epoch) &&
	       !lz_module_key_holds(creation->next, creation->driver, creation->device,
				    &creation->key);
}

/* Adds the native binary. false: the driver has none to give, or there is no memory. */
static bool add_native(struct creation *creation, struct cc_entry *entry)
{
	ze_pfnModuleGetNativeBinary_t get = LZ_NEXT_FIND(creation->next, module_get_native);
	size_t size = 0;
	uint8_t *room;

	if (!get || get(*creation->module, &size, NULL) != ZE_RESULT_SUCCESS || !size)
		return false;
	room = cc_entry_add_room(entry, CC_TAG_IMAGE, 0, size);
	return room && get(*creation->module, &size, room) == ZE_RESULT_SUCCESS;
}

/* The module just built, as an entry. CMN_MISS: there is none to be had. */
static enum cmn_status capture(struct creation *creation, ze_module_build_log_handle_t log,
			       struct cc_entry **ret)
{
	struct cc_entry *entry;
	struct cmn_buffer text;

	if (compiler_came_late(creation)) {
		creation->bypass = "compiler-loaded-late";
		return CMN_MISS;
	}
	entry = cc_entry_new(creation->build_ns);
	if (!entry)
		return CMN_MISS;
	if (!add_native(creation, entry)) {
		creation->bypass = "no-binary";
		cc_entry_unref(entry);
		return CMN_MISS;
	}
	text = read_log(creation, log);
	if (text.len)
		cc_entry_add(entry, LZ_TAG_LOG, 0, text.data, text.len);
	cmn_buffer_release(&text);
	if (cc_entry_finish(entry, NULL) != CMN_OK) {
		cc_entry_unref(entry);
		return CMN_MISS;
	}
	*ret = entry;
	return CMN_OK;
}

/*
 * The build callback of the cache. A log that the application does not want
 * belongs to the entry all the same: the next one may want it.
 */
static enum cmn_status build_and_capture(void *ctx, struct cc_entry **ret)
{
	struct creation *creation = ctx;
	ze_module_build_log_handle_t own = NULL;
	enum cmn_status status;

	run(creation, creation->log ? creation->log : &own);
	if (is_out_of_memory(creation->result) && !creation->retried) {
		creation->retried = true;
		return CMN_ERR_NOMEM;
	}
	/*
	 * With several drivers loaders leave a failed call's log unwrapped: it
	 * may not be touched, and is lost.
	 */
	if (creation->result != ZE_RESULT_SUCCESS)
		return CMN_MISS;
	status = capture(creation, creation->log ? *creation->log : own, ret);
	destroy_log(creation, own);
	return status;
}

/* A native of another driver version is compiled again from what it carries, with a warning (NEO: -Wrecompiled-from-ir). */
static bool was_recompiled(const struct cmn_buffer *log)
{
	return log->len && strstr((const char *)log->data, "recompiled-from-ir");
}

/* The flags without the one that keeps the driver from saying so; heap, NULL: they do not have it. */
static char *flags_that_warn(const char *flags)
{
	static const char silent[] = "-Wno-recompiled-from-ir";
	char *copy = flags && strstr(flags, silent) ? strdup(flags) : NULL;

	for (char *at = copy ? strstr(copy, silent) : NULL; at; at = strstr(at, silent))
		memset(at, ' ', sizeof(silent) - 1);
	return copy;
}

static ze_result_t load(struct creation *creation, struct cmn_view native,
			ze_module_handle_t *ret_module, ze_module_build_log_handle_t *ret_log)
{
	char *flags = flags_that_warn(creation->inputs.flags);
	const ze_module_desc_t desc = {
		.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
		.format = ZE_MODULE_FORMAT_NATIVE,
		.inputSize = native.len,
		.pInputModule = native.data,
		/* They say more than what to compile: what to export, what to measure. */
		.pBuildFlags = flags ? flags : creation->inputs.flags,
	};
	ze_result_t result = LZ_NEXT_FIND(creation->next, module_create)(
		creation->context, creation->device, &desc, ret_module, ret_log);

	free(flags);
	return result;
}

/*
 * Makes the application's module from the entry and counts the hit. false:
 * nothing was done for the application. A refused entry is gone then.
 */
static bool attach(struct creation *creation, struct cc_entry *entry, enum cc_origin origin)
{
	ze_module_build_log_handle_t log = NULL;
	ze_module_handle_t module = NULL;
	struct cmn_view native;
	struct cmn_buffer text;
	ze_result_t result = ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
	bool recompiled;

	if (cc_entry_find(entry, CC_TAG_IMAGE, 0, &native) && native.len)
		result = load(creation, native, &module, &log);
	if (result != ZE_RESULT_SUCCESS) {
		/* Without memory the entry is as good as ever. The log may not be touched: see above. */
		if (!is_out_of_memory(result) && result != ZE_RESULT_ERROR_DEVICE_LOST)
			cc_cache_reject(lz_plugin_cache(), &creation->key, entry);
		return false;
	}
	text = read_log(creation, log);
	recompiled = was_recompiled(&text);
	cmn_buffer_release(&text);
	if (recompiled) {
		destroy_log(creation, log);
		destroy_module(creation, module);
		cc_cache_reject(lz_plugin_cache(), &creation->key, entry);
		return false;
	}
	if (creation->log) {
		/* Without memory for it the log is empty. */
		if (log)
			(void)lz_build_log_replay(log, entry);
		*creation->log = log;
	} else {
		destroy_log(creation, log);
	}
	*creation->module = module;
	creation->result = ZE_RESULT_SUCCESS;
	cc_cache_count_hit(lz_plugin_cache(), &creation->key, origin, entry,
			   cmn_clock_monotonic() - creation->start_ns);
	return true;
}

static void count_built(struct creation *creation)
{
	if (creation->bypass)
		cc_cache_count_bypass(lz_plugin_cache(), creation->bypass, &creation->key);
	else
		cc_cache_count_miss(lz_plugin_cache(), &creation->key, creation->build_ns);
}

/* There is no entry to be had. */
static void build_without_entry(struct creation *creation)
{
	if (!creation->ran)
		run(creation, creation->log);
	count_built(creation);
}

/* After a refused entry: build, and put a good one in its place. */
static void rebuild(struct creation *creation)
{
	struct cc_entry *entry;

	if (build_and_capture(creation, &entry) == CMN_OK) {
		cc_cache_put(lz_plugin_cache(), &creation->key, entry);
		cc_entry_unref(entry);
		count_built(creation);
	} else {
		build_without_entry(creation);
	}
}

static void create_now(struct creation *creation)
{
	struct cc_entry *entry = NULL;
	enum cc_origin origin;

	if (cc_cache_get_or_build(lz_plugin_cache(), &creation->key, build_and_capture, creation,
				  &entry, &origin) != CMN_OK)
		build_without_entry(creation);
	else if (origin == CC_ORIGIN_BUILT)
		count_built(creation);
	else if (!attach(creation, entry, origin))
		rebuild(creation);
	cc_entry_unref(entry);
}

/* Modules that tools instrument or debug are other modules, and depend on the tool. */
static bool is_instrumented(void)
{
	static const char *const variables[] = { "ZET_ENABLE_PROGRAM_DEBUGGING",
						 "ZET_ENABLE_PROGRAM_INSTRUMENTATION" };

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		const char *value = getenv(variables[i]);

		if (value && strcmp(value, "0") != 0)
			return true;
	}
	return false;
}

/* Fills the key; false: a reason not to cache goes to bypass. */
static bool gather(struct creation *creation)
{
	if (is_instrumented()) {
		creation->bypass = "instrumented";
		return false;
	}
	creation->driver = lz_context_driver(creation->context);
	return lz_module_key(creation->next, creation->driver, creation->device,
			     &creation->inputs, &creation->key, &creation->bypass) == CMN_OK;
}

static void create_through_cache(struct creation *creation)
{
	creation->start_ns = cmn_clock_monotonic();
	creation->epoch = drv_libraries_epoch();
	cc_key_init(&creation->key);
	if (gather(creation)) {
		creation->bypass = NULL;
		create_now(creation);
	} else {
		cc_cache_count_bypass(lz_plugin_cache(), creation->bypass, NULL);
		run(creation, creation->log);
	}
	lz_module_key_release(&creation->key);
}

ze_result_t lz_module_create(struct lz_next *next, ze_context_handle_t context,
			     ze_device_handle_t device, const ze_module_desc_t *desc,
			     ze_module_handle_t *module, ze_module_build_log_handle_t *log)
{
	struct creation creation = {
		.next = next, .context = context, .device = device,
		.desc = desc, .module = module, .log = log,
	};

	/* What a driver has to refuse, it refuses (Level Zero core, zeModuleCreate, Returns). */
	if (!context || !device || !desc || !module) {
		run(&creation, log);
		return creation.result;
	}
	if (lz_module_inputs_of(desc, &creation.inputs, &creation.bypass)) {
		create_through_cache(&creation);
		lz_module_inputs_release(&creation.inputs);
		return creation.result;
	}
	if (creation.bypass)
		cc_cache_count_bypass(lz_plugin_cache(), creation.bypass, NULL);
	run(&creation, log);
	return creation.result;
}
