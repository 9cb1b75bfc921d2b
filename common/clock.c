/* SPDX-License-Identifier: MIT */
/* clock: when a time has passed, and processors' time. */
#include "common/clock.h"

#include <sys/resource.h>

uint64_t cmn_clock_processor(void)
{
	struct rusage children = { 0 };

	(void)getrusage(RUSAGE_CHILDREN, &children);	/* cannot fail */
	return cmn_clock_read(CLOCK_PROCESS_CPUTIME_ID) +
	       (uint64_t)(children.ru_utime.tv_sec + children.ru_stime.tv_sec) * UINT64_C(1000000000) +
	       (uint64_t)(children.ru_utime.tv_usec + children.ru_stime.tv_usec) * 1000;
}

uint64_t cmn_clock_deadline(uint64_t timeout_ns)
{
	const uint64_t year = UINT64_C(365) * 86400 * 1000000000;

	return cmn_clock_monotonic() + (timeout_ns < year ? timeout_ns : year);
}
