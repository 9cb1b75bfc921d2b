/* SPDX-License-Identifier: MIT */
/*
 * mutex: locking and unlocking. An initialized mutex of the default kind fails
 * only if the code that uses it is wrong, and then nothing can be done here.
 */
#ifndef COMMON_MUTEX_H
#define COMMON_MUTEX_H

#include <pthread.h>

static inline void cmn_mutex_lock(pthread_mutex_t *mutex)
{
	(void)pthread_mutex_lock(mutex);
}

static inline void cmn_mutex_unlock(pthread_mutex_t *mutex)
{
	(void)pthread_mutex_unlock(mutex);
}

#endif
