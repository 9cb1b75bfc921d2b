/* SPDX-License-Identifier: MIT */
/* level_zero_absent: what stands for level_zero.c where its headers are not there. */
#include "layers/libckcache/library.h"
#include "layers/shared/api/ckcache.h"

const bool library_has_level_zero = false;

void library_level_zero_lock(void)
{
}

void library_level_zero_unlock(void)
{
}

enum ckcache_status ckcache_level_zero_desc_new(struct _ze_driver_handle_t *driver,
						struct _ze_context_handle_t *context,
						struct _ze_device_handle_t *device, size_t count,
						const struct ckcache_program *programs,
						struct ckcache_desc **ret_desc)
{
	(void)context, (void)device, (void)count, (void)programs, (void)ret_desc;
	return driver ? CKCACHE_ERROR_UNAVAILABLE : CKCACHE_ERROR_INVALID_ARGUMENT;
}

enum ckcache_status ckcache_level_zero_device_desc_new(struct _ze_driver_handle_t *driver,
						       struct _ze_device_handle_t *device,
						       const struct ckcache_library *library,
						       struct ckcache_desc **ret_desc)
{
	(void)device, (void)library, (void)ret_desc;
	return driver ? CKCACHE_ERROR_UNAVAILABLE : CKCACHE_ERROR_INVALID_ARGUMENT;
}
