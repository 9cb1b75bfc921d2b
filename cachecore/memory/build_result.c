/* SPDX-License-Identifier: MIT */
/* build_result: one producer, many consumers. Nothing here knows of maps or of their lock. */
#include "cachecore/memory/build_result.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cancel.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "common/worker.h"

#define NS_PER_S UINT64_C(1000000000)

void *cc_build_result_new(const struct cc_value_ops *ops, size_t size)
{
	struct build_result *result = calloc(1, size);

	if (!result)
		return NULL;
	(void)pthread_mutex_init(&result->lock, NULL);	/* default ones do not fail */
	(void)pthread_cond_init(&result->built, NULL);
	result->ops = ops;
	atomic_init(&result->refs, 1);
	atomic_init(&result->state, BUILD_UNCLAIMED);
	atomic_init(&result->value, NULL);
	return result;
}

void cc_build_result_free(struct build_result *result)
{
	if (cc_build_result_state(result) == BUILD_SUCCEEDED && result->ops->release)
		result->ops->release(atomic_load_explicit(&result->value, memory_order_relaxed));
	free(result->error_message);
	(void)pthread_cond_destroy(&result->built);	/* no reference, so no waiter */
	(void)pthread_mutex_destroy(&result->lock);
	free(result);
}

/* BUILD_IN_PROGRESS: it is no use to wait. */
static enum build_state wait_until_built(struct build_result *result)
{
	CMN_NOT_CANCELLED;
	struct cmn_watch watch = { 0 };
	enum build_state state;
	bool idle = false;

	cmn_mutex_lock(&result->lock);
	while ((state = cc_build_result_state(result)) == BUILD_IN_PROGRESS && !idle) {
		const struct cmn_worker builder = { getpid(), atomic_load(&result->builder) };
		uint64_t now = cmn_clock_monotonic(), until = now + CMN_WORKER_LOOK_NS;
		const struct timespec look = { (time_t)(until / NS_PER_S), (long)(until % NS_PER_S) };

		(void)pthread_cond_clockwait(&result->built, &result->lock, CLOCK_MONOTONIC, &look);
		if (!builder.thread || cc_build_result_state(result) != BUILD_IN_PROGRESS)
			continue;
		cmn_mutex_unlock(&result->lock);
		idle = cmn_watch_is_idle(&watch, &builder, atomic_load(&result->waits), cmn_clock_monotonic());
		cmn_mutex_lock(&result->lock);
	}
	cmn_mutex_unlock(&result->lock);
	return state;
}

enum cc_way cc_build_result_claim(struct build_result *result, struct cc_build_taken *ret)
{
	enum build_state state;

	*ret = (struct cc_build_taken){ .status = CMN_OK, .way = CC_WAY_BUILD };
	if (!result)
		return CC_WAY_BUILD;
	state = cc_build_result_state(result);
	ret->way = CC_WAY_FOUND;
	while (state != BUILD_SUCCEEDED && state != BUILD_FAILED) {
		/*
		 * Who waits for a builder whose failure carries no error, which may be
		 * spurious, competes to be the next one. Each round one thread leaves
		 * with its own failure, so this ends.
		 */
		if (state == BUILD_UNCLAIMED &&
		    atomic_compare_exchange_strong(&result->state, &state, BUILD_IN_PROGRESS)) {
			atomic_store(&result->waits, false);
			atomic_store(&result->builder, gettid());
			ret->way = CC_WAY_BUILD;
			return ret->way;
		}
		if (state == BUILD_IN_PROGRESS && atomic_load(&result->builder) != gettid()) {
			ret->way = CC_WAY_WAITED;
			state = wait_until_built(result);
		}
		if (state == BUILD_IN_PROGRESS) {
			ret->status = CMN_BUSY;
			ret->way = CC_WAY_BUILD;
			return ret->way;
		}
	}
	if (state == BUILD_SUCCEEDED) {
		ret->value = cc_build_result_take(result);
		return ret->way;
	}
	ret->status = result->status;
	ret->error_code = result->error_code;
	ret->error_message = strdup(result->error_message);	/* NULL: the code and status must do */
	return ret->way;
}

static void end_build(struct build_result *result, enum build_state state)
{
	/* Under the mutex, so that a waiter cannot miss it between its look and its sleep. */
	cmn_mutex_lock(&result->lock);
	atomic_store(&result->builder, 0);
	atomic_store_explicit(&result->state, state, memory_order_release);
	pthread_cond_broadcast(&result->built);
	cmn_mutex_unlock(&result->lock);
}

void cc_build_result_publish(struct build_result *result, void *value, size_t size, bool transient)
{
	atomic_store_explicit(&result->value, value, memory_order_release);
	result->size = size;
	result->transient = transient;
	end_build(result, BUILD_SUCCEEDED);
}

void cc_build_result_fail(struct build_result *result, enum cmn_status status, int error_code,
			  char *error_message, bool remember)
{
	if (!error_message) {
		end_build(result, BUILD_UNCLAIMED);
		return;
	}
	result->status = status;
	result->error_code = error_code;
	result->error_message = error_message;
	/* What a remembered error takes counts as a value does: else nothing would bound them. */
	result->size = strlen(error_message) + 1;
	result->remember_error = remember;
	end_build(result, BUILD_FAILED);
}
