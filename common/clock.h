/* SPDX-License-Identifier: MIT */
/* clock: time in nanoseconds. Thread-safe, never fails. */
#ifndef COMMON_CLOCK_H
#define COMMON_CLOCK_H

#include <stdint.h>

uint64_t cmn_clock_monotonic(void);	/* for durations */
uint64_t cmn_clock_realtime(void);	/* since the epoch */

#endif
