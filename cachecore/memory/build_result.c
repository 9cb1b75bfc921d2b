/* SPDX-License-Identifier: MIT */
/*
 * build_result: one producer, many consumers. Nothing here knows of maps or
 * of the cache's lock.
 */
#include "cachecore/memory/build_result.h"

#include <stdlib.h>
#include <string.h>

struct build_result *cc_build_result_new(const struct cc_value_ops *ops)
{
	struct build_result *result = calloc(1, sizeof(*result));

	if (!result)
		return NULL;
	if (pthread_mutex_init(&result->lock, NULL) != 0)
		goto free_result;
	if (pthread_cond_init(&result->built, NULL) != 0)
		goto destroy_lock;
	result->ops = ops;
	atomic_init(&result->refs, 1);
	atomic_init(&result->state, BUILD_UNCLAIMED);
	atomic_init(&result->value, NULL);
	return result;

destroy_lock:
	(void)pthread_mutex_destroy(&result->lock);	/* nobody has it */
free_result:
	free(result);
	return NULL;
}

struct build_result *cc_build_result_new_with(const struct cc_value_ops *ops, void *value,
					   size_t size)
{
	struct build_result *result = cc_build_result_new(ops);

	if (!result)
		return NULL;
	atomic_init(&result->value, value);
	result->size = size;
	atomic_init(&result->state, BUILD_SUCCEEDED);
	return result;
}

struct build_result *cc_build_result_ref(struct build_result *result)
{
	/* The caller's reference keeps it alive, so nothing has to be ordered. */
	atomic_fetch_add_explicit(&result->refs, 1, memory_order_relaxed);
	return result;
}

void cc_build_result_unref(struct build_result *result)
{
	/* Release: our use comes before; acquire: everybody's use comes before the end. */
	if (!result ||
	    atomic_fetch_sub_explicit(&result->refs, 1, memory_order_acq_rel) != 1)
		return;
	if (cc_build_result_state(result) == BUILD_SUCCEEDED && result->ops->release)
		result->ops->release(atomic_load_explicit(&result->value, memory_order_relaxed));
	free(result->error_message);
	(void)pthread_cond_destroy(&result->built);	/* no reference, so no waiter */
	(void)pthread_mutex_destroy(&result->lock);
	free(result);
}

enum build_state cc_build_result_state(const struct build_result *result)
{
	return atomic_load_explicit(&result->state, memory_order_acquire);
}

void *cc_build_result_take(struct build_result *result)
{
	void *value = atomic_load_explicit(&result->value, memory_order_acquire);

	if (result->ops->retain)
		result->ops->retain(value);
	return value;
}

/* Does not touch the mutex unless there is something to wait for. */
static enum build_state wait_until_built(struct build_result *result, bool *waited)
{
	enum build_state state = cc_build_result_state(result);

	if (state != BUILD_IN_PROGRESS)
		return state;
	*waited = true;
	pthread_mutex_lock(&result->lock);
	while ((state = cc_build_result_state(result)) == BUILD_IN_PROGRESS)
		pthread_cond_wait(&result->built, &result->lock);
	pthread_mutex_unlock(&result->lock);
	return state;
}

static void set_state(struct build_result *result, enum build_state state)
{
	/* Under the mutex, so that a waiter cannot miss it between its look and its sleep. */
	pthread_mutex_lock(&result->lock);
	atomic_store_explicit(&result->state, state, memory_order_release);
	pthread_cond_broadcast(&result->built);
	pthread_mutex_unlock(&result->lock);
}

void cc_build_result_publish(struct build_result *result, void *value, size_t size, bool transient)
{
	atomic_store_explicit(&result->value, value, memory_order_release);
	result->size = size;
	result->transient = transient;
	set_state(result, BUILD_SUCCEEDED);
}

void cc_build_result_fail(struct build_result *result, enum cmn_status status, int error_code,
			  char *error_message, bool remember)
{
	if (!error_message) {
		set_state(result, BUILD_UNCLAIMED);
		return;
	}
	result->status = status;
	result->error_code = error_code;
	result->error_message = error_message;
	/* What a remembered error takes counts as a value does: else nothing would bound them. */
	result->size = strlen(error_message) + 1;
	result->remember_error = remember;
	set_state(result, BUILD_FAILED);
}

enum cc_way cc_build_result_claim(struct build_result *result, struct cc_build_taken *ret)
{
	bool waited = false;

	*ret = (struct cc_build_taken){ .status = CMN_OK, .way = CC_WAY_BUILT };
	for (;;) {
		enum build_state state = BUILD_UNCLAIMED;

		if (atomic_compare_exchange_strong(&result->state, &state, BUILD_IN_PROGRESS))
			return CC_WAY_BUILT;
		state = wait_until_built(result, &waited);
		if (state == BUILD_SUCCEEDED || state == BUILD_FAILED)
			break;
		/*
		 * The builder's failure carried no error: it may be spurious, so
		 * compete to be the next builder. Each round one thread leaves
		 * with its own failure, so this ends.
		 */
	}
	ret->way = waited ? CC_WAY_WAITED : CC_WAY_FOUND;
	if (cc_build_result_state(result) == BUILD_SUCCEEDED) {
		ret->value = cc_build_result_take(result);
		return ret->way;
	}
	ret->status = result->status;
	ret->error_code = result->error_code;
	ret->error_message = strdup(result->error_message);	/* NULL: the code and status must do */
	return ret->way;
}
