/* SPDX-License-Identifier: MIT */
/*
 * module: gather what identifies the module, look it up, let the driver build
 * what is not there, publish what it built. Whatever goes wrong on the way,
 * the driver builds it as it would have without the plugin.
 */
#include "layers/level_zero/plugin/module.h"

#include "common/clock.h"
#include "layers/shared/driver/environment.h"
#include "layers/shared/driver/libraries.h"
#include "layers/level_zero/plugin/build_logs.h"
#include "layers/level_zero/plugin/contexts.h"
#include "layers/level_zero/plugin/identity.h"
#include "layers/level_zero/plugin/module_key.h"
#include "layers/level_zero/plugin/names.h"
#include "layers/level_zero/plugin/native.h"

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
	struct drv_observation *observation;	/* of the driver's build; NULL: not begun, or ended */
	struct cc_manifest *manifest;	/* what was built depends on, where bypass is NULL */
	uint64_t start_ns, build_ns;
	ze_result_t result;		/* of the driver */
	bool ran;			/* the driver was called for the application */
	bool retried;			/* after running out of memory */
	bool captured;			/* what the driver builds is to be kept */
	bool late;			/* a compiler came with the build: what it made cannot be kept under the key */
	const char *bypass;		/* why nothing is cached, or NULL */
};

static void see(struct creation *creation)
{
	struct drv_observation *observation = creation->observation;

	creation->observation = NULL;
	if (creation->result != ZE_RESULT_SUCCESS)
		drv_observer_drop(observation);
	else if (creation->captured)
		(void)!lz_native_see(observation, creation->inputs.items[0].il,
				     creation->inputs.flags, &creation->manifest,
				     &creation->bypass);	/* which tells */
}

/* The driver's own call, as the application made it, timed. What it loads counts for all further keys. */
static void run(struct creation *creation, ze_module_build_log_handle_t *log)
{
	struct drv_library_epoch epoch = drv_libraries_epoch();
	uint64_t start = cmn_clock_monotonic();

	drv_environment_note_build();
	creation->ran = true;
	creation->result = LZ_NEXT_FIND(creation->next, module_create)(
		creation->context, creation->device, creation->desc, creation->module, log);
	creation->build_ns = cmn_clock_monotonic() - start;
	see(creation);
	if (drv_libraries_came(&epoch) && creation->device &&
	    !lz_module_key_holds(creation->next, creation->driver, creation->device,
				 &creation->key))
		creation->late = true;
}

/* The module just built, as an entry. CMN_MISS: there is none to be had. */
static enum cmn_status capture(struct creation *creation, ze_module_build_log_handle_t log,
			       struct cc_entry **ret)
{
	const struct lz_native_built built = {
		.next = creation->next,
		.driver = creation->driver,
		.device = creation->device,
		.module = *creation->module,
		.log = log,
		.manifest = creation->manifest,
		.build_ns = creation->build_ns,
	};

	drv_environment_note_build();
	creation->manifest = NULL;
	if (creation->late)
		creation->bypass = "compiler-loaded-late";
	else if (!lz_module_key_environment_holds(creation->next, creation->driver, creation->device))
		creation->bypass = "environment-changed";
	if (creation->bypass) {
		cc_manifest_free(built.manifest);
		return CMN_MISS;
	}
	return lz_native_capture(&built, ret, &creation->bypass) == CMN_OK ? CMN_OK : CMN_MISS;
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

	creation->captured = true;
	creation->observation = lz_identity_watch(creation->next, creation->driver,
						  creation->device);
	run(creation, creation->log ? creation->log : &own);
	if (lz_is_out_of_memory(creation->result) && !creation->retried) {
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
	lz_log_discard(creation->next, own);
	return status;
}

/*
 * Makes the application's module from the entry and counts the hit. false:
 * nothing was done for the application. A refused entry is gone then.
 */
static bool attach(struct creation *creation, struct cc_entry *entry, enum cc_origin origin)
{
	ze_result_t result = ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
	ze_module_build_log_handle_t log = NULL;
	struct cmn_view native;

	if (cc_entry_find(entry, CC_TAG_IMAGE, 0, &native) && native.len)
		result = lz_native_load(creation->next, creation->context, creation->device, native,
					creation->inputs.flags, creation->module, &log);
	/* Without memory the entry is as good as ever. */
	if (lz_native_is_refused(result))
		cc_cache_reject(lz_plugin_cache(), &creation->key, entry);
	if (result != ZE_RESULT_SUCCESS)
		return false;
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

/* Fills the key; false: a reason not to cache goes to bypass. */
static bool gather(struct creation *creation)
{
	return lz_module_key(creation->next, creation->driver, creation->device,
			     &creation->inputs, &creation->key, &creation->bypass) == CMN_OK;
}

static void create_through_cache(struct creation *creation)
{
	creation->start_ns = cmn_clock_monotonic();
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
		.driver = context ? lz_context_driver(context) : NULL,
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
