/* SPDX-License-Identifier: MIT */
/* level_zero: to come. */
#include "layers/library/library.h"

const struct ckcache_functions *library_level_zero(struct _ze_device_handle_t *handle)
{
	(void)handle;
	return NULL;
}
