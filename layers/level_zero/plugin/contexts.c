/* SPDX-License-Identifier: MIT */
/* contexts: a rehearsal of the first module. */
#include "layers/level_zero/plugin/contexts.h"

#include "common/cancel.h"
#include "layers/level_zero/plugin/module_key.h"
#include "layers/level_zero/plugin/plugin.h"

/* More devices are identified when their modules are created. */
#define MAX_PREPARED 8

/*
 * Looks up a module that nobody has, with all that a look-up touches for the
 * first time in its process: some 100 us that the first module would have to
 * wait for.
 */
static void rehearse(struct lz_target *target)
{
	/* A header without instructions (SPIR-V 2.3): no program's module. */
	static const uint32_t words[] = { 0x07230203, 0x00010000, 0, 1, 0 };
	const ze_module_desc_t desc = {
		.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
		.format = ZE_MODULE_FORMAT_IL_SPIRV,
		.inputSize = sizeof(words),
		.pInputModule = (const uint8_t *)words,
	};
	struct cc_key key;
	struct cmn_view il;
	const char *reason;

	cc_key_init(&key);
	if (lz_module_key(target, &desc, &key, &il, &reason) == CMN_OK)
		cc_cache_rehearse(lz_plugin_opened, &key);
	cc_key_release(&key);
}

/* Identifies the devices, so that no module has to wait for it. */
static void prepare(struct lz_next *next, ze_driver_handle_t driver)
{
	static atomic_bool rehearsed;
	ze_device_handle_t devices[MAX_PREPARED];
	uint32_t count = 0;
	ze_pfnDeviceGet_t get = LZ_NEXT_FIND(next, device_get);

	/* Asked for more than there are, NEO reads behind its list. */
	if (!get || get(driver, &count, NULL) != ZE_RESULT_SUCCESS || !count)
		return;
	count = count < MAX_PREPARED ? count : MAX_PREPARED;
	if (get(driver, &count, devices) != ZE_RESULT_SUCCESS)
		return;
	for (uint32_t i = 0; i < count; i++) {
		struct lz_target target = { .next = next, .driver = driver, .device = devices[i] };

		/* One that cannot be identified is found out, and counted, by its first module. */
		if (lz_identity_of(&target) != CMN_OK)
			return;
		if (!atomic_exchange(&rehearsed, true))
			rehearse(&target);
	}
}

static void created(struct lz_next *next, ze_driver_handle_t driver, ze_result_t result,
		    const ze_context_handle_t *context)
{
	if (result != ZE_RESULT_SUCCESS || !context)
		return;
	lz_identity_add_context(next, *context, driver);
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
	ze_driver_handle_t driver = lz_identity_drop_context(context);
	ze_result_t result = LZ_NEXT_FIND(next, context_destroy)(context);

	if (result != ZE_RESULT_SUCCESS && driver)
		lz_identity_add_context(next, context, driver);
	return result;
}
