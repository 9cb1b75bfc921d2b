/* SPDX-License-Identifier: MIT */
/* contexts: which driver made which context. */
#include "layers/level_zero/plugin/contexts.h"

#include "common/cancel.h"
#include "layers/level_zero/plugin/driver_identity.h"

static void created(struct lz_next *next, ze_driver_handle_t driver, ze_result_t result,
		    const ze_context_handle_t *context)
{
	if (result == ZE_RESULT_SUCCESS && context)
		lz_identity_add_context(next, *context, driver);
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
