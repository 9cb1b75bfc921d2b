/* SPDX-License-Identifier: MIT */
/*
 * Tests of the in-memory level, sentence by sentence after the SYCL
 * KernelProgramCache document: "In-memory cache", "Thread-safety", "Core of
 * caching mechanism" and "In-memory cache eviction".
 */
#include "tests/unit/cachecore/memory/maps.h"

#include <malloc.h>
#include <semaphore.h>

#include "common/clock.h"
#include "tests/support/no_memory.h"
#include "tests/support/wrap.h"

/* "the first thread to request it ... will then execute the build"; then "Build result is available" */
TEST(first_request_builds_and_second_finds)
{
	struct script script = { .size = 5 };
	struct cc_build_taken first, second;

	CU_ASSERT_EQUAL(obtain("key", NULL, &script, &first), CMN_OK);
	CU_ASSERT_EQUAL(first.way, CC_WAY_BUILD);
	CU_ASSERT_EQUAL(obtain("key", NULL, &script, &second), CMN_OK);
	CU_ASSERT_EQUAL(second.way, CC_WAY_FOUND);
	CU_ASSERT_PTR_EQUAL(first.value, second.value);
	CU_ASSERT_EQUAL(atomic_load(&script.calls), 1);
	CU_ASSERT_EQUAL(usage_of().programs, 1);
	CU_ASSERT_EQUAL(usage_of().bytes, 5);
	value_unref(first.value);
	value_unref(second.value);
}

/* Keys are compared in full: alike ones in every length, differing in one byte anywhere. */
TEST(keys_that_differ_in_one_byte_are_two)
{
	static const size_t lengths[] = { 1, 8, 127, 128, 129, 4096 };
	struct cc_programs_usage usage;
	unsigned char key[4096];
	size_t added = 0;

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		size_t len = lengths[i];
		size_t step = len > 64 ? len / 61 : 1;

		for (size_t at = 0; at < len; at += step) {
			const struct cmn_view view = { key, len };
			struct value *value = value_new(PROGRAM);
			void *got;

			memset(key, 'k', len);
			key[at] ^= 1;
			CU_ASSERT_EQUAL(cc_programs_get(programs, view, &got), CMN_MISS);
			CU_ASSERT_EQUAL(cc_programs_put(programs, view, value, 1), CMN_OK);
			CU_ASSERT_EQUAL_FATAL(cc_programs_get(programs, view, &got), CMN_OK);
			CU_ASSERT_PTR_EQUAL(got, value);
			value_unref(got);
			added++;
		}
	}
	usage = usage_of();
	CU_ASSERT_EQUAL(usage.programs, added);
	CU_ASSERT_EQUAL(usage.bytes, added);
}

/* "The kernels map's key consists of two components: the program ..., kernel name" */
TEST(kernels_are_found_by_program_and_name)
{
	static const char *const keys[] = { "a", "b", "" };
	void *first[3], *value;

	for (size_t i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL(use(keys[i], NULL, 1), CC_WAY_BUILD);
		CU_ASSERT_EQUAL(use(keys[i], "", 0), CC_WAY_BUILD);
		CU_ASSERT_EQUAL(use(keys[i], "k", 0), CC_WAY_BUILD);
		CU_ASSERT_EQUAL_FATAL(cc_kernels_get(programs, cmn_view_of(keys[i]), cmn_view_of("k"), &first[i]),
				      CMN_OK);
		value_unref(first[i]);
	}
	for (size_t i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL(use(keys[i], NULL, 1), CC_WAY_FOUND);
		CU_ASSERT_EQUAL(use(keys[i], "k", 0), CC_WAY_FOUND);
		CU_ASSERT_EQUAL_FATAL(cc_kernels_get(programs, cmn_view_of(keys[i]), cmn_view_of("k"), &value),
				      CMN_OK);
		CU_ASSERT_PTR_EQUAL(value, first[i]);
		value_unref(value);
	}
	CU_ASSERT_PTR_NOT_EQUAL(first[0], first[1]);
	CU_ASSERT_PTR_NOT_EQUAL(first[1], first[2]);
	/* What is not there is not removed. */
	cc_programs_remove(programs, cmn_view_of("none"), NULL);
	cc_kernels_remove(programs, cmn_view_of("none"), cmn_view_of("k"), NULL);
	cc_kernels_remove(programs, cmn_view_of("a"), cmn_view_of("none"), NULL);
	CU_ASSERT_EQUAL(usage_of().kernels, 6);
}

TEST(callbacks_may_be_left_out)
{
	struct cc_programs *without = cc_programs_new(0, NULL, NULL);

	CU_ASSERT_PTR_NOT_NULL_FATAL(without);
	CU_ASSERT_EQUAL(cc_programs_put(without, cmn_view_of("key"), &without, 1), CMN_OK);
	cc_programs_free(without);
}

/* So long that it is not copied while it is built for: afterwards the caller's memory is its own again. */
TEST(a_long_key_is_the_maps_own_afterwards)
{
	enum { LEN = 200000 };
	char *key = malloc(LEN), *same = malloc(LEN);
	const struct cmn_view view = { key, LEN };
	void *value;

	CU_ASSERT_FATAL(key && same);
	memset(same, 'a', LEN);
	for (int is_put = 0; is_put < 2; is_put++) {
		struct script script = { .size = 1 };
		struct cc_build_taken taken;

		memset(key, 'a', LEN);
		if (is_put) {
			CU_ASSERT_EQUAL(cc_programs_put(programs, view, value_new(PROGRAM), 1), CMN_OK);
		} else {
			CU_ASSERT_EQUAL(api_build_program(programs, view, run_script, &script, false, &taken), CMN_OK);
			value_unref(taken.value);
		}
		/* The address stays, and what is there is as long. */
		memset(key, 'b', LEN - 1);
		CU_ASSERT_EQUAL(cc_programs_get(programs, view, &value), CMN_MISS);
		CU_ASSERT_EQUAL_FATAL(cc_programs_get(programs, (struct cmn_view){ same, LEN }, &value), CMN_OK);
		value_unref(value);
		cc_programs_flush(programs);
	}
	free(same);
	free(key);
}

static enum cachecore_status build_transient(void *ctx, struct cachecore_build_output *ret)
{
	enum cachecore_status status = run_script(ctx, ret);

	ret->transient = true;
	return status;
}

TEST(a_transient_value_is_given_and_not_kept)
{
	struct script script = { .size = 1 };
	struct cc_build_taken taken;

	for (int i = 1; i <= 2; i++) {
		CU_ASSERT_EQUAL(api_build_program(programs, cmn_view_of("key"), build_transient, &script, false,
						  &taken), CMN_OK);
		CU_ASSERT_EQUAL(taken.way, CC_WAY_BUILD);
		value_unref(taken.value);
		CU_ASSERT_EQUAL(script.calls, i);
		CU_ASSERT_FALSE(is_there("key"));
	}
	CU_ASSERT_EQUAL(usage_of().bytes, 0);
}

static enum cachecore_status build_with_another(void *ctx, struct cachecore_build_output *ret)
{
	(void)ctx;
	CU_ASSERT_EQUAL(use("inner", NULL, 1), CC_WAY_BUILD);
	ret->value = value_new(PROGRAM);
	return CACHECORE_OK;
}

TEST(build_may_use_the_cache)
{
	struct cc_build_taken taken;

	CU_ASSERT_EQUAL(api_build_program(programs, cmn_view_of("outer"), build_with_another, NULL, false, &taken),
			CMN_OK);
	value_unref(taken.value);
	CU_ASSERT_TRUE(is_there("inner"));
}

/* As a driver's does whose application builds the same in a callback, which fails at first. */
static enum cachecore_status build_in_build(void *ctx, struct cachecore_build_output *ret)
{
	struct build_result *alone = ctx;
	struct script script = { .failures = 1, .failure = CMN_ERR_DRIVER, .message = "inner" };
	const struct api_request request = { .build = run_script, .ctx = &script };
	struct cc_build_taken taken;

	for (int i = 0; i < 2; i++) {
		enum cmn_status status = alone ? api_build_result(alone, &request, &taken) :
						 obtain("outer", NULL, &script, &taken);

		CU_ASSERT_EQUAL(status, i ? CMN_OK : CMN_ERR_DRIVER);
		CU_ASSERT_EQUAL(taken.way, CC_WAY_BUILD);
		CU_ASSERT_TRUE(alone || users_of("outer", NULL) == 1);	/* others still wait for this one */
		if (status == CMN_OK)
			value_unref(taken.value);
		else
			free(taken.error_message);
	}
	ret->value = value_new(PROGRAM);
	return CACHECORE_OK;
}

TEST(build_waits_for_no_build_that_its_thread_began)
{
	const struct api_request request = { .build = build_in_build };
	struct api_request with_result = request;
	struct build_result *result = cc_build_result_new(&program_ops, sizeof(*result));
	struct cc_build_taken taken;

	(void)alarm(20);
	CU_ASSERT_EQUAL(api_build_program(programs, cmn_view_of("outer"), request.build, NULL, false, &taken), CMN_OK);
	value_unref(taken.value);
	CU_ASSERT_EQUAL(users_of("outer", NULL), 0);
	CU_ASSERT_EQUAL(use("outer", NULL, 1), CC_WAY_FOUND);
	CU_ASSERT_PTR_NOT_NULL_FATAL(result);
	with_result.ctx = result;
	CU_ASSERT_EQUAL(api_build_result(result, &with_result, &taken), CMN_OK);
	value_unref(taken.value);
	CU_ASSERT_EQUAL(cc_build_result_state(result), BUILD_SUCCEEDED);
	cc_build_result_unref(result);
	(void)alarm(0);
}

enum slow_kind { IDLE, WORKS, WAITS, SLOW_KINDS };	/* the last two for longer than who does nothing is waited for */

struct slow_build {
	struct build_result *result;
	sem_t claimed, goes_on;
	enum slow_kind kind;
};

static void *build_slowly(void *arg)
{
	struct slow_build *slow = arg;
	struct cc_build_taken taken;

	CU_ASSERT_EQUAL(cc_build_result_claim(slow->result, &taken), CC_WAY_BUILD);
	atomic_store(&slow->result->waits, slow->kind == WAITS);
	(void)sem_post(&slow->claimed);
	if (slow->kind == IDLE) {
		(void)sem_wait(&slow->goes_on);
	} else if (slow->kind == WAITS) {
		(void)usleep(1500000);
	} else {
		for (uint64_t until = cmn_clock_processor() + UINT64_C(1500000000); cmn_clock_processor() < until;)
			;
	}
	cc_build_result_publish(slow->result, value_new(PROGRAM), 1, false);
	return NULL;
}

/* As who holds what a callback of that build's driver waits for; but who compiles, or waits itself, is waited for. */
TEST(who_builds_and_does_nothing_is_not_waited_for)
{
	struct cc_build_taken taken;
	pthread_t thread;

	(void)alarm(60);
	for (enum slow_kind kind = IDLE; kind < SLOW_KINDS; kind++) {
		struct slow_build slow = { .kind = kind };

		slow.result = cc_build_result_new(&program_ops, sizeof(*slow.result));
		CU_ASSERT_PTR_NOT_NULL_FATAL(slow.result);
		CU_ASSERT_EQUAL(sem_init(&slow.claimed, 0, 0) + sem_init(&slow.goes_on, 0, 0), 0);
		CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, build_slowly, &slow), 0);
		(void)sem_wait(&slow.claimed);
		CU_ASSERT_EQUAL(cc_build_result_claim(slow.result, &taken), kind == IDLE ? CC_WAY_BUILD : CC_WAY_WAITED);
		CU_ASSERT_EQUAL(taken.status, kind == IDLE ? CMN_BUSY : CMN_OK);
		if (kind != IDLE)
			value_unref(taken.value);
		(void)sem_post(&slow.goes_on);
		CU_ASSERT_EQUAL(pthread_join(thread, NULL), 0);
		CU_ASSERT_EQUAL(cc_build_result_claim(slow.result, &taken), CC_WAY_FOUND);
		value_unref(taken.value);
		cc_build_result_unref(slow.result);
	}
	(void)alarm(0);
}

/* The builder leaves before the waiter has woken up. */
TEST(who_will_retry_keeps_the_result_in_the_map)
{
	struct script failing = { .failure = CMN_ERR_DRIVER, .failures = 1, .closed = true };
	struct caller builder = { .key = "key", .script = &failing };
	struct program_record *program;

	renew(30);
	begin_build(&builder);
	cc_programs_lock_and_find(programs, cmn_view_of("key"), NULL, &program)->users++;
	pthread_mutex_unlock(&programs->lock);
	end_build(&builder);
	CU_ASSERT_EQUAL(users_of("key", NULL), 1);
	/* Nor does it go for others, as what is built does not. */
	CU_ASSERT_EQUAL(use("large", NULL, 31), CC_WAY_BUILD);
	CU_ASSERT_FALSE(is_there("large"));
	CU_ASSERT_EQUAL(users_of("key", NULL), 1);
}

/* Every thread's failure is its own where none carries an error: as many builds as threads, and an end. */
TEST(spurious_failures_of_all_threads_end)
{
	struct script script = { .failure = CMN_ERR_DRIVER, .failures = THREADS, .closed = true };
	struct caller callers[THREADS];

	for (size_t i = 0; i < THREADS; i++) {
		callers[i] = (struct caller){ .key = "key", .script = &script };
		caller_start(&callers[i]);
	}
	wait_for(&script.started, true);
	atomic_store(&script.closed, false);
	for (size_t i = 0; i < THREADS; i++) {
		caller_join(&callers[i]);
		CU_ASSERT_EQUAL(callers[i].status, CMN_ERR_DRIVER);
	}
	CU_ASSERT_EQUAL(atomic_load(&script.calls), THREADS);
	CU_ASSERT_EQUAL(usage_of().programs, 0);
}

TEST(failure_is_dropped_unless_remembered)
{
	struct script script = { .failure = CMN_ERR_DRIVER, .failures = 1, .error_code = 7, .message = "no" };
	struct cc_build_taken taken;

	CU_ASSERT_EQUAL(obtain("key", NULL, &script, &taken), CMN_ERR_DRIVER);
	free(taken.error_message);
	CU_ASSERT_EQUAL(usage_of().programs, 0);
	CU_ASSERT_EQUAL(obtain("key", NULL, &script, &taken), CMN_OK);
	CU_ASSERT_EQUAL(taken.way, CC_WAY_BUILD);
	value_unref(taken.value);
}

TEST(remembered_failure_stays_until_removed)
{
	struct script script = { .failure = CMN_ERR_DRIVER, .failures = 1, .error_code = 7, .message = "no" };
	struct cc_build_taken taken;

	for (int i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL(obtain_remembered("key", &script, &taken), CMN_ERR_DRIVER);
		CU_ASSERT_EQUAL(taken.way, i ? CC_WAY_FOUND : CC_WAY_BUILD);
		CU_ASSERT_EQUAL(taken.error_code, 7);
		CU_ASSERT_STRING_EQUAL(taken.error_message, "no");
		free(taken.error_message);
	}
	CU_ASSERT_EQUAL(atomic_load(&script.calls), 1);
	CU_ASSERT_FALSE(is_there("key"));
	cc_programs_remove(programs, cmn_view_of("key"), NULL);
	CU_ASSERT_EQUAL(use("key", NULL, 1), CC_WAY_BUILD);
}

TEST(remembered_failure_makes_place_for_a_put)
{
	struct script script = { .failure = CMN_ERR_DRIVER, .failures = 1, .message = "no" };
	struct cc_build_taken taken;

	CU_ASSERT_EQUAL(obtain_remembered("key", &script, &taken), CMN_ERR_DRIVER);
	free(taken.error_message);
	CU_ASSERT_EQUAL(put("key", value_new(PROGRAM), 2), CMN_OK);
	CU_ASSERT_TRUE(is_there("key"));
	/* The failure does not come back when that is gone. */
	CU_ASSERT_EQUAL(usage_of().programs, 1);
	cc_programs_remove(programs, cmn_view_of("key"), NULL);
	CU_ASSERT_EQUAL(usage_of().programs, 0);
	CU_ASSERT_EQUAL(obtain("key", NULL, &script, &taken), CMN_OK);
	value_unref(taken.value);
}

static enum cachecore_status build_nothing(void *ctx, struct cachecore_build_output *ret)
{
	(void)ctx;
	(void)ret;
	return CACHECORE_OK;
}

TEST(success_without_a_value_is_a_failure)
{
	struct cc_build_taken taken;

	CU_ASSERT_EQUAL(api_build_program(programs, cmn_view_of("key"), build_nothing, NULL, false, &taken),
			CMN_ERR_INVALID);
	CU_ASSERT_EQUAL(usage_of().programs, 0);
}

TEST(flush_takes_everything_and_a_taken_value_stays_valid)
{
	struct cc_programs_usage usage;
	void *got;

	CU_ASSERT_EQUAL(use("a", NULL, 1), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(use("b", NULL, 1), CC_WAY_BUILD);
	(void)add_fast_kernel("a", "kernel", 0);
	CU_ASSERT_EQUAL_FATAL(cc_programs_get(programs, cmn_view_of("a"), &got), CMN_OK);
	cc_programs_flush(programs);
	usage = usage_of();
	CU_ASSERT_EQUAL(usage.programs + usage.kernels + usage.fast_kernels + usage.bytes, 0);
	CU_ASSERT_EQUAL(refs_of(got), 1);
	CU_ASSERT_EQUAL(atomic_load(&alive[PROGRAM]), 1);
	CU_ASSERT_EQUAL(atomic_load(&alive[KERNEL]), 0);
	value_unref(got);
}

TEST(build_in_progress_during_a_flush_is_given_but_not_kept)
{
	struct script script = { .closed = true };
	struct caller caller = { .key = "key", .script = &script };

	begin_build(&caller);
	cc_programs_flush(programs);
	end_build(&caller);
	CU_ASSERT_EQUAL(caller.status, CMN_OK);
	CU_ASSERT_FALSE(is_there("key"));
	CU_ASSERT_EQUAL(usage_of().bytes, 0);
}

/* "Eviction in in-memory cache is disabled by default" */
TEST(threshold_zero_never_evicts)
{
	for (char key[] = "a"; key[0] <= 'z'; key[0]++)
		CU_ASSERT_EQUAL(use(key, NULL, 1u << 30), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(usage_of().programs, 26);
}

TEST(put_evicts_as_a_build_does)
{
	renew(30);
	CU_ASSERT_EQUAL(use("a", NULL, 20), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(put("b", value_new(PROGRAM), 20), CMN_OK);
	CU_ASSERT_FALSE(is_there("a"));
	CU_ASSERT_TRUE(is_there("b"));
}

/* "until the cache size is below the threshold": also where the newest alone is larger */
TEST(value_larger_than_the_threshold_is_given_but_not_kept)
{
	struct script script = { .size = 31 };
	struct cc_build_taken taken;

	renew(30);
	CU_ASSERT_EQUAL(obtain("big", NULL, &script, &taken), CMN_OK);
	CU_ASSERT_EQUAL(taken.way, CC_WAY_BUILD);
	CU_ASSERT_FALSE(is_there("big"));
	CU_ASSERT_EQUAL(refs_of(taken.value), 1);
	value_unref(taken.value);
}

TEST(program_in_progress_is_not_evicted)
{
	struct script script = { .closed = true, .size = 10 };
	struct caller caller = { .key = "slow", .script = &script };

	renew(30);
	begin_build(&caller);			/* the first of the eviction list */
	CU_ASSERT_EQUAL(use("a", NULL, 30), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(use("b", NULL, 20), CC_WAY_BUILD);
	CU_ASSERT_FALSE(is_there("a"));
	CU_ASSERT_EQUAL(usage_of().programs, 2);
	end_build(&caller);
	CU_ASSERT_TRUE(is_there("slow"));
	CU_ASSERT_TRUE(is_there("b"));
	CU_ASSERT_EQUAL(usage_of().bytes, 30);
}

/* "When a program is deleted from the cache, we also evict its corresponding kernels from both" */
TEST(eviction_takes_the_kernels_in_both_maps)
{
	renew(30);
	CU_ASSERT_EQUAL(use("a", NULL, 20), CC_WAY_BUILD);
	(void)add_fast_kernel("a", "k1", 0);
	(void)add_fast_kernel("a", "k2", 0);
	CU_ASSERT_EQUAL(usage_of().kernels, 2);
	CU_ASSERT_EQUAL(usage_of().fast_kernels, 2);
	CU_ASSERT_EQUAL(use("b", NULL, 20), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(usage_of().kernels, 0);
	CU_ASSERT_EQUAL(usage_of().fast_kernels, 0);
	CU_ASSERT_PTR_NULL(get_fast_kernel("k1", 0));
	CU_ASSERT_EQUAL(atomic_load(&alive[PROGRAM]), 1);
	CU_ASSERT_EQUAL(atomic_load(&alive[KERNEL]), 0);
	CU_ASSERT_EQUAL(use("a", NULL, 20), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(use("a", "k1", 0), CC_WAY_BUILD);
}

/* Its kernel "k", taken. */
static enum cmn_status put_kernel(const char *key, struct value *value)
{
	return cc_kernels_put(programs, cmn_view_of(key), cmn_view_of("k"), value);
}

TEST(kernel_in_progress_goes_with_its_program)
{
	struct script script = { .closed = true };
	struct caller caller = { .key = "key", .kernel = "k", .script = &script };

	CU_ASSERT_EQUAL(use("key", NULL, 1), CC_WAY_BUILD);
	begin_build(&caller);
	cc_programs_remove(programs, cmn_view_of("key"), NULL);
	CU_ASSERT_EQUAL(use("key", NULL, 1), CC_WAY_BUILD);
	end_build(&caller);
	CU_ASSERT_EQUAL(caller.status, CMN_OK);
	CU_ASSERT_EQUAL(usage_of().kernels, 0);
}

TEST(kernel_of_a_program_that_is_being_built_is_not_kept)
{
	struct script script = { .closed = true };
	struct caller caller = { .key = "slow", .script = &script };

	begin_build(&caller);
	CU_ASSERT_EQUAL(use("slow", "k", 0), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(use("slow", "k", 0), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(put_kernel("slow", value_new(KERNEL)), CMN_MISS);
	CU_ASSERT_EQUAL(usage_of().kernels, 0);
	end_build(&caller);
	CU_ASSERT_EQUAL(usage_of().kernels, 0);
	CU_ASSERT_EQUAL(use("slow", "k", 0), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(use("slow", "k", 0), CC_WAY_FOUND);
}

TEST(kernel_that_failed_without_an_error_leaves_nothing)
{
	struct script script = { .failure = CMN_ERR_DRIVER, .failures = 1 };
	struct cc_build_taken taken;

	CU_ASSERT_EQUAL(use("a", NULL, 1), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(obtain("a", "k", &script, &taken), CMN_ERR_DRIVER);
	CU_ASSERT_EQUAL(usage_of().kernels, 0);
}

/* As a program's: the builder leaves before the waiter has woken up. */
TEST(who_will_retry_keeps_the_kernel_in_the_map)
{
	struct script failing = { .failure = CMN_ERR_DRIVER, .failures = 1, .closed = true };
	struct caller builder = { .key = "a", .kernel = "k", .script = &failing };
	const struct cmn_view name = cmn_view_of("k");
	struct program_record *program;

	CU_ASSERT_EQUAL(use("a", NULL, 1), CC_WAY_BUILD);
	begin_build(&builder);
	cc_programs_lock_and_find(programs, cmn_view_of("a"), &name, &program)->users++;
	pthread_mutex_unlock(&programs->lock);
	end_build(&builder);
	CU_ASSERT_EQUAL(users_of("a", "k"), 1);
}

TEST(kernel_that_is_being_built_is_not_given)
{
	struct script script = { .closed = true };
	struct caller caller = { .key = "a", .kernel = "k", .script = &script };

	CU_ASSERT_EQUAL(use("a", NULL, 1), CC_WAY_BUILD);
	begin_build(&caller);
	CU_ASSERT_FALSE(kernel_is_there("a", "k"));
	end_build(&caller);
	CU_ASSERT_TRUE(kernel_is_there("a", "k"));
}

/* Who comes now gets what was put, whatever the build comes to; the builder and its waiters have their own. */
static void put_during_a_build(const char *kernel, bool fails)
{
	struct script script = { .closed = true, .size = 100, .failure = CMN_ERR_DRIVER, .failures = fails,
				 .message = "no" };
	struct caller caller = { .key = "key", .kernel = kernel, .script = &script };
	struct value *value = value_new(kernel ? KERNEL : PROGRAM);

	if (kernel)
		CU_ASSERT_EQUAL(use("key", NULL, 10), CC_WAY_BUILD);
	begin_build(&caller);
	CU_ASSERT_EQUAL(kernel ? put_kernel("key", value) : put("key", value, 10), CMN_OK);
	for (int is_over = 0; is_over < 2; is_over++) {
		struct cc_build_taken taken;

		CU_ASSERT_EQUAL_FATAL(obtain("key", kernel, &script, &taken), CMN_OK);
		CU_ASSERT_EQUAL(taken.way, CC_WAY_FOUND);
		CU_ASSERT_PTR_EQUAL(taken.value, value);
		value_unref(taken.value);
		if (!is_over)
			end_build(&caller);
	}
	CU_ASSERT_EQUAL(caller.status, fails ? CMN_ERR_DRIVER : CMN_OK);
	CU_ASSERT_EQUAL(caller.taken.way, CC_WAY_BUILD);
	CU_ASSERT_EQUAL(usage_of().bytes, 10);
	CU_ASSERT_EQUAL(usage_of().kernels, kernel != NULL);
}

TEST(what_is_put_during_a_build_stays)
{
	for (int i = 0; i < 4; i++) {
		put_during_a_build(i & 1 ? "k" : NULL, i & 2);
		cc_programs_flush(programs);
	}
}

/* "a program is used when it or a kernel is fetched with its key": here the kernel was built before */
TEST(program_whose_kernel_is_fetched_or_put_moves_to_the_end)
{
	for (int is_put = 0; is_put < 2; is_put++) {
		renew(30);
		CU_ASSERT_EQUAL(use("a", NULL, 10), CC_WAY_BUILD);
		if (!is_put)
			CU_ASSERT_EQUAL(use("a", "k", 0), CC_WAY_BUILD);
		CU_ASSERT_EQUAL(use("b", NULL, 10), CC_WAY_BUILD);
		CU_ASSERT_EQUAL(use("c", NULL, 10), CC_WAY_BUILD);
		CU_ASSERT_TRUE(is_put ? put_kernel("a", value_new(KERNEL)) == CMN_OK : kernel_is_there("a", "k"));
		CU_ASSERT_EQUAL(use("d", NULL, 10), CC_WAY_BUILD);
		CU_ASSERT_TRUE(is_there("a"));
		CU_ASSERT_FALSE(is_there("b"));
	}
}

TEST(fast_kernel_put_again_leads_to_the_new_kernel)
{
	void *first, *second;

	CU_ASSERT_EQUAL(use("a", NULL, 1), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(use("b", NULL, 1), CC_WAY_BUILD);
	first = add_fast_kernel("a", "k", 1);
	CU_ASSERT_PTR_EQUAL(add_fast_kernel("a", "k", 1), first);
	second = add_fast_kernel("b", "k", 1);
	CU_ASSERT_PTR_EQUAL(get_fast_kernel("k", 1), second);
	CU_ASSERT_EQUAL(usage_of().fast_kernels, 1);
	cc_programs_remove(programs, cmn_view_of("a"), NULL);
	CU_ASSERT_PTR_EQUAL(get_fast_kernel("k", 1), second);
	cc_programs_remove(programs, cmn_view_of("b"), NULL);
	CU_ASSERT_PTR_NULL(get_fast_kernel("k", 1));
}

TEST(fast_kernel_needs_its_kernel_in_the_map)
{
	const struct cmn_view key = cmn_view_of("a"), name = cmn_view_of("k");
	struct value *stranger = value_new(KERNEL);

	CU_ASSERT_EQUAL(fast_kernel_put(programs, key, 0, programs, name, stranger), CMN_MISS);
	CU_ASSERT_EQUAL(use("a", NULL, 1), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(fast_kernel_put(programs, key, 0, programs, name, stranger), CMN_MISS);
	CU_ASSERT_EQUAL(use("a", "k", 0), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(fast_kernel_put(programs, key, 0, programs, name, stranger), CMN_MISS);
	CU_ASSERT_EQUAL(usage_of().fast_kernels, 0);
	value_unref(stranger);
}

/* Its name and its constants, which are compared in full, are the cache's own. */
TEST(fast_kernel_is_found_when_its_callers_memory_is_another_thing)
{
	char name[] = "k", constants[] = "1234";
	const struct fast_key key = { .device = programs, .name = cmn_view_of(name),
				      .constants = cmn_view_of(constants) };
	const struct fast_key same = { .device = programs, .name = cmn_view_of("k"),
				       .constants = cmn_view_of("1234") };
	struct value *value = value_new(KERNEL);
	void *got;

	CU_ASSERT_EQUAL(use("a", NULL, 1), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(put_kernel("a", value), CMN_OK);
	CU_ASSERT_EQUAL(cc_fast_kernel_put(programs, cmn_view_of("a"), value, &key), CMN_OK);
	memset(constants, 'x', sizeof(constants) - 1);
	CU_ASSERT_EQUAL_FATAL(fast_kernels_get(&programs->fast, &same, &got), CMN_OK);
	CU_ASSERT_PTR_EQUAL(got, value);
	value_unref(got);
	name[0] = 'x';
	CU_ASSERT_EQUAL_FATAL(fast_kernels_get(&programs->fast, &same, &got), CMN_OK);
	CU_ASSERT_PTR_EQUAL(got, value);
	value_unref(got);
}

/* -1: the processor that the thread is on. */
static int processor = -1;
static bool no_processor;
WRAPPED(int, sched_getcpu, (void))
{
	if (no_processor)
		return -1;
	return processor >= 0 ? processor : __real_sched_getcpu();
}

TEST(fast_kernel_is_found_and_gone_on_each_processor)
{
	void *first;

	CU_ASSERT_EQUAL(use("a", NULL, 1), CC_WAY_BUILD);
	first = add_fast_kernel("a", "k", 1);
	for (processor = 0; processor < FAST_KERNEL_SHARDS; processor++)
		CU_ASSERT_PTR_EQUAL(get_fast_kernel("k", 1), first);
	/* It cannot be told, as where a sandbox forbids the question. */
	no_processor = true;
	CU_ASSERT_PTR_EQUAL(get_fast_kernel("k", 1), first);
	no_processor = false;
	cc_programs_remove(programs, cmn_view_of("a"), NULL);
	for (processor = 0; processor < FAST_KERNEL_SHARDS; processor++)
		CU_ASSERT_PTR_NULL(get_fast_kernel("k", 1));
	processor = -1;
	for (size_t i = 0; i < FAST_KERNEL_SHARDS; i++)
		CU_ASSERT_PTR_NULL(programs->fast.shards[i].table);
}

TEST(many_fast_kernels_are_all_found)
{
	char name[32];
	void *kernels[300];

	CU_ASSERT_EQUAL(use("a", NULL, 1), CC_WAY_BUILD);
	for (int i = 0; i < 300; i++) {
		(void)snprintf(name, sizeof(name), "kernel_%d", i);
		kernels[i] = add_fast_kernel("a", name, 5);
	}
	for (int i = 0; i < 300; i++) {
		(void)snprintf(name, sizeof(name), "kernel_%d", i);
		CU_ASSERT_PTR_EQUAL(get_fast_kernel(name, 5), kernels[i]);
	}
	CU_ASSERT_EQUAL(usage_of().fast_kernels, 300);
	/* Two whose hashes are equal, whatever the device. */
	kernels[0] = add_fast_kernel("a", "kernel_197424", 5);
	(void)add_fast_kernel("a", "kernel_219733", 5);
	CU_ASSERT_PTR_EQUAL(get_fast_kernel("kernel_197424", 5), kernels[0]);
}

/* "If the application runs out-of-memory, ... we will evict all the items from program and kernel caches" */
/* Room is made, and what is built is kept all the same. */
TEST(without_memory_for_a_program_room_is_made)
{
	struct script script = { .size = 3 };
	struct cc_build_taken taken;

	calloc_fails = true;
	CU_ASSERT_EQUAL(obtain("key", NULL, &script, &taken), CMN_OK);
	CU_ASSERT_FALSE(calloc_fails);
	value_unref(taken.value);
	CU_ASSERT_TRUE(is_there("key"));
}

TEST(out_of_memory_flushes_everything_and_tries_once_more)
{
	struct script script = { .failure = CMN_ERR_NOMEM, .failures = 1, .message = "full", .size = 4 };
	struct cc_build_taken taken;

	CU_ASSERT_EQUAL(use("a", NULL, 1), CC_WAY_BUILD);
	(void)add_fast_kernel("a", "k", 0);
	CU_ASSERT_EQUAL(obtain("key", NULL, &script, &taken), CMN_OK);
	CU_ASSERT_EQUAL(atomic_load(&script.calls), 2);
	CU_ASSERT_EQUAL(taken.way, CC_WAY_BUILD);
	CU_ASSERT_PTR_NULL(taken.error_message);
	value_unref(taken.value);
	CU_ASSERT_FALSE(is_there("a"));
	CU_ASSERT_TRUE(is_there("key"));
	CU_ASSERT_EQUAL(usage_of().bytes, 4);
	CU_ASSERT_EQUAL(usage_of().kernels + usage_of().fast_kernels, 0);
}

TEST(out_of_memory_twice_is_a_failure)
{
	struct script script = { .failure = CMN_ERR_NOMEM, .failures = 2, .error_code = -6, .message = "full" };
	struct cc_build_taken taken;

	CU_ASSERT_EQUAL(obtain("key", NULL, &script, &taken), CMN_ERR_NOMEM);
	CU_ASSERT_EQUAL(atomic_load(&script.calls), 2);
	CU_ASSERT_EQUAL(taken.error_code, -6);
	CU_ASSERT_STRING_EQUAL(taken.error_message, "full");
	free(taken.error_message);
}

TEST(out_of_memory_in_a_kernel_flushes_its_program_too)
{
	struct script script = { .failure = CMN_ERR_NOMEM, .failures = 1 };
	struct cc_build_taken taken;

	CU_ASSERT_EQUAL(use("a", NULL, 1), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(obtain("a", "k", &script, &taken), CMN_OK);
	CU_ASSERT_EQUAL(atomic_load(&script.calls), 2);
	value_unref(taken.value);
	CU_ASSERT_EQUAL(usage_of().programs + usage_of().kernels, 0);
}

static struct value *program_value;
static unsigned int ended_before_its_program;

static void kernel_release_first(void *kernel)
{
	/* A kernel's end must come before its program's. */
	ended_before_its_program += program_value && refs_of(program_value) == 1;
	value_unref(kernel);
}

TEST(kernels_are_released_before_their_program)
{
	const struct cc_value_ops ops = { kernel_ops.retain, kernel_release_first };

	renew_with(0, &ops);
	program_value = value_new(PROGRAM);
	CU_ASSERT_EQUAL(put("a", program_value, 1), CMN_OK);
	(void)add_fast_kernel("a", "k", 0);
	cc_programs_flush(programs);
	program_value = NULL;
	CU_ASSERT_EQUAL(ended_before_its_program, 1);
}

/* In a forked child nobody finishes the parent's builds: they are tried anew, and what was built is there. */
TEST(forked_child_does_not_wait_for_the_parents_builds)
{
	struct script scripts[2] = { { .closed = true }, { .closed = true } };
	struct caller program = { .key = "slow", .script = &scripts[0] };
	struct caller kernel = { .key = "a", .kernel = "slow", .script = &scripts[1] };
	pid_t child;

	CU_ASSERT_EQUAL(use("a", NULL, 1), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(use("a", "built", 0), CC_WAY_BUILD);
	begin_build(&program);
	begin_build(&kernel);
	cc_programs_fork_prepare(programs);
	child = fork();
	if (child == 0) {
		struct script own = { 0 };
		struct cc_build_taken taken;

		cc_programs_fork_child(programs);
		(void)alarm(60);	/* a wait for ever is a failure */
		_exit(is_there("a") && obtain("slow", NULL, &own, &taken) == CMN_OK && taken.way == CC_WAY_BUILD &&
		      is_there("slow") && usage_of().kernels == 1 && kernel_is_there("a", "built") &&
		      use("a", "slow", 0) == CC_WAY_BUILD ? 0 : 1);
	}
	cc_programs_fork_parent(programs);
	CU_ASSERT_TRUE(unit_ended_well(child));
	end_build(&program);
	end_build(&kernel);
	CU_ASSERT_TRUE(is_there("slow") && kernel_is_there("a", "slow"));
}

/* How many shards of the fast kernel cache are locked. */
static unsigned int locked_shards(void)
{
	unsigned int locked = 0;

	for (size_t i = 0; i < FAST_KERNEL_SHARDS; i++) {
		pthread_mutex_t *lock = &programs->fast.shards[i].lock;

		if (pthread_mutex_trylock(lock) == 0)
			pthread_mutex_unlock(lock);
		else
			locked++;
	}
	return locked;
}

/* Else a child could find it locked by a thread that it does not have. */
TEST(every_shard_is_locked_while_the_process_is_copied)
{
	cc_programs_fork_prepare(programs);
	CU_ASSERT_EQUAL(locked_shards(), FAST_KERNEL_SHARDS);
	cc_programs_fork_parent(programs);
	CU_ASSERT_EQUAL(locked_shards(), 0);
	cc_programs_fork_prepare(programs);
	cc_programs_fork_child(programs);
	CU_ASSERT_EQUAL(locked_shards(), 0);
}

/* One of each map, and an end. */
static void fill_and_free(void)
{
	renew(0);
	CU_ASSERT_EQUAL(use("a", NULL, 1), CC_WAY_BUILD);
	(void)add_fast_kernel("a", "k", 1);
	end();
}

/* Where malloc counts, as it does but for the sanitizers', which look for leaks themselves. */
TEST(what_was_in_the_maps_leaves_no_memory)
{
	struct mallinfo2 before;

	for (int i = 0; i < 10; i++)	/* what the C library itself keeps for the next time */
		fill_and_free();
	before = mallinfo2();
	for (int i = 0; i < 100; i++)
		fill_and_free();
	/* Each loss would be of at least 24 bytes, a hundred times. */
	CU_ASSERT_TRUE(mallinfo2().uordblks < before.uordblks + 1000);
	CU_ASSERT_TRUE(mallinfo2().hblkhd <= before.hblkhd);
}
