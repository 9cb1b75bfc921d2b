/* SPDX-License-Identifier: MIT */
/* handles: two maps, guarded by lz_maps. */
#include "layers/level_zero/plugin/handles.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#undef uthash_nonfatal_oom
#define uthash_nonfatal_oom(element) (out_of_memory = true)

struct known {
	void *handle;
	struct lz_next *next;		/* whose it is */
	unsigned int closed;		/* then */
	ze_driver_handle_t driver;	/* of a context */
	struct cc_entry *entry;		/* of a log; holds a reference */
	UT_hash_handle hh;
};

static struct known *contexts, *logs;	/* guarded by lz_maps */

static void forget(struct known *known)
{
	if (known)
		cc_entry_unref(known->entry);
	free(known);
}

static struct known *take_out(struct known **map, const void *handle)
{
	struct known *known;

	lz_maps_lock();
	HASH_FIND_PTR(*map, &handle, known);
	if (known)
		HASH_DEL(*map, known);
	lz_maps_unlock();
	return known;
}

/* Takes it; without memory it is not known. */
static void put_in(struct known **map, struct known *known)
{
	bool out_of_memory = false;

	lz_maps_lock();
	HASH_ADD_PTR(*map, handle, known);
	lz_maps_unlock();
	if (out_of_memory)
		forget(known);
}

/* Whether the driver destroyed it or not: what it refused lives on. */
static void destroyed(struct known **map, struct known *known, ze_result_t result)
{
	if (known && result != ZE_RESULT_SUCCESS)
		put_in(map, known);
	else
		forget(known);
}

ze_driver_handle_t lz_context_driver(ze_context_handle_t handle)
{
	struct known *context;
	ze_driver_handle_t driver;	/* of a context */

	lz_maps_lock();
	HASH_FIND_PTR(contexts, &handle, context);
	driver = context && context->closed == atomic_load(&context->next->closed) ? context->driver : NULL;
	lz_maps_unlock();
	return driver;
}

struct lz_next *lz_context_next(ze_context_handle_t handle, ze_driver_handle_t driver)
{
	struct known *context;
	struct lz_next *next;

	lz_maps_lock();
	HASH_FIND_PTR(contexts, &handle, context);
	if (context && context->closed != atomic_load(&context->next->closed))
		context = NULL;
	for (struct known *other = contexts; !context && other; other = other->hh.next) {
		if (other->driver == driver && other->closed == atomic_load(&other->next->closed))
			context = other;
	}
	next = context ? context->next : NULL;
	lz_maps_unlock();
	return next || lz_nexts[1].owner ? next : &lz_nexts[0];
}

static void created(struct lz_next *next, ze_driver_handle_t driver, ze_result_t result,
		    const ze_context_handle_t *handle)
{
	struct known *context;

	if (result != ZE_RESULT_SUCCESS || !handle)
		return;
	/* Another context's handle before, whose destruction passed the plugin by. */
	forget(take_out(&contexts, *handle));
	context = calloc(1, sizeof(*context));
	if (!context)
		return;
	context->next = next;
	context->closed = atomic_load(&next->closed);
	context->handle = *handle;
	context->driver = driver;
	put_in(&contexts, context);
}

ze_result_t lz_context_create(struct lz_next *next, ze_driver_handle_t driver,
			      const ze_context_desc_t *desc, ze_context_handle_t *context)
{
	ze_result_t result = LZ_NEXT_FIND(next, context_create)(driver, desc, context);

	created(next, driver, result, context);
	return result;
}

ze_result_t lz_context_create_ex(struct lz_next *next, ze_driver_handle_t driver,
				 const ze_context_desc_t *desc, uint32_t count,
				 ze_device_handle_t *devices, ze_context_handle_t *context)
{
	ze_result_t result =
		LZ_NEXT_FIND(next, context_create_ex)(driver, desc, count, devices, context);

	created(next, driver, result, context);
	return result;
}

ze_result_t lz_context_destroy(struct lz_next *next, ze_context_handle_t handle)
{
	/* Before the driver may give the handle to somebody else. */
	struct known *context = take_out(&contexts, handle);
	ze_result_t result = LZ_NEXT_FIND(next, context_destroy)(handle);

	destroyed(&contexts, context, result);
	return result;
}

void lz_module_log_of(struct lz_next *next, ze_module_build_log_handle_t handle, struct cc_entry *entry)
{
	struct cmn_view text;
	struct known *log;

	/* A handle that was another log's before, whose destruction passed the plugin by. */
	forget(take_out(&logs, handle));
	/* Without a text in the entry the driver's own empty one is right. */
	log = cc_entry_find(entry, LZ_TAG_LOG, 0, &text) ? calloc(1, sizeof(*log)) : NULL;
	if (!log)
		return;
	log->next = next;
	log->closed = atomic_load(&next->closed);
	log->handle = handle;
	/* What the driver made of the image is its own. */
	log->entry = cc_entry_without_images(entry);
	put_in(&logs, log);
}

ze_result_t lz_module_log_get(struct lz_next *next, ze_module_build_log_handle_t handle, size_t *size,
			      char *text)
{
	struct cc_entry *entry = NULL;
	struct known *known;
	struct cmn_view log;
	ze_result_t result = ZE_RESULT_SUCCESS;

	lz_maps_lock();
	HASH_FIND_PTR(logs, &handle, known);
	if (known && known->closed == atomic_load(&known->next->closed))
		entry = cc_entry_ref(known->entry);
	lz_maps_unlock();
	if (!entry || !size || !cc_entry_find(entry, LZ_TAG_LOG, 0, &log)) {
		result = LZ_NEXT_FIND(next, log_get_string)(handle, size, text);
	} else if (text && *size < log.len) {
		result = ZE_RESULT_ERROR_INVALID_SIZE;	/* as NEO: nothing is written */
	} else {
		if (text)
			memcpy(text, log.data, log.len);
		*size = log.len;
	}
	cc_entry_unref(entry);
	return result;
}

ze_result_t lz_module_log_destroy(struct lz_next *next, ze_module_build_log_handle_t handle)
{
	/* Before the driver may give the handle to somebody else. */
	struct known *log = take_out(&logs, handle);
	ze_result_t result = LZ_NEXT_FIND(next, log_destroy)(handle);

	destroyed(&logs, log, result);
	return result;
}
