/* SPDX-License-Identifier: MIT */
/*
 * desc_build: described modules from a storage or from the machine's cache,
 * else built by the driver. Whatever goes wrong with the caches, the driver
 * builds them.
 */
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "layers/shared/api/storage.h"
#include "layers/shared/driver/environment.h"
#include "layers/level_zero/plugin/desc.h"
#include "layers/level_zero/plugin/identity.h"
#include "layers/level_zero/plugin/native.h"

/* One module on its way. */
struct construction {
	struct lz_desc *desc;
	size_t i;
	ze_module_handle_t module;
	ze_result_t result;		/* of the driver's build */
	bool ran;			/* the driver was asked */
	bool retried;			/* after running out of memory */
	const char *bypass;		/* why what was built is not kept, or NULL */
	struct cc_manifest *manifest;	/* what was built depends on, where bypass is NULL */
	uint64_t start_ns, build_ns;
};

/* The driver's own build, timed. log may be NULL. */
static void run(struct construction *one, ze_module_build_log_handle_t *log)
{
	const struct lz_desc *desc = one->desc;
	const ze_module_desc_t module = lz_desc_module(desc, one->i);
	uint64_t start = cmn_clock_monotonic();

	drv_environment_note_build();
	one->ran = true;
	one->result = LZ_NEXT_FIND(desc->next, module_create)(desc->context, desc->device, &module,
							      &one->module, log);
	if (one->result != ZE_RESULT_SUCCESS)
		one->module = NULL;	/* drivers may leave something there */
	one->build_ns = cmn_clock_monotonic() - start;
}

/* The same entry as a module of the application's own would leave. CMN_MISS: there is none to be had. */
static enum cmn_status capture(struct construction *one, ze_module_build_log_handle_t log,
			       struct cc_entry **ret)
{
	const struct lz_native_built built = {
		.next = one->desc->next,
		.driver = one->desc->driver,
		.device = one->desc->device,
		.module = one->module,
		.log = log,
		.manifest = one->manifest,
		.build_ns = one->build_ns,
	};

	drv_environment_note_build();
	one->manifest = NULL;
	if (!lz_module_key_environment_holds(one->desc->next, one->desc->driver, one->desc->device))
		one->bypass = "environment-changed";
	else if (!lz_desc_holds(one->desc))
		one->bypass = "compiler-loaded-late";
	if (one->bypass) {
		cc_manifest_free(built.manifest);
		return CMN_MISS;
	}
	return lz_native_capture(&built, ret, &one->bypass) == CMN_OK ? CMN_OK : CMN_MISS;
}

/* The build callback of the cache. The entry gets the log, for who asks zeModuleCreate for it. */
static enum cmn_status build_and_capture(void *ctx, struct cc_entry **ret)
{
	struct construction *one = ctx;
	const struct lz_desc *desc = one->desc;
	const struct lz_desc_program *program = &desc->programs[one->i];
	const struct cmn_view il = { program->source, program->source_size };
	struct drv_observation *observation = lz_identity_watch(desc->next, desc->driver,
								desc->device);
	ze_module_build_log_handle_t log = NULL;
	enum cmn_status status;

	run(one, &log);
	if (one->result == ZE_RESULT_SUCCESS)
		(void)!lz_native_see(observation, il, program->options, &one->manifest,
				     &one->bypass);	/* which tells */
	else
		drv_observer_drop(observation);
	if (lz_is_out_of_memory(one->result) && !one->retried) {
		one->retried = true;
		return CMN_ERR_NOMEM;
	}
	/* A failed call's log may not be touched (native.c), and is lost. */
	if (one->result != ZE_RESULT_SUCCESS)
		return CMN_MISS;
	status = capture(one, log, ret);
	lz_log_discard(one->desc->next, log);
	return status;
}

static void count_built(const struct construction *one)
{
	struct cc_cache *cache = one->desc->base.cache;
	const struct cc_key *key = &one->desc->base.items[one->i].key;

	if (one->bypass)
		cc_cache_count_bypass(cache, one->bypass, key);
	else
		cc_cache_count_miss(cache, key, one->build_ns);
}

/* The module from an entry. false: it is to be built; a refused entry is gone. */
static bool attach(struct construction *one, struct cc_entry *entry, enum cc_origin origin)
{
	struct cc_cache *cache = one->desc->base.cache;
	const struct cc_key *key = &one->desc->base.items[one->i].key;
	ze_result_t result = ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
	struct cmn_view native;

	if (cc_entry_find(entry, CC_TAG_IMAGE, 0, &native) && native.len)
		result = lz_desc_load(one->desc, one->i, native, &one->module);
	if (lz_native_is_refused(result))
		cc_cache_reject(cache, key, entry);
	if (result != ZE_RESULT_SUCCESS)
		return false;
	cc_cache_count_hit(cache, key, origin, entry, cmn_clock_monotonic() - one->start_ns);
	return true;
}

/* After a refused entry: build, and put a good one in its place. */
static void rebuild(struct construction *one)
{
	struct cc_entry *entry;

	one->retried = true;
	if (build_and_capture(one, &entry) != CMN_OK)
		return;
	cc_cache_put(one->desc->base.cache, &one->desc->base.items[one->i].key, entry);
	cc_entry_unref(entry);
}

/* From the machine's cache. Afterwards module and result are as after a build. */
static enum ckcache_origin obtain(struct construction *one)
{
	enum ckcache_origin from = CKCACHE_ORIGIN_BUILT;
	struct cc_entry *entry = NULL;
	enum cc_origin origin;

	one->start_ns = cmn_clock_monotonic();
	if (cc_cache_get_or_build(one->desc->base.cache, &one->desc->base.items[one->i].key,
				  build_and_capture, one, &entry, &origin) != CMN_OK) {
		if (!one->ran)
			run(one, NULL);
	} else if (origin != CC_ORIGIN_BUILT) {
		if (attach(one, entry, origin))
			from = origin == CC_ORIGIN_MEMORY ? CKCACHE_ORIGIN_MEMORY :
							    CKCACHE_ORIGIN_DISK;
		else
			rebuild(one);
	}
	cc_entry_unref(entry);
	if (from == CKCACHE_ORIGIN_BUILT)
		count_built(one);
	return from;
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

/* Every module, one after the other, through the machine's cache or by the driver alone. */
static enum ckcache_status construct(struct lz_desc *desc, bool cached, ze_module_handle_t *modules,
				     enum ckcache_origin *ret_origin)
{
	enum ckcache_origin origin = CKCACHE_ORIGIN_MEMORY;

	for (size_t i = 0; i < desc->base.count; i++) {
		struct construction one = { .desc = desc, .i = i };
		enum ckcache_origin from = CKCACHE_ORIGIN_BUILT;
		enum ckcache_status status;

		if (cached)
			from = obtain(&one);
		else
			run(&one, NULL);
		status = status_of_build(one.result);
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
static void store_blob(struct lz_desc *desc, const struct ckcache_storage *storage,
		       ze_module_handle_t *modules)
{
	struct cmn_buffer blob = { 0 };

	if (!storage->store || !lz_desc_holds(desc))
		return;
	if (lz_desc_wrap(desc, modules, &blob) == CMN_OK)
		(void)!api_storage_store(storage, &desc->base.id, cmn_buffer_view(&blob));
	cmn_buffer_release(&blob);
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
	if (status == CKCACHE_ERROR_REFUSED || status == CKCACHE_ERROR_DAMAGED)
		(void)!api_storage_evict(storage, &desc->base.id);	/* another takes its place */
	cmn_buffer_release(&blob);
	return status;
}

static enum ckcache_status build(struct lz_desc *desc, const struct ckcache_storage *storage,
				 ze_module_handle_t *modules, enum ckcache_origin *ret_origin)
{
	enum ckcache_status status;

	if (desc->base.empty)
		return construct(desc, false, modules, ret_origin);
	if (!storage)
		return construct(desc, desc->base.cache && lz_desc_holds(desc), modules,
				 ret_origin);
	if (load_blob(desc, storage, modules) == CKCACHE_OK) {
		*ret_origin = CKCACHE_ORIGIN_STORAGE;
		return CKCACHE_OK;
	}
	status = construct(desc, false, modules, ret_origin);
	if (status == CKCACHE_OK)
		store_blob(desc, storage, modules);
	return status;
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
