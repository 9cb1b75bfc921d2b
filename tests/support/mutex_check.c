/* SPDX-License-Identifier: MIT */
/*
 * mutex_check: a mutex that is unlocked was locked. That one was forgotten is no race where a test
 * has one thread, and ThreadSanitizer, which would tell, is not everywhere.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);

int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	if (pthread_mutex_trylock(mutex) == 0) {
		(void)fprintf(stderr, "unit: a mutex is unlocked that nobody locked\n");
		abort();
	}
	return __real_pthread_mutex_unlock(mutex);
}
