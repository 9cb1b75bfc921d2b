/* SPDX-License-Identifier: MIT */
/* clock: time in nanoseconds. Thread-safe, never fails. */
#ifndef COMMON_CLOCK_H
#define COMMON_CLOCK_H

#include <stdint.h>

uint64_t cmn_clock_monotonic(void);	/* for durations */
/* Monotonic, so much later than now; a year at most, which cannot overflow. */
uint64_t cmn_clock_deadline(uint64_t timeout_ns);
uint64_t cmn_clock_realtime(void);	/* since the epoch */

#endif
