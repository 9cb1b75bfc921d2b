/* SPDX-License-Identifier: MIT */
/*
 * breaker: spares a node's clients the wait for a storage that is down. After a
 * failure nothing is tried for a second, then one request; each further failure
 * doubles the pause up to half a minute, a success ends it. Thread-safe.
 */
#ifndef STORAGE_BREAKER_H
#define STORAGE_BREAKER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "storage/error.h"

struct storage_breaker {
	pthread_mutex_t lock;
	uint64_t pause;			/* guarded by lock: nanoseconds; 0: all is well */
	uint64_t until;			/* guarded by lock: monotonic end of the pause */
	bool trying;			/* guarded by lock: one request is on its way */
	struct storage_error why;	/* guarded by lock: the last failure */
};

void storage_breaker_init(struct storage_breaker *breaker);
/* Whether a request may be tried; its end is then to be told. false: error says since what. */
bool storage_breaker_allows(struct storage_breaker *breaker, struct storage_error *error);
void storage_breaker_succeeded(struct storage_breaker *breaker);
void storage_breaker_failed(struct storage_breaker *breaker, const struct storage_error *why);
/* Whether the storage is taken for down, and why. */
bool storage_breaker_is_open(struct storage_breaker *breaker, struct storage_error *ret_why);

#endif
