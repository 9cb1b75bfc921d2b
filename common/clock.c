/* SPDX-License-Identifier: MIT */
/* clock: when a time has passed. */
#include "common/clock.h"

uint64_t cmn_clock_deadline(uint64_t timeout_ns)
{
	const uint64_t year = UINT64_C(365) * 86400 * 1000000000;

	return cmn_clock_monotonic() + (timeout_ns < year ? timeout_ns : year);
}
