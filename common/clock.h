/* SPDX-License-Identifier: MIT */
/* clock: time in nanoseconds. Thread-safe, never fails. */
#ifndef COMMON_CLOCK_H
#define COMMON_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t cmn_clock_read(clockid_t id)	/* one of those used here, which cannot fail */
{
	struct timespec now;

	(void)clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static inline uint64_t cmn_clock_monotonic(void)	/* for durations */
{
	return cmn_clock_read(CLOCK_MONOTONIC);
}

static inline uint64_t cmn_clock_realtime(void)	/* since the epoch */
{
	return cmn_clock_read(CLOCK_REALTIME);
}

/* What processors have worked for this process, all its threads, and for children that it has waited for. */
uint64_t cmn_clock_processor(void);
/* Monotonic, so much later than now; a year at most, which cannot overflow. */
uint64_t cmn_clock_deadline(uint64_t timeout_ns);

#endif
