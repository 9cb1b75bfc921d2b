/* SPDX-License-Identifier: MIT */
/* pool: idle sessions, and how many there are. */
#include "storage/pool.h"

#include <stdlib.h>

#include "common/clock.h"
#include "common/condition.h"
#include "common/mutex.h"

/*
 * Servers and what is between drop connections that nobody uses, and not all say so. Longer than
 * clients leave a storage alone that did not answer in time (a minute): a server that is far
 * answers in time only through a connection that is there already.
 */
#define MAX_IDLE_NS (UINT64_C(300) * 1000000000)

bool storage_pool_init(struct storage_pool *pool, const struct storage_backend *backend,
		       void *ctx, size_t max)
{
	*pool = (struct storage_pool){ .backend = backend, .ctx = ctx, .max = max,
				       .lock = PTHREAD_MUTEX_INITIALIZER };
	pool->idle = calloc(max, sizeof(*pool->idle));
	if (pool->idle && cmn_conditions_init(&pool->freed, &pool->unused))
		return true;
	free(pool->idle);
	return false;
}

/* Closes all idle sessions that have not been used since the time. */
static void close_idle(struct storage_pool *pool, uint64_t since)
{
	void *session;

	do {
		session = NULL;
		cmn_mutex_lock(&pool->lock);
		if (pool->idle_count && pool->idle[0].since < since) {
			session = pool->idle[0].session;
			pool->idle_count--;
			pool->count--;
			for (size_t i = 0; i < pool->idle_count; i++)
				pool->idle[i] = pool->idle[i + 1];
			(void)pthread_cond_signal(&pool->freed);	/* cannot fail */
		}
		cmn_mutex_unlock(&pool->lock);
		if (session)
			pool->backend->close(session);
	} while (session);
}

/* One session less. */
static void leave(struct storage_pool *pool)
{
	cmn_mutex_lock(&pool->lock);
	pool->count--;
	(void)pthread_cond_signal(&pool->freed);	/* cannot fail */
	cmn_mutex_unlock(&pool->lock);
}

enum storage_result storage_pool_take(struct storage_pool *pool, uint64_t until,
				      void **ret_session, bool *ret_is_new,
				      struct storage_error *error)
{
	uint64_t now = cmn_clock_monotonic();
	enum storage_result result;
	bool in_time = true;

	close_idle(pool, now > MAX_IDLE_NS ? now - MAX_IDLE_NS : 0);
	cmn_mutex_lock(&pool->lock);
	while (in_time && !pool->idle_count && pool->count == pool->max)
		in_time = cmn_condition_wait(&pool->freed, &pool->lock, until);
	if (pool->idle_count) {
		*ret_session = pool->idle[--pool->idle_count].session;
		*ret_is_new = false;
		cmn_mutex_unlock(&pool->lock);
		return STORAGE_OK;
	}
	if (pool->count == pool->max) {
		cmn_mutex_unlock(&pool->lock);
		storage_error_set(error, "all %zu connections wait for the storage", pool->max);
		return STORAGE_DOWN;
	}
	pool->count++;
	cmn_mutex_unlock(&pool->lock);
	result = pool->backend->open(pool->ctx, ret_session, error);
	*ret_is_new = true;
	if (result != STORAGE_OK)
		leave(pool);
	return result;
}

void storage_pool_give(struct storage_pool *pool, void *session)
{
	cmn_mutex_lock(&pool->lock);
	pool->idle[pool->idle_count++] =
		(struct storage_pool_session){ session, cmn_clock_monotonic() };
	(void)pthread_cond_signal(&pool->freed);	/* cannot fail */
	cmn_mutex_unlock(&pool->lock);
}

void storage_pool_drop(struct storage_pool *pool, void *session)
{
	pool->backend->close(session);
	leave(pool);
	close_idle(pool, UINT64_MAX);
}
