/* SPDX-License-Identifier: MIT */
/* exit_time: the time spent so far, in the copy that was loaded first. */
#include "layers/shared/driver/exit_time.h"

#include <stdatomic.h>

#include "common/clock.h"
#include "layers/shared/driver/owner.h"

#define VERSION 1
#define NS_PER_MS UINT64_C(1000000)

/* Nanoseconds. Shared by the copies of the process, of whatever release. */
extern _Atomic uint64_t drv_exit_time_spent;
__attribute__((visibility("hidden"))) _Atomic uint64_t drv_exit_time_spent;
DRV_OWNER_NOTE(DRV_OWNER_EXIT_TIME, VERSION, drv_exit_time_spent);

void drv_exit_time_flush(struct cc_cache *cache)
{
	uint64_t start = cmn_clock_monotonic(), spent, budget;
	_Atomic uint64_t *shared;

	if (!cache)
		return;
	shared = drv_owner_of(DRV_OWNER_EXIT_TIME, VERSION);
	if (!shared)
		shared = &drv_exit_time_spent;
	spent = atomic_load(shared);
	budget = cc_cache_config(cache)->exit_wait * NS_PER_MS;
	cc_cache_flush_within(cache, spent < budget ? budget - spent : 0);
	(void)atomic_fetch_add(shared, cmn_clock_monotonic() - start);
}
