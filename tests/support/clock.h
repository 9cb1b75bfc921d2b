/* SPDX-License-Identifier: MIT */
/*
 * clock: a clock of the test's own, for programs with ckcache_wrap(test_… clock_gettime).
 * Include it once, and define test_clock.
 */
#ifndef TESTS_SUPPORT_CLOCK_H
#define TESTS_SUPPORT_CLOCK_H

#include <stdint.h>
#include <time.h>

/* What the clock says, in nanoseconds; machine_clock's is the machine's. */
uint64_t test_clock(clockid_t id);

int __real_clock_gettime(clockid_t id, struct timespec *ret);
int __wrap_clock_gettime(clockid_t id, struct timespec *ret);

static inline uint64_t machine_clock(clockid_t id)
{
	struct timespec now = { 0 };

	(void)__real_clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

int __wrap_clock_gettime(clockid_t id, struct timespec *ret)
{
	const uint64_t now = test_clock(id);

	ret->tv_sec = (time_t)(now / UINT64_C(1000000000));
	ret->tv_nsec = (long)(now % UINT64_C(1000000000));
	return 0;
}

#endif
