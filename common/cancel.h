/* SPDX-License-Identifier: MIT */
/*
 * cancel: an application's thread is not cancelled while it is in the cache or, on behalf of a
 * call that the cache keeps locks for, in the driver. It would end there with locks that others
 * wait for. It is cancelled at its next cancellation point.
 */
#ifndef COMMON_CANCEL_H
#define COMMON_CANCEL_H

#include <pthread.h>

static inline int cmn_cancel_disable(void)
{
	int state = PTHREAD_CANCEL_ENABLE;

	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);	/* the argument is right */
	return state;
}

static inline void cmn_cancel_restore(const int *state)
{
	int ignored;

	(void)pthread_setcancelstate(*state, &ignored);	/* likewise */
}

/* To stand first in a function, which holds until it returns. */
#define CMN_NOT_CANCELLED \
	__attribute__((cleanup(cmn_cancel_restore), unused)) const int cmn_cancel_state = \
		cmn_cancel_disable()

#endif
