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

static bool claim(struct build_result *result)
{
	enum build_state expected = BUILD_UNCLAIMED;

	return atomic_compare_exchange_strong(&result->state, &expected, BUILD_IN_PROGRESS);
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

static void publish(struct build_result *result, enum build_state state)
{
	/* Under the mutex, so that a waiter cannot miss it between its look and its sleep. */
	pthread_mutex_lock(&result->lock);
	atomic_store_explicit(&result->state, state, memory_order_release);
	pthread_cond_broadcast(&result->built);
	pthread_mutex_unlock(&result->lock);
}

static enum cmn_status run(const struct build_request *request, struct cc_build_output *output)
{
	enum cmn_status status;

	*output = (struct cc_build_output){ 0 };
	status = request->build(request->ctx, output);
	if (status == CMN_ERR_NOMEM) {
		free(output->error_message);
		*output = (struct cc_build_output){ 0 };
		request->make_room(request->room);
		status = request->build(request->ctx, output);
	}
	/* A success without a value would have every taker use NULL. */
	if (status == CMN_OK && !output->value)
		status = CMN_ERR_INVALID;
	if (status == CMN_OK) {
		free(output->error_message);
		output->error_message = NULL;
	}
	return status;
}

static void copy_error(const struct build_result *result, struct cc_build_taken *ret)
{
	ret->error_code = result->error_code;
	ret->error_message = strdup(result->error_message);	/* NULL: the code and status must do */
}

static enum cmn_status build(struct build_result *result, const struct build_request *request,
			     struct cc_build_taken *ret)
{
	struct cc_build_output output;
	enum cmn_status status = run(request, &output);

	if (status == CMN_OK) {
		atomic_store_explicit(&result->value, output.value, memory_order_release);
		result->size = output.size;
		result->transient = output.transient;
		publish(result, BUILD_SUCCEEDED);
		ret->value = cc_build_result_take(result);
	} else if (output.error_message) {
		result->status = status;
		result->error_code = output.error_code;
		result->error_message = output.error_message;
		/* What a remembered error takes counts as a value does: else nothing would bound them. */
		result->size = strlen(output.error_message) + 1;
		result->remember_error = request->remember_errors;
		publish(result, BUILD_FAILED);
		copy_error(result, ret);
	} else {
		ret->error_code = output.error_code;
		publish(result, BUILD_UNCLAIMED);
	}
	return status;
}

enum cmn_status cc_build_result_obtain(struct build_result *result,
				    const struct build_request *request,
				    struct cc_build_taken *ret)
{
	bool waited = false;

	*ret = (struct cc_build_taken){ 0 };
	for (;;) {
		enum build_state state;

		if (claim(result)) {
			ret->way = CC_WAY_BUILT;
			return build(result, request, ret);
		}
		state = wait_until_built(result, &waited);
		ret->way = waited ? CC_WAY_WAITED : CC_WAY_FOUND;
		if (state == BUILD_SUCCEEDED) {
			ret->value = cc_build_result_take(result);
			return CMN_OK;
		}
		if (state == BUILD_FAILED) {
			copy_error(result, ret);
			return result->status;
		}
		/*
		 * The builder's failure carried no error: it may be spurious, so
		 * compete to be the next builder. Each round one thread leaves
		 * with its own failure, so this ends.
		 */
	}
}

enum cmn_status build_without_cache(const struct build_request *request,
				    struct cc_build_taken *ret)
{
	struct cc_build_output output;
	enum cmn_status status = run(request, &output);

	*ret = (struct cc_build_taken){ .way = CC_WAY_BUILT };
	if (status == CMN_OK) {
		ret->value = output.value;
	} else {
		ret->error_code = output.error_code;
		ret->error_message = output.error_message;
	}
	return status;
}
