/* SPDX-License-Identifier: MIT */
/*
 * wrong_clock: preloaded, it puts the clock of the day forward by WRONG_CLOCK_S
 * seconds (back where that is negative). Other clocks go right; but with STOPPED_CLOCK
 * that for durations stands still, and who waits has patience without end; with
 * LEAPING_CLOCK it goes by a second each time that somebody looks.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

__attribute__((visibility("default")))
int clock_gettime(clockid_t clock, struct timespec *ret)
{
	static int (*real)(clockid_t, struct timespec *);
	const char *offset = getenv("WRONG_CLOCK_S");
	static time_t leaps;
	int result;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
	result = real(clock, ret);
	if (result == 0 && clock == CLOCK_REALTIME && offset)
		ret->tv_sec += strtol(offset, NULL, 10);
	if (result == 0 && clock == CLOCK_MONOTONIC && getenv("STOPPED_CLOCK"))
		*ret = (struct timespec){ .tv_sec = 1000 };
	if (result == 0 && clock == CLOCK_MONOTONIC && getenv("LEAPING_CLOCK"))
		*ret = (struct timespec){ .tv_sec = ++leaps };
	return result;
}
