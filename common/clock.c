/* SPDX-License-Identifier: MIT */
/* clock: clock_gettime in one number. */
#include "common/clock.h"

#include <time.h>

static uint64_t read_clock(clockid_t id)
{
	struct timespec now;

	(void)clock_gettime(id, &now);	/* cannot fail for these two clocks */
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

uint64_t cmn_clock_monotonic(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t cmn_clock_deadline(uint64_t timeout_ns)
{
	const uint64_t year = UINT64_C(365) * 86400 * 1000000000;

	return cmn_clock_monotonic() + (timeout_ns < year ? timeout_ns : year);
}

uint64_t cmn_clock_realtime(void)
{
	return read_clock(CLOCK_REALTIME);
}
