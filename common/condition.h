/* SPDX-License-Identifier: MIT */
/*
 * condition: pairs of conditions on the monotonic clock, since wall time may
 * jump. A thread that is cancelled while it waits ends after the wait: it would
 * keep the mutex.
 */
#ifndef COMMON_CONDITION_H
#define COMMON_CONDITION_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Both, or none: false. */
bool cmn_conditions_init(pthread_cond_t *one, pthread_cond_t *other);
/* With the mutex, until the monotonic time; false: it has come. */
bool cmn_condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t until);

#endif
