/* SPDX-License-Identifier: MIT */
/* contexts: a map of handles, guarded by lz_maps. */
#include "layers/level_zero/plugin/contexts.h"

#include <stdbool.h>
#include <stdlib.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "common/cancel.h"

#undef uthash_nonfatal_oom
#define uthash_nonfatal_oom(element) (out_of_memory = true)

struct known_context {
	struct lz_next *next;
	ze_context_handle_t handle;
	ze_driver_handle_t driver;
	UT_hash_handle hh;
};

static struct known_context *contexts;	/* guarded by lz_maps */

static struct known_context *take_out(ze_context_handle_t handle)
{
	struct known_context *context;

	lz_maps_lock();
	HASH_FIND_PTR(contexts, &handle, context);
	if (context)
		HASH_DEL(contexts, context);
	lz_maps_unlock();
	return context;
}

/* Takes it; without memory it is not known. */
static void put_in(struct known_context *context)
{
	bool out_of_memory = false;

	lz_maps_lock();
	HASH_ADD_PTR(contexts, handle, context);
	lz_maps_unlock();
	if (out_of_memory)
		free(context);
}

ze_driver_handle_t lz_context_driver(ze_context_handle_t handle)
{
	struct known_context *context;
	ze_driver_handle_t driver;

	lz_maps_lock();
	HASH_FIND_PTR(contexts, &handle, context);
	driver = context ? context->driver : NULL;
	lz_maps_unlock();
	return driver;
}

struct lz_next *lz_context_next(ze_context_handle_t handle, ze_driver_handle_t driver)
{
	struct known_context *context;
	struct lz_next *next;

	lz_maps_lock();
	HASH_FIND_PTR(contexts, &handle, context);
	for (struct known_context *other = contexts; !context && other; other = other->hh.next) {
		if (other->driver == driver)
			context = other;
	}
	next = context ? context->next : NULL;
	lz_maps_unlock();
	return next || lz_nexts[1].owner ? next : &lz_nexts[0];
}

static void created(struct lz_next *next, ze_driver_handle_t driver, ze_result_t result,
		    const ze_context_handle_t *handle)
{
	struct known_context *context;

	if (result != ZE_RESULT_SUCCESS || !handle)
		return;
	/* Another context's handle before, whose destruction passed the plugin by. */
	free(take_out(*handle));
	context = calloc(1, sizeof(*context));
	if (!context)
		return;
	context->next = next;
	context->handle = *handle;
	context->driver = driver;
	put_in(context);
}

ze_result_t lz_context_create(struct lz_next *next, ze_driver_handle_t driver,
			      const ze_context_desc_t *desc, ze_context_handle_t *context)
{
	CMN_NOT_CANCELLED;
	ze_result_t result = LZ_NEXT_FIND(next, context_create)(driver, desc, context);

	created(next, driver, result, context);
	return result;
}

ze_result_t lz_context_create_ex(struct lz_next *next, ze_driver_handle_t driver,
				 const ze_context_desc_t *desc, uint32_t count,
				 ze_device_handle_t *devices, ze_context_handle_t *context)
{
	CMN_NOT_CANCELLED;
	ze_result_t result =
		LZ_NEXT_FIND(next, context_create_ex)(driver, desc, count, devices, context);

	created(next, driver, result, context);
	return result;
}

ze_result_t lz_context_destroy(struct lz_next *next, ze_context_handle_t handle)
{
	/* Before the driver may give the handle to somebody else. */
	struct known_context *context = take_out(handle);
	ze_result_t result = LZ_NEXT_FIND(next, context_destroy)(handle);

	if (context && result != ZE_RESULT_SUCCESS)
		put_in(context);
	else
		free(context);
	return result;
}
