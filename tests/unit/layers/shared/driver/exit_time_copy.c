/* SPDX-License-Identifier: MIT */
/* exit_time_copy: a library with a copy of the module of its own, as each layer has one. */
#include "layers/shared/driver/exit_time.h"

void exit_time_copy_flush(struct cc_cache *cache);

__attribute__((visibility("default"))) void exit_time_copy_flush(struct cc_cache *cache)
{
	drv_exit_time_flush(cache);
}
