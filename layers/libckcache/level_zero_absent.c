/* SPDX-License-Identifier: MIT */
/* level_zero_absent: what stands for level_zero.c where its headers are not there. */
#include "layers/libckcache/library.h"

const bool library_has_level_zero = false;

void library_level_zero_lock(void)
{
}

void library_level_zero_unlock(void)
{
}

const struct ckcache_functions *library_level_zero(struct _ze_driver_handle_t *driver)
{
	(void)driver;
	return NULL;
}
