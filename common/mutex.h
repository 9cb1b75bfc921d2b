/* SPDX-License-Identifier: MIT */
/*
 * mutex: the two calls that everybody makes. A mutex of the default kind that was
 * initialised fails only where its owner's code is wrong, and then there is
 * nothing to be done about it here.
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
