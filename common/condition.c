/* SPDX-License-Identifier: MIT */
/* condition: what POSIX has, with its time in nanoseconds. */
#include "common/condition.h"

#include <errno.h>
#include <time.h>

#include "common/cancel.h"

#define NS_PER_S UINT64_C(1000000000)

bool cmn_conditions_init(pthread_cond_t *one, pthread_cond_t *other)
{
	pthread_condattr_t attr;
	bool done = false;

	if (pthread_condattr_init(&attr) != 0)
		return false;
	if (pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) == 0 && pthread_cond_init(one, &attr) == 0) {
		done = pthread_cond_init(other, &attr) == 0;
		if (!done)
			(void)pthread_cond_destroy(one);	/* nobody waits */
	}
	(void)pthread_condattr_destroy(&attr);	/* cannot fail on an initialised one */
	return done;
}

bool cmn_condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t until)
{
	CMN_NOT_CANCELLED;
	const struct timespec time = {
		.tv_sec = (time_t)(until / NS_PER_S),
		.tv_nsec = (long)(until % NS_PER_S),
	};

	return pthread_cond_timedwait(condition, mutex, &time) != ETIMEDOUT;
}
