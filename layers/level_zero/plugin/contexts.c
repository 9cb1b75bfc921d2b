/* SPDX-License-Identifier: MIT */
/* contexts: a map of handles, guarded by the plugin's lock. */
#include "layers/level_zero/plugin/contexts.h"

#include <stdlib.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "common/cancel.h"
#include "layers/level_zero/plugin/identity.h"
#include "layers/level_zero/plugin/module_key.h"

#undef uthash_nonfatal_oom
#define uthash_nonfatal_oom(element) (out_of_memory = true)

/* More devices are identified when their modules are created. */
#define MAX_PREPARED 8

struct known_context {
	struct lz_next *next;
	ze_context_handle_t handle;
	ze_driver_handle_t driver;
	UT_hash_handle hh;
};

static struct known_context *contexts;	/* guarded by the plugin's lock */

/* Also for a handle that was another context's before: its destruction may have passed the plugin by. */
static void remember(struct lz_next *next, ze_context_handle_t handle, ze_driver_handle_t driver)
{
	struct known_context *context = calloc(1, sizeof(*context)), *old;
	bool out_of_memory = false;

	if (!context)
		return;
	context->next = next;
	context->handle = handle;
	context->driver = driver;
	lz_plugin_lock();
	HASH_FIND_PTR(contexts, &handle, old);
	if (old)
		HASH_DEL(contexts, old);
	HASH_ADD_PTR(contexts, handle, context);
	lz_plugin_unlock();
	free(old);
	if (out_of_memory)
		free(context);
}

static void forget(ze_context_handle_t handle)
{
	struct known_context *context;

	lz_plugin_lock();
	HASH_FIND_PTR(contexts, &handle, context);
	if (context)
		HASH_DEL(contexts, context);
	lz_plugin_unlock();
	free(context);
}

ze_driver_handle_t lz_context_driver(ze_context_handle_t handle)
{
	struct known_context *context;
	ze_driver_handle_t driver;

	lz_plugin_lock();
	HASH_FIND_PTR(contexts, &handle, context);
	driver = context ? context->driver : NULL;
	lz_plugin_unlock();
	return driver;
}

struct lz_next *lz_context_next(ze_context_handle_t handle, ze_driver_handle_t driver)
{
	struct known_context *context;
	struct lz_next *next;

	lz_plugin_lock();
	HASH_FIND_PTR(contexts, &handle, context);
	for (struct known_context *other = contexts; !context && other; other = other->hh.next) {
		if (other->driver == driver)
			context = other;
	}
	next = context ? context->next : NULL;
	lz_plugin_unlock();
	return next || lz_nexts[1].owner ? next : &lz_nexts[0];
}

/*
 * Looks up a module that nobody has, with all that a look-up touches for the
 * first time in its process: some 100 us that the first module would have to
 * wait for.
 */
static void rehearse(struct lz_next *next, ze_driver_handle_t driver, ze_device_handle_t device)
{
	/* A header without instructions (SPIR-V 2.3): no program's module. */
	static const uint32_t words[] = { 0x07230203, 0x00010000, 0, 1, 0 };
	const ze_module_desc_t desc = {
		.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
		.format = ZE_MODULE_FORMAT_IL_SPIRV,
		.inputSize = sizeof(words),
		.pInputModule = (const uint8_t *)words,
	};
	struct lz_module_inputs inputs;
	struct cc_key key;
	const char *reason;

	if (!lz_module_inputs_of(&desc, &inputs, &reason))
		return;
	if (lz_module_key(next, driver, device, &inputs, &key, &reason) == CMN_OK)
		cc_cache_rehearse(lz_plugin_cache(), &key);
	lz_module_key_release(&key);
	lz_module_inputs_release(&inputs);
}

/* Identifies the devices, so that no module has to wait for it. */
static void prepare(struct lz_next *next, ze_driver_handle_t driver)
{
	static atomic_bool rehearsed;
	ze_device_handle_t devices[MAX_PREPARED];
	uint32_t count = 0;
	ze_pfnDeviceGet_t get = LZ_NEXT_FIND(next, device_get);
	const struct cc_key *fields;

	/* Asked for more than there are, NEO reads behind its list. */
	if (!get || get(driver, &count, NULL) != ZE_RESULT_SUCCESS || !count)
		return;
	count = count < MAX_PREPARED ? count : MAX_PREPARED;
	if (get(driver, &count, devices) != ZE_RESULT_SUCCESS)
		return;
	for (uint32_t i = 0; i < count; i++) {
		/* One that cannot be identified is found out, and counted, by its first module. */
		if (lz_identity_of(next, driver, devices[i], &fields) != CMN_OK)
			return;
	}
	if (!atomic_exchange(&rehearsed, true))
		rehearse(next, driver, devices[0]);
}

static void created(struct lz_next *next, ze_driver_handle_t driver, ze_result_t result,
		    const ze_context_handle_t *context)
{
	if (result != ZE_RESULT_SUCCESS || !context)
		return;
	remember(next, *context, driver);
	prepare(next, driver);
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

/* Before the driver may give the handle to somebody else. */
ze_result_t lz_context_destroy(struct lz_next *next, ze_context_handle_t context)
{
	ze_driver_handle_t driver = lz_context_driver(context);
	ze_result_t result;

	forget(context);
	result = LZ_NEXT_FIND(next, context_destroy)(context);
	if (result != ZE_RESULT_SUCCESS && driver)
		remember(next, context, driver);
	return result;
}
