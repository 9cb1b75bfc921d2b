/* SPDX-License-Identifier: MIT */
/*
 * pool: the sessions with the storage, which the clients' threads share: a
 * bounded number, kept open between requests. Thread-safe.
 */
#ifndef STORAGE_POOL_H
#define STORAGE_POOL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "storage/backend.h"

struct storage_pool_session {
	void *session;
	uint64_t since;		/* monotonic time of its last use */
};

struct storage_pool {
	const struct storage_backend *backend;
	void *ctx;
	size_t max;
	pthread_mutex_t lock;
	pthread_cond_t freed, unused;
	struct storage_pool_session *idle;	/* guarded by lock: the last used one is last */
	size_t idle_count;			/* guarded by lock */
	size_t count;				/* guarded by lock: idle ones and those in use */
};

/* false: out of memory. */
bool storage_pool_init(struct storage_pool *pool, const struct storage_backend *backend,
		       void *ctx, size_t max);

/*
 * A session for one request: an idle one, else a new one; waits until the monotonic time
 * if the maximum is in use. On STORAGE_OK give it back with _give or _drop.
 */
enum storage_result storage_pool_take(struct storage_pool *pool, uint64_t until,
				      void **ret_session, bool *ret_is_new,
				      struct storage_error *error);
void storage_pool_give(struct storage_pool *pool, void *session);
/* Closes it, and those that are idle, since what it is connected to is gone. */
void storage_pool_drop(struct storage_pool *pool, void *session);

#endif
