/* SPDX-License-Identifier: MIT */
/*
 * Tests of the in-memory level, sentence by sentence after the SYCL
 * KernelProgramCache document: "In-memory cache", "Thread-safety", "Core of
 * caching mechanism" and "In-memory cache eviction".
 */
#include "cachecore/api/api_internal.h"

#include <malloc.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "cachecore/memory/programs_internal.h"
#include "common/clock.h"
#include "tests/support/fast_kernel.h"
#include "tests/support/no_memory.h"
#include "tests/support/unit.h"
#include "tests/support/wrap.h"

#define THREADS 8

/* A counted value, as a runtime's handle is. Every test ends with none alive. */
struct value {
	atomic_int refs;
	struct cc_programs *programs;	/* where release may look in, or NULL */
};

static atomic_int values_alive;
static atomic_int values_released_after_kernel;	/* order of release, see the test */

static struct value *value_new(void)
{
	struct value *value = calloc(1, sizeof(*value));

	CU_ASSERT_PTR_NOT_NULL_FATAL(value);
	atomic_init(&value->refs, 1);
	atomic_fetch_add(&values_alive, 1);
	return value;
}

static void value_retain(void *arg)
{
	struct value *value = arg;

	atomic_fetch_add(&value->refs, 1);
}

static void value_release(void *arg)
{
	struct value *value = arg;
	struct cc_programs_usage usage;

	/* Would not come back if the lock were held. */
	if (value->programs)
		cc_programs_usage(value->programs, &usage);
	if (atomic_fetch_sub(&value->refs, 1) == 1) {
		atomic_fetch_sub(&values_alive, 1);
		free(value);
	}
}

static const struct cc_value_ops counted = { value_retain, value_release };

static struct cc_programs *programs;

static void end(void)
{
	cc_programs_free(programs);
	programs = NULL;
	CU_ASSERT_EQUAL(atomic_load(&values_alive), 0);
}

/* Instead of those that there are. */
static void renew(uint64_t threshold, const struct cc_value_ops *kernel_ops)
{
	end();
	programs = cc_programs_new(threshold, &counted, kernel_ops);
	CU_ASSERT_PTR_NOT_NULL_FATAL(programs);
}

BEFORE_EACH
{
	renew(0, &counted);
}

AFTER_EACH
{
	end();
}

static struct cc_programs_usage usage_of(void)
{
	struct cc_programs_usage usage;

	cc_programs_usage(programs, &usage);
	return usage;
}

/* A build that a test steers: fails as often as told, and may be held at a gate. */
struct script {
	enum cmn_status failure;	/* of the first `failures` calls */
	int failures;
	int error_code;
	const char *message;		/* NULL: the failure carries no error */
	size_t size;
	atomic_int calls;
	atomic_bool started;
	atomic_bool closed;		/* a build waits until it is open */
};

static void wait_for(atomic_bool *flag, bool wanted)
{
	while (atomic_load(flag) != wanted)
		sched_yield();
}

static enum cachecore_status build_script(void *ctx, struct cachecore_build_output *ret)
{
	struct script *script = ctx;
	int call = atomic_fetch_add(&script->calls, 1);

	atomic_store(&script->started, true);
	wait_for(&script->closed, false);
	if (call < script->failures) {
		ret->error_code = script->error_code;
		ret->error_message = script->message ? strdup(script->message) : NULL;
		return (enum cachecore_status)script->failure;
	}
	ret->value = value_new();
	ret->size = script->size;
	return CACHECORE_OK;
}

static struct cmn_view key_of(const char *text)
{
	return cmn_view_of(text);
}

static enum cmn_status get_or_build(const char *key, struct script *script,
				    struct cc_build_taken *taken)
{
	return api_build_program(programs, key_of(key), build_script, script, false, taken);
}

/* Builds a program, or takes it, and gives the reference back. */
static enum cc_way use(const char *key, size_t size)
{
	struct script script = { .size = size };
	struct cc_build_taken taken;

	CU_ASSERT_EQUAL_FATAL(get_or_build(key, &script, &taken), CMN_OK);
	value_release(taken.value);
	return taken.way;
}

static enum cc_way use_kernel(const char *key, const char *name)
{
	struct script script = { 0 };
	struct cc_build_taken taken;

	CU_ASSERT_EQUAL_FATAL(api_build_kernel(programs, key_of(key), cmn_view_of(name), build_script,
						      &script, &taken), CMN_OK);
	value_release(taken.value);
	return taken.way;
}

static bool is_there(const char *key)
{
	void *value;

	if (cc_programs_get(programs, key_of(key), &value) != CMN_OK)
		return false;
	value_release(value);
	return true;
}

/* A kernel in the kernels map and in the fast kernel cache; gives its value, borrowed from the cache. */
static void *add_fast_kernel(const char *key, const char *name, uint64_t constants)
{
	struct script script = { 0 };
	struct cc_build_taken taken;

	CU_ASSERT_EQUAL_FATAL(api_build_kernel(programs, key_of(key), cmn_view_of(name), build_script,
						      &script, &taken), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(fast_kernel_put(programs, key_of(key), constants, programs,
						 cmn_view_of(name), taken.value), CMN_OK);
	value_release(taken.value);
	return taken.value;
}

static void *get_fast_kernel(const char *name, uint64_t constants)
{
	void *kernel;

	if (fast_kernel_get(programs, constants, programs, cmn_view_of(name), &kernel) != CMN_OK)
		return NULL;
	value_release(kernel);
	return kernel;
}

/* A get_or_build in a thread of its own. */
struct caller {
	pthread_t thread;
	const char *key;
	const char *kernel;		/* NULL: the program itself */
	struct script *script;
	struct cc_build_taken taken;
	enum cmn_status status;
};

static void *call(void *arg)
{
	struct caller *caller = arg;

	if (caller->kernel)
		caller->status = api_build_kernel(programs, key_of(caller->key),
						  cmn_view_of(caller->kernel), build_script,
						  caller->script, &caller->taken);
	else
		caller->status = get_or_build(caller->key, caller->script, &caller->taken);
	return NULL;
}

static void caller_start(struct caller *caller)
{
	CU_ASSERT_EQUAL_FATAL(pthread_create(&caller->thread, NULL, call, caller), 0);
}

static void caller_join(struct caller *caller)
{
	CU_ASSERT_EQUAL_FATAL(pthread_join(caller->thread, NULL), 0);
	if (caller->status == CMN_OK)
		value_release(caller->taken.value);
}

/* Starts the caller, whose script is closed, and returns when it builds; lets it go on to its end. */
static void begin_build(struct caller *caller)
{
	caller_start(caller);
	wait_for(&caller->script->started, true);
}

static void end_build(struct caller *caller)
{
	atomic_store(&caller->script->closed, false);
	caller_join(caller);
}

/* "the first thread to request it ... will then execute the build"; then "Build result is available" */
TEST(first_request_builds_and_second_finds)
{
	struct script script = { .size = 5 };
	struct cc_build_taken first, second;

	CU_ASSERT_EQUAL(get_or_build("key", &script, &first), CMN_OK);
	CU_ASSERT_EQUAL(first.way, CC_WAY_BUILD);
	CU_ASSERT_EQUAL(get_or_build("key", &script, &second), CMN_OK);
	CU_ASSERT_EQUAL(second.way, CC_WAY_FOUND);
	CU_ASSERT_PTR_EQUAL(first.value, second.value);
	CU_ASSERT_EQUAL(atomic_load(&script.calls), 1);
	CU_ASSERT_EQUAL(usage_of().programs, 1);
	CU_ASSERT_EQUAL(usage_of().bytes, 5);
	value_release(first.value);
	value_release(second.value);
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
			void *got;

			memset(key, 'k', len);
			key[at] ^= 1;
			CU_ASSERT_EQUAL(cc_programs_get(programs, (struct cmn_view){ key, len },
							&got), CMN_MISS);
			struct value *value = value_new();
			CU_ASSERT_EQUAL(cc_programs_put(programs, (struct cmn_view){ key, len },
							value, 1), CMN_OK);
			CU_ASSERT_EQUAL_FATAL(cc_programs_get(programs,
							      (struct cmn_view){ key, len },
							      &got), CMN_OK);
			CU_ASSERT_PTR_EQUAL(got, value);
			value_release(got);
			added++;
		}
	}
	usage = usage_of();
	CU_ASSERT_EQUAL(usage.programs, added);
	CU_ASSERT_EQUAL(usage.bytes, added);
}

TEST(empty_key_is_a_key)
{
	CU_ASSERT_EQUAL(use("", 1), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(use("", 1), CC_WAY_FOUND);
}

TEST(kernels_of_one_name_are_told_apart_by_their_programs)
{
	static const char *const keys[] = { "a", "b", "" };
	void *first[3], *value;

	for (size_t i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL(use(keys[i], 1), CC_WAY_BUILD);
		CU_ASSERT_EQUAL(use_kernel(keys[i], ""), CC_WAY_BUILD);
		CU_ASSERT_EQUAL(use_kernel(keys[i], "k"), CC_WAY_BUILD);
		CU_ASSERT_EQUAL_FATAL(cc_kernels_get(programs, key_of(keys[i]), cmn_view_of("k"),
						     &first[i]), CMN_OK);
		value_release(first[i]);
	}
	for (size_t i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL_FATAL(cc_kernels_get(programs, key_of(keys[i]), cmn_view_of("k"),
						     &value), CMN_OK);
		CU_ASSERT_PTR_EQUAL(value, first[i]);
		value_release(value);
	}
	CU_ASSERT_PTR_NOT_EQUAL(first[0], first[1]);
	CU_ASSERT_PTR_NOT_EQUAL(first[1], first[2]);
}

/* "Actual build of the program happens outside of the lock, so other threads can ... build other programs" */
/* So long that it is not copied while it is built for. */
TEST(a_long_key_is_the_maps_own_afterwards)
{
	struct script script = { .size = 1 };
	const size_t len = 200000;
	struct cc_build_taken taken;
	char *key = malloc(len);
	void *value;

	CU_ASSERT_PTR_NOT_NULL_FATAL(key);
	memset(key, 'a', len);
	CU_ASSERT_EQUAL(api_build_program(programs, (struct cmn_view){ key, len },
						 build_script, &script, false, &taken), CMN_OK);
	value_release(taken.value);
	/* The caller's memory is its own again. */
	memset(key, 'b', len);
	CU_ASSERT_EQUAL(cc_programs_get(programs, (struct cmn_view){ key, len }, &value), CMN_MISS);
	free(key);
	key = malloc(len);
	CU_ASSERT_PTR_NOT_NULL_FATAL(key);
	memset(key, 'a', len);
	CU_ASSERT_EQUAL_FATAL(cc_programs_get(programs, (struct cmn_view){ key, len }, &value),
			      CMN_OK);
	value_release(value);
	free(key);
}

TEST(a_long_key_that_was_put_is_the_maps_own)
{
	const size_t len = 200000;
	char *key = malloc(len), *same = malloc(len);
	void *value;

	CU_ASSERT_FATAL(key && same);
	memset(key, 'a', len);
	CU_ASSERT_EQUAL(cc_programs_put(programs, (struct cmn_view){ key, len }, value_new(), 1),
			CMN_OK);
	/* The address stays, and what is there is as long. */
	memset(key, 'b', len - 1);
	CU_ASSERT_EQUAL(cc_programs_get(programs, (struct cmn_view){ key, len }, &value), CMN_MISS);
	memset(same, 'a', len);
	CU_ASSERT_EQUAL_FATAL(cc_programs_get(programs, (struct cmn_view){ same, len }, &value),
			      CMN_OK);
	value_release(value);
	free(same);
	free(key);
}

static enum cachecore_status build_transient(void *ctx, struct cachecore_build_output *ret)
{
	enum cachecore_status status = build_script(ctx, ret);

	ret->transient = true;
	return status;
}

TEST(a_transient_value_is_given_and_not_kept)
{
	struct script script = { .size = 1 };
	struct cc_build_taken taken;

	for (int i = 1; i <= 2; i++) {
		CU_ASSERT_EQUAL(api_build_program(programs, key_of("key"), build_transient,
							 &script, false, &taken), CMN_OK);
		CU_ASSERT_EQUAL(taken.way, CC_WAY_BUILD);
		value_release(taken.value);
		CU_ASSERT_EQUAL(script.calls, i);
		CU_ASSERT_FALSE(is_there("key"));
	}
	CU_ASSERT_EQUAL(usage_of().bytes, 0);
}

TEST(builds_outside_the_lock)
{
	struct script script = { .closed = true };
	struct caller caller = { .key = "slow", .script = &script };

	begin_build(&caller);
	CU_ASSERT_EQUAL(use("other", 1), CC_WAY_BUILD);
	CU_ASSERT_TRUE(is_there("other"));
	CU_ASSERT_FALSE(is_there("slow"));	/* get does not wait */
	end_build(&caller);
	CU_ASSERT_TRUE(is_there("slow"));
}

static enum cachecore_status build_with_another(void *ctx, struct cachecore_build_output *ret)
{
	(void)ctx;
	CU_ASSERT_EQUAL(use("inner", 1), CC_WAY_BUILD);
	ret->value = value_new();
	return CACHECORE_OK;
}

TEST(build_may_use_the_cache)
{
	struct cc_build_taken taken;

	CU_ASSERT_EQUAL(api_build_program(programs, key_of("outer"), build_with_another,
						 NULL, false, &taken), CMN_OK);
	value_release(taken.value);
	CU_ASSERT_TRUE(is_there("inner"));
}

/* How many threads are between finding this key's BuildResult and leaving it. */
static unsigned int users_of(const char *key, const char *kernel)
{
	const struct cmn_view name = cmn_view_of(kernel);
	struct program_record *program;
	const struct build_result *result = cc_programs_lock_and_find(programs, key_of(key),
								      kernel ? &name : NULL, &program);
	const unsigned int users = result ? result->users : 0;

	pthread_mutex_unlock(&programs->lock);
	return users;
}

/* As a driver's does whose application builds the same in a callback, which fails at first. */
static enum cachecore_status build_in_build(void *ctx, struct cachecore_build_output *ret)
{
	struct build_result *alone = ctx;
	struct script script = { .failures = 1, .failure = CMN_ERR_DRIVER, .message = "inner" };
	const struct api_request request = { .build = build_script, .ctx = &script };
	struct cc_build_taken taken;

	for (int i = 0; i < 2; i++) {
		enum cmn_status status = alone ? api_build_result(alone, &request, &taken) :
						 get_or_build("outer", &script, &taken);

		CU_ASSERT_EQUAL(status, i ? CMN_OK : CMN_ERR_DRIVER);
		CU_ASSERT_EQUAL(taken.way, CC_WAY_BUILD);
		if (status == CMN_OK)
			value_release(taken.value);
		else
			free(taken.error_message);
	}
	ret->value = value_new();
	return CACHECORE_OK;
}

TEST(build_waits_for_no_build_that_its_thread_began)
{
	const struct api_request request = { .build = build_in_build };
	struct api_request with_result = request;
	struct build_result *result = cc_build_result_new(&counted, sizeof(*result));
	struct cc_build_taken taken;

	(void)alarm(20);
	CU_ASSERT_EQUAL(api_build_program(programs, key_of("outer"), request.build, NULL, false, &taken), CMN_OK);
	value_release(taken.value);
	CU_ASSERT_EQUAL(users_of("outer", NULL), 0);
	CU_ASSERT_EQUAL(use("outer", 1), CC_WAY_FOUND);
	CU_ASSERT_PTR_NOT_NULL_FATAL(result);
	with_result.ctx = result;
	CU_ASSERT_EQUAL(api_build_result(result, &with_result, &taken), CMN_OK);
	value_release(taken.value);
	CU_ASSERT_EQUAL(cc_build_result_state(result), BUILD_SUCCEEDED);
	cc_build_result_unref(result);
	(void)alarm(0);
}

struct slow_build {
	struct build_result *result;
	sem_t claimed, goes_on;
	bool works;	/* for longer than who does nothing is waited for */
};

static void *build_slowly(void *arg)
{
	struct slow_build *slow = arg;
	struct cc_build_taken taken;

	CU_ASSERT_EQUAL(cc_build_result_claim(slow->result, &taken), CC_WAY_BUILD);
	(void)sem_post(&slow->claimed);
	if (slow->works) {
		for (uint64_t until = cmn_clock_processor() + UINT64_C(1500000000); cmn_clock_processor() < until;)
			;
	} else {
		(void)sem_wait(&slow->goes_on);
	}
	cc_build_result_publish(slow->result, value_new(), 1, false);
	return NULL;
}

/* As who holds what a callback of that build's driver waits for; but who compiles is waited for. */
TEST(who_builds_and_does_nothing_is_not_waited_for)
{
	struct cc_build_taken taken;
	pthread_t thread;

	(void)alarm(60);
	for (int works = 0; works < 2; works++) {
		struct slow_build slow = { .result = cc_build_result_new(&counted, sizeof(struct build_result)), .works = works };

		CU_ASSERT_PTR_NOT_NULL_FATAL(slow.result);
		CU_ASSERT_EQUAL(sem_init(&slow.claimed, 0, 0) + sem_init(&slow.goes_on, 0, 0), 0);
		CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, build_slowly, &slow), 0);
		(void)sem_wait(&slow.claimed);
		CU_ASSERT_EQUAL(cc_build_result_claim(slow.result, &taken), works ? CC_WAY_WAITED : CC_WAY_BUILD);
		CU_ASSERT_EQUAL(taken.status, works ? CMN_OK : CMN_BUSY);
		if (works)
			value_release(taken.value);
		(void)sem_post(&slow.goes_on);
		CU_ASSERT_EQUAL(pthread_join(thread, NULL), 0);
		CU_ASSERT_EQUAL(cc_build_result_claim(slow.result, &taken), CC_WAY_FOUND);
		value_release(taken.value);
		cc_build_result_unref(slow.result);
	}
	(void)alarm(0);
}

/*
 * Starts a builder and a waiter of one key, each with its own script, and
 * lets the builder go only when the waiter has found its BuildResult.
 */
static void builder_and_waiter(const char *kernel, struct script *builder_script,
			       struct script *waiter_script, struct caller *builder,
			       struct caller *waiter)
{
	atomic_store(&builder_script->closed, true);
	*builder = (struct caller){ .key = "key", .kernel = kernel, .script = builder_script };
	*waiter = (struct caller){ .key = "key", .kernel = kernel, .script = waiter_script };
	caller_start(builder);
	wait_for(&builder_script->started, true);
	caller_start(waiter);
	while (users_of("key", kernel) < 2)
		sched_yield();
	CU_ASSERT_EQUAL(atomic_load(&waiter_script->calls), 0);
	atomic_store(&builder_script->closed, false);
	caller_join(builder);
	caller_join(waiter);
}

TEST(what_was_waited_for_counts_once)
{
	struct script good = { .size = 3 }, never = { 0 };
	struct caller builder, waiter;

	builder_and_waiter(NULL, &good, &never, &builder, &waiter);
	CU_ASSERT_EQUAL(builder.status, CMN_OK);
	CU_ASSERT_EQUAL(waiter.status, CMN_OK);
	CU_ASSERT_EQUAL(usage_of().bytes, 3);
}

/* The same where the builder leaves before the waiter has woken up. */
TEST(who_will_retry_keeps_the_result_in_the_map)
{
	struct script failing = { .failure = CMN_ERR_DRIVER, .failures = 1, .closed = true };
	struct caller builder = { .key = "key", .script = &failing };
	struct program_record *program;

	renew(30, &counted);
	begin_build(&builder);
	cc_programs_lock_and_find(programs, key_of("key"), NULL, &program)->users++;
	pthread_mutex_unlock(&programs->lock);
	end_build(&builder);
	CU_ASSERT_EQUAL(users_of("key", NULL), 1);
	/* Nor does it go for others, as what is built does not. */
	CU_ASSERT_EQUAL(use("large", 31), CC_WAY_BUILD);
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
	struct script script = { .failure = CMN_ERR_DRIVER, .failures = 1, .error_code = 7,
				 .message = "no" };
	struct cc_build_taken taken;

	CU_ASSERT_EQUAL(get_or_build("key", &script, &taken), CMN_ERR_DRIVER);
	free(taken.error_message);
	CU_ASSERT_EQUAL(usage_of().programs, 0);
	CU_ASSERT_EQUAL(get_or_build("key", &script, &taken), CMN_OK);
	CU_ASSERT_EQUAL(taken.way, CC_WAY_BUILD);
	value_release(taken.value);
}

TEST(remembered_failure_stays_until_removed)
{
	struct script script = { .failure = CMN_ERR_DRIVER, .failures = 1, .error_code = 7,
				 .message = "no" };
	struct cc_build_taken taken;

	for (int i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL(api_build_program(programs, key_of("key"), build_script,
							 &script, true, &taken), CMN_ERR_DRIVER);
		CU_ASSERT_EQUAL(taken.way, i ? CC_WAY_FOUND : CC_WAY_BUILD);
		CU_ASSERT_EQUAL(taken.error_code, 7);
		CU_ASSERT_STRING_EQUAL(taken.error_message, "no");
		free(taken.error_message);
	}
	CU_ASSERT_EQUAL(atomic_load(&script.calls), 1);
	CU_ASSERT_FALSE(is_there("key"));
	cc_programs_remove(programs, key_of("key"), NULL);
	CU_ASSERT_EQUAL(use("key", 1), CC_WAY_BUILD);
}

TEST(remembered_failure_makes_place_for_a_put)
{
	struct script script = { .failure = CMN_ERR_DRIVER, .failures = 1, .message = "no" };
	struct cc_build_taken taken;

	CU_ASSERT_EQUAL(api_build_program(programs, key_of("key"), build_script, &script,
						 true, &taken), CMN_ERR_DRIVER);
	free(taken.error_message);
	CU_ASSERT_EQUAL(cc_programs_put(programs, key_of("key"), value_new(), 2), CMN_OK);
	CU_ASSERT_TRUE(is_there("key"));
	/* The failure does not come back when that is gone. */
	CU_ASSERT_EQUAL(usage_of().programs, 1);
	cc_programs_remove(programs, key_of("key"), NULL);
	CU_ASSERT_EQUAL(usage_of().programs, 0);
	CU_ASSERT_EQUAL(get_or_build("key", &script, &taken), CMN_OK);
	value_release(taken.value);
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

	CU_ASSERT_EQUAL(api_build_program(programs, key_of("key"), build_nothing, NULL,
						 false, &taken), CMN_ERR_INVALID);
	CU_ASSERT_EQUAL(usage_of().programs, 0);
}

TEST(put_is_found_and_does_not_replace)
{
	struct value *first = value_new();
	void *got;

	CU_ASSERT_EQUAL(cc_programs_put(programs, key_of("key"), first, 10), CMN_OK);
	CU_ASSERT_EQUAL(cc_programs_put(programs, key_of("key"), value_new(), 20), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(cc_programs_get(programs, key_of("key"), &got), CMN_OK);
	CU_ASSERT_PTR_EQUAL(got, first);
	CU_ASSERT_EQUAL(atomic_load(&first->refs), 2);
	CU_ASSERT_EQUAL(atomic_load(&values_alive), 1);
	CU_ASSERT_EQUAL(usage_of().bytes, 10);
	value_release(got);
}

/* A put during a build: who comes now gets the put value, the builder and its waiters their own. */
TEST(put_during_a_build_is_what_stays)
{
	struct script script = { .closed = true, .size = 100 };
	struct caller caller = { .key = "key", .script = &script };
	struct value *value = value_new();
	void *got;

	begin_build(&caller);
	CU_ASSERT_EQUAL(cc_programs_put(programs, key_of("key"), value, 10), CMN_OK);
	end_build(&caller);
	CU_ASSERT_EQUAL(caller.taken.way, CC_WAY_BUILD);
	CU_ASSERT_EQUAL_FATAL(cc_programs_get(programs, key_of("key"), &got), CMN_OK);
	CU_ASSERT_PTR_EQUAL(got, value);
	CU_ASSERT_EQUAL(usage_of().bytes, 10);
	value_release(got);
}

/* What the build came to is its own affair. */
TEST(put_during_a_build_that_fails_stays)
{
	struct script script = { .closed = true, .failure = CMN_ERR_DRIVER, .failures = 1,
				 .message = "no" };
	struct caller caller = { .key = "key", .script = &script };

	begin_build(&caller);
	CU_ASSERT_EQUAL(cc_programs_put(programs, key_of("key"), value_new(), 10), CMN_OK);
	end_build(&caller);
	CU_ASSERT_EQUAL(caller.status, CMN_ERR_DRIVER);
	free(caller.taken.error_message);
	CU_ASSERT_TRUE(is_there("key"));
}

TEST(remove_takes_only_the_value_that_is_meant)
{
	struct value *value = value_new();
	struct value *other = value_new();

	CU_ASSERT_EQUAL(cc_programs_put(programs, key_of("key"), value, 1), CMN_OK);
	cc_programs_remove(programs, key_of("key"), other);
	CU_ASSERT_TRUE(is_there("key"));
	cc_programs_remove(programs, key_of("key"), value);
	CU_ASSERT_FALSE(is_there("key"));
	CU_ASSERT_EQUAL(usage_of().bytes, 0);
	cc_programs_remove(programs, key_of("key"), NULL);
	value_release(other);
}

TEST(flush_takes_everything_and_a_taken_value_stays_valid)
{
	struct cc_programs_usage usage;
	void *got;

	CU_ASSERT_EQUAL(use("a", 1), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(use("b", 1), CC_WAY_BUILD);
	(void)add_fast_kernel("a", "kernel", 0);
	CU_ASSERT_EQUAL_FATAL(cc_programs_get(programs, key_of("a"), &got), CMN_OK);
	cc_programs_flush(programs);
	usage = usage_of();
	CU_ASSERT_EQUAL(usage.programs + usage.kernels + usage.fast_kernels + usage.bytes, 0);
	CU_ASSERT_EQUAL(atomic_load(&((struct value *)got)->refs), 1);
	CU_ASSERT_EQUAL(atomic_load(&values_alive), 1);
	value_release(got);
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
		CU_ASSERT_EQUAL(use(key, 1u << 30), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(usage_of().programs, 26);
}

/* "when the cache size exceeds the threshold": not when it reaches it */
TEST(size_equal_to_the_threshold_evicts_nothing)
{
	renew(30, &counted);
	for (char key[] = "a"; key[0] <= 'c'; key[0]++)
		CU_ASSERT_EQUAL(use(key, 10), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(usage_of().programs, 3);
	CU_ASSERT_EQUAL(usage_of().bytes, 30);
}

/* "When a program is fetched from cache, we move the program to the end of the eviction list" */
TEST(fetched_program_moves_to_the_end)
{
	renew(30, &counted);
	for (char key[] = "a"; key[0] <= 'c'; key[0]++)
		CU_ASSERT_EQUAL(use(key, 10), CC_WAY_BUILD);
	CU_ASSERT_TRUE(is_there("a"));		/* by get: b c a */
	CU_ASSERT_EQUAL(use("b", 10), CC_WAY_FOUND);	/* by getOrBuild: c a b */
	CU_ASSERT_EQUAL(use_kernel("c", "k"), CC_WAY_BUILD);	/* by a kernel: a b c */
	CU_ASSERT_EQUAL(use("d", 10), CC_WAY_BUILD);
	CU_ASSERT_FALSE(is_there("a"));
	CU_ASSERT_TRUE(is_there("b"));
	CU_ASSERT_TRUE(is_there("c"));
	CU_ASSERT_TRUE(is_there("d"));
}

TEST(put_evicts_as_a_build_does)
{
	renew(30, &counted);
	CU_ASSERT_EQUAL(use("a", 20), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(cc_programs_put(programs, key_of("b"), value_new(), 20), CMN_OK);
	CU_ASSERT_FALSE(is_there("a"));
	CU_ASSERT_TRUE(is_there("b"));
}

/* "until the cache size is below the threshold": also where the newest alone is larger */
TEST(value_larger_than_the_threshold_is_given_but_not_kept)
{
	struct script script = { .size = 31 };
	struct cc_build_taken taken;

	renew(30, &counted);
	CU_ASSERT_EQUAL(get_or_build("big", &script, &taken), CMN_OK);
	CU_ASSERT_EQUAL(taken.way, CC_WAY_BUILD);
	CU_ASSERT_FALSE(is_there("big"));
	CU_ASSERT_EQUAL(atomic_load(&((struct value *)taken.value)->refs), 1);
	value_release(taken.value);
}

TEST(program_in_progress_is_not_evicted)
{
	struct script script = { .closed = true, .size = 10 };
	struct caller caller = { .key = "slow", .script = &script };

	renew(30, &counted);
	begin_build(&caller);			/* the first of the eviction list */
	CU_ASSERT_EQUAL(use("a", 30), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(use("b", 20), CC_WAY_BUILD);
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
	renew(30, &counted);
	CU_ASSERT_EQUAL(use("a", 20), CC_WAY_BUILD);
	(void)add_fast_kernel("a", "k1", 0);
	(void)add_fast_kernel("a", "k2", 0);
	CU_ASSERT_EQUAL(usage_of().kernels, 2);
	CU_ASSERT_EQUAL(usage_of().fast_kernels, 2);
	CU_ASSERT_EQUAL(use("b", 20), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(usage_of().kernels, 0);
	CU_ASSERT_EQUAL(usage_of().fast_kernels, 0);
	CU_ASSERT_PTR_NULL(get_fast_kernel("k1", 0));
	CU_ASSERT_EQUAL(atomic_load(&values_alive), 1);
	CU_ASSERT_EQUAL(use("a", 20), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(use_kernel("a", "k1"), CC_WAY_BUILD);
}

/* "The kernels map's key consists of two components: the program ..., kernel name" */
TEST(kernels_are_found_by_program_and_name)
{
	CU_ASSERT_EQUAL(use("a", 1), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(use("b", 1), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(use_kernel("a", "k"), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(use_kernel("b", "k"), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(use_kernel("a", "other"), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(use_kernel("a", "k"), CC_WAY_FOUND);
	CU_ASSERT_EQUAL(usage_of().kernels, 3);
}

TEST(kernel_of_an_unknown_program_is_built_and_not_kept)
{
	CU_ASSERT_EQUAL(use_kernel("none", "k"), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(use_kernel("none", "k"), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(usage_of().kernels, 0);
	CU_ASSERT_EQUAL(atomic_load(&values_alive), 0);
}

TEST(kernel_in_progress_goes_with_its_program)
{
	struct script script = { .closed = true };
	struct caller caller = { .key = "key", .kernel = "k", .script = &script };

	CU_ASSERT_EQUAL(use("key", 1), CC_WAY_BUILD);
	begin_build(&caller);
	cc_programs_remove(programs, key_of("key"), NULL);
	CU_ASSERT_EQUAL(use("key", 1), CC_WAY_BUILD);
	end_build(&caller);
	CU_ASSERT_EQUAL(caller.status, CMN_OK);
	CU_ASSERT_EQUAL(usage_of().kernels, 0);
}

static bool kernel_is_there(const char *key, const char *name)
{
	void *value;

	if (cc_kernels_get(programs, key_of(key), cmn_view_of(name), &value) != CMN_OK)
		return false;
	value_release(value);
	return true;
}

TEST(kernel_of_a_program_that_is_being_built_is_not_kept)
{
	struct script script = { .closed = true };
	struct caller caller = { .key = "slow", .script = &script };

	begin_build(&caller);
	CU_ASSERT_EQUAL(use_kernel("slow", "k"), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(use_kernel("slow", "k"), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(cc_kernels_put(programs, key_of("slow"), cmn_view_of("k"), value_new()),
			CMN_MISS);
	CU_ASSERT_EQUAL(usage_of().kernels, 0);
	end_build(&caller);
	CU_ASSERT_EQUAL(usage_of().kernels, 0);
	CU_ASSERT_EQUAL(use_kernel("slow", "k"), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(use_kernel("slow", "k"), CC_WAY_FOUND);
}

TEST(kernel_that_failed_without_an_error_leaves_nothing)
{
	struct script script = { .failure = CMN_ERR_DRIVER, .failures = 1 };
	struct cc_build_taken taken;

	CU_ASSERT_EQUAL(use("a", 1), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(api_build_kernel(programs, key_of("a"), cmn_view_of("k"), build_script,
					 &script, &taken), CMN_ERR_DRIVER);
	CU_ASSERT_EQUAL(usage_of().kernels, 0);
}

/* As a program's: the builder leaves before the waiter has woken up. */
TEST(who_will_retry_keeps_the_kernel_in_the_map)
{
	struct script failing = { .failure = CMN_ERR_DRIVER, .failures = 1, .closed = true };
	struct caller builder = { .key = "a", .kernel = "k", .script = &failing };
	const struct cmn_view name = cmn_view_of("k");
	struct program_record *program;

	CU_ASSERT_EQUAL(use("a", 1), CC_WAY_BUILD);
	begin_build(&builder);
	cc_programs_lock_and_find(programs, key_of("a"), &name, &program)->users++;
	pthread_mutex_unlock(&programs->lock);
	end_build(&builder);
	CU_ASSERT_EQUAL(users_of("a", "k"), 1);
}

TEST(kernel_that_is_being_built_is_not_given)
{
	struct script script = { .closed = true };
	struct caller caller = { .key = "a", .kernel = "k", .script = &script };

	CU_ASSERT_EQUAL(use("a", 1), CC_WAY_BUILD);
	begin_build(&caller);
	CU_ASSERT_FALSE(kernel_is_there("a", "k"));
	end_build(&caller);
	CU_ASSERT_TRUE(kernel_is_there("a", "k"));
}

/* As a program's: who comes gets what was put, whatever the build comes to. */
static void put_during_a_kernels_build(struct script *script)
{
	struct caller caller = { .key = "a", .kernel = "k", .script = script };
	struct value *value = value_new();
	void *got;

	atomic_store(&script->closed, true);
	CU_ASSERT_EQUAL(use("a", 1), CC_WAY_BUILD);
	begin_build(&caller);
	CU_ASSERT_EQUAL(cc_kernels_put(programs, key_of("a"), cmn_view_of("k"), value), CMN_OK);
	for (int i = 0; i < 2; i++) {
		CU_ASSERT_EQUAL_FATAL(cc_kernels_get(programs, key_of("a"), cmn_view_of("k"), &got),
				      CMN_OK);
		CU_ASSERT_PTR_EQUAL(got, value);
		value_release(got);
		if (i == 0) {
			end_build(&caller);
		}
	}
	free(caller.taken.error_message);
	CU_ASSERT_EQUAL(usage_of().kernels, 1);
}

TEST(kernel_that_is_put_during_its_build_stays)
{
	struct script script = { 0 };

	put_during_a_kernels_build(&script);
}

TEST(kernel_that_is_put_during_a_build_that_fails_stays)
{
	struct script script = { .failure = CMN_ERR_DRIVER, .failures = 1, .message = "no" };

	put_during_a_kernels_build(&script);
}

/* "a program is used when it or a kernel is fetched with its key": here the kernel was built before */
TEST(program_whose_kernel_is_fetched_moves_to_the_end)
{
	renew(30, &counted);
	CU_ASSERT_EQUAL(use("a", 10), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(use_kernel("a", "k"), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(use("b", 10), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(use("c", 10), CC_WAY_BUILD);
	CU_ASSERT_TRUE(kernel_is_there("a", "k"));
	CU_ASSERT_EQUAL(use("d", 10), CC_WAY_BUILD);
	CU_ASSERT_TRUE(is_there("a"));
	CU_ASSERT_FALSE(is_there("b"));
}

TEST(program_whose_kernel_is_put_moves_to_the_end)
{
	renew(30, &counted);
	for (char key[] = "a"; key[0] <= 'c'; key[0]++)
		CU_ASSERT_EQUAL(use(key, 10), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(cc_kernels_put(programs, key_of("a"), cmn_view_of("k"), value_new()), CMN_OK);
	CU_ASSERT_EQUAL(use("d", 10), CC_WAY_BUILD);
	CU_ASSERT_TRUE(is_there("a"));
	CU_ASSERT_FALSE(is_there("b"));
}

TEST(remove_takes_only_the_kernel_that_is_meant)
{
	struct value *value = value_new();
	struct value *other = value_new();

	CU_ASSERT_EQUAL(use("a", 1), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(cc_kernels_put(programs, key_of("a"), cmn_view_of("k"), value), CMN_OK);
	cc_kernels_remove(programs, key_of("a"), cmn_view_of("k"), other);
	CU_ASSERT_TRUE(kernel_is_there("a", "k"));
	cc_kernels_remove(programs, key_of("a"), cmn_view_of("k"), value);
	CU_ASSERT_FALSE(kernel_is_there("a", "k"));
	value_release(other);
}

/* "Its key consists of ...: specialization constants values, the ... device, kernel name" */
TEST(fast_kernels_are_found_by_constants_device_and_name)
{
	int device = 0;	/* its address counts */
	void *first, *got;

	CU_ASSERT_EQUAL(use("a", 1), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(use("b", 1), CC_WAY_BUILD);
	first = add_fast_kernel("a", "k", 1);
	CU_ASSERT_PTR_NOT_EQUAL(add_fast_kernel("b", "k", 2), first);
	CU_ASSERT_PTR_EQUAL(get_fast_kernel("k", 1), first);
	CU_ASSERT_PTR_NOT_EQUAL(get_fast_kernel("k", 2), first);
	CU_ASSERT_PTR_NULL(get_fast_kernel("k", 3));
	CU_ASSERT_PTR_NULL(get_fast_kernel("K", 1));
	CU_ASSERT_EQUAL(fast_kernel_get(programs, 1, &device, cmn_view_of("k"), &got), CMN_MISS);
}

TEST(fast_kernel_put_again_leads_to_the_new_kernel)
{
	void *first, *second;

	CU_ASSERT_EQUAL(use("a", 1), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(use("b", 1), CC_WAY_BUILD);
	first = add_fast_kernel("a", "k", 1);
	CU_ASSERT_PTR_EQUAL(add_fast_kernel("a", "k", 1), first);
	second = add_fast_kernel("b", "k", 1);
	CU_ASSERT_PTR_EQUAL(get_fast_kernel("k", 1), second);
	CU_ASSERT_EQUAL(usage_of().fast_kernels, 1);
	cc_programs_remove(programs, key_of("a"), NULL);
	CU_ASSERT_PTR_EQUAL(get_fast_kernel("k", 1), second);
	cc_programs_remove(programs, key_of("b"), NULL);
	CU_ASSERT_PTR_NULL(get_fast_kernel("k", 1));
}

TEST(fast_kernel_needs_its_kernel_in_the_map)
{
	struct value *stranger = value_new();

	CU_ASSERT_EQUAL(fast_kernel_put(programs, key_of("a"), 0, programs, cmn_view_of("k"),
					   stranger), CMN_MISS);
	CU_ASSERT_EQUAL(use("a", 1), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(fast_kernel_put(programs, key_of("a"), 0, programs, cmn_view_of("k"),
					   stranger), CMN_MISS);
	CU_ASSERT_EQUAL(use_kernel("a", "k"), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(fast_kernel_put(programs, key_of("a"), 0, programs, cmn_view_of("k"),
					   stranger), CMN_MISS);
	CU_ASSERT_EQUAL(usage_of().fast_kernels, 0);
	value_release(stranger);
}

/* Its name and its constants, which are compared in full, are the cache's own. */
TEST(fast_kernel_is_found_when_its_callers_memory_is_another_thing)
{
	char name[] = "k", constants[] = "1234";
	const struct fast_key key = { .device = programs, .name = cmn_view_of(name),
				      .constants = cmn_view_of(constants) };
	const struct fast_key same = { .device = programs, .name = cmn_view_of("k"),
				       .constants = cmn_view_of("1234") };
	struct value *value = value_new();
	void *got;

	CU_ASSERT_EQUAL(use("a", 1), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(cc_kernels_put(programs, key_of("a"), same.name, value), CMN_OK);
	CU_ASSERT_EQUAL(cc_fast_kernel_put(programs, key_of("a"), value, &key), CMN_OK);
	memset(constants, 'x', sizeof(constants) - 1);
	CU_ASSERT_EQUAL_FATAL(fast_kernels_get(&programs->fast, &same, &got), CMN_OK);
	CU_ASSERT_PTR_EQUAL(got, value);
	value_release(got);
	name[0] = 'x';
	CU_ASSERT_EQUAL_FATAL(fast_kernels_get(&programs->fast, &same, &got), CMN_OK);
	CU_ASSERT_PTR_EQUAL(got, value);
	value_release(got);
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

	CU_ASSERT_EQUAL(use("a", 1), CC_WAY_BUILD);
	first = add_fast_kernel("a", "k", 1);
	for (processor = 0; processor < FAST_KERNEL_SHARDS; processor++)
		CU_ASSERT_PTR_EQUAL(get_fast_kernel("k", 1), first);
	/* It cannot be told, as where a sandbox forbids the question. */
	no_processor = true;
	CU_ASSERT_PTR_EQUAL(get_fast_kernel("k", 1), first);
	no_processor = false;
	cc_programs_remove(programs, key_of("a"), NULL);
	for (processor = 0; processor < FAST_KERNEL_SHARDS; processor++)
		CU_ASSERT_PTR_NULL(get_fast_kernel("k", 1));
	processor = -1;
	for (size_t i = 0; i < FAST_KERNEL_SHARDS; i++)
		CU_ASSERT_PTR_NULL(programs->fast.shards[i].table);
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

static bool launches;
static unsigned int locked_in_launch;

static void retain_and_look(void *value)
{
	if (launches)
		locked_in_launch += locked_shards();
	value_retain(value);
}

TEST(fast_kernel_is_retained_without_a_shards_lock)
{
	static const struct cc_value_ops kernel_ops = { retain_and_look, value_release };

	renew(0, &kernel_ops);
	CU_ASSERT_EQUAL(use("a", 1), CC_WAY_BUILD);
	(void)add_fast_kernel("a", "k", 1);
	launches = true;
	CU_ASSERT_PTR_NOT_NULL(get_fast_kernel("k", 1));
	launches = false;
	CU_ASSERT_EQUAL(locked_in_launch, 0);
}

TEST(many_fast_kernels_are_all_found)
{
	char name[32];
	void *kernels[300];

	CU_ASSERT_EQUAL(use("a", 1), CC_WAY_BUILD);
	for (int i = 0; i < 300; i++) {
		(void)snprintf(name, sizeof(name), "kernel_%d", i);
		kernels[i] = add_fast_kernel("a", name, 5);
	}
	for (int i = 0; i < 300; i++) {
		(void)snprintf(name, sizeof(name), "kernel_%d", i);
		CU_ASSERT_PTR_EQUAL(get_fast_kernel(name, 5), kernels[i]);
	}
	CU_ASSERT_EQUAL(usage_of().fast_kernels, 300);
}

/* "If the application runs out-of-memory, ... we will evict all the items from program and kernel caches" */
/* Room is made, and what is built is kept all the same. */
TEST(without_memory_for_a_program_room_is_made)
{
	struct script script = { .size = 3 };
	struct cc_build_taken taken;

	calloc_fails = true;
	CU_ASSERT_EQUAL(get_or_build("key", &script, &taken), CMN_OK);
	CU_ASSERT_FALSE(calloc_fails);
	value_release(taken.value);
	CU_ASSERT_TRUE(is_there("key"));
}

TEST(out_of_memory_flushes_everything_and_tries_once_more)
{
	struct script script = { .failure = CMN_ERR_NOMEM, .failures = 1, .message = "full",
				 .size = 4 };
	struct cc_build_taken taken;

	CU_ASSERT_EQUAL(use("a", 1), CC_WAY_BUILD);
	(void)add_fast_kernel("a", "k", 0);
	CU_ASSERT_EQUAL(get_or_build("key", &script, &taken), CMN_OK);
	CU_ASSERT_EQUAL(atomic_load(&script.calls), 2);
	CU_ASSERT_EQUAL(taken.way, CC_WAY_BUILD);
	CU_ASSERT_PTR_NULL(taken.error_message);
	value_release(taken.value);
	CU_ASSERT_FALSE(is_there("a"));
	CU_ASSERT_TRUE(is_there("key"));
	CU_ASSERT_EQUAL(usage_of().bytes, 4);
	CU_ASSERT_EQUAL(usage_of().kernels + usage_of().fast_kernels, 0);
}

TEST(out_of_memory_twice_is_a_failure)
{
	struct script script = { .failure = CMN_ERR_NOMEM, .failures = 2, .error_code = -6,
				 .message = "full" };
	struct cc_build_taken taken;

	CU_ASSERT_EQUAL(get_or_build("key", &script, &taken), CMN_ERR_NOMEM);
	CU_ASSERT_EQUAL(atomic_load(&script.calls), 2);
	CU_ASSERT_EQUAL(taken.error_code, -6);
	CU_ASSERT_STRING_EQUAL(taken.error_message, "full");
	free(taken.error_message);
}

TEST(out_of_memory_in_a_kernel_flushes_its_program_too)
{
	struct script script = { .failure = CMN_ERR_NOMEM, .failures = 1 };
	struct cc_build_taken taken;

	CU_ASSERT_EQUAL(use("a", 1), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(api_build_kernel(programs, key_of("a"), cmn_view_of("k"), build_script, &script,
						&taken), CMN_OK);
	CU_ASSERT_EQUAL(atomic_load(&script.calls), 2);
	value_release(taken.value);
	CU_ASSERT_EQUAL(usage_of().programs + usage_of().kernels, 0);
}

/* Evicted, removed and flushed ones are released by callbacks that use the cache: no lock is held. */
TEST(callbacks_are_called_without_locks)
{
	struct value *value;

	renew(10, &counted);
	for (int i = 0; i < 3; i++) {
		value = value_new();
		value->programs = programs;
		CU_ASSERT_EQUAL(cc_programs_put(programs, key_of("key"), value, 8), CMN_OK);
		CU_ASSERT_EQUAL(use("other", 1), i ? CC_WAY_FOUND : CC_WAY_BUILD);
		if (i == 0)
			CU_ASSERT_EQUAL(use("third", 9), CC_WAY_BUILD);	/* evicts */
		if (i == 0)
			CU_ASSERT_FALSE(is_there("key"));
		if (i == 0)
			CU_ASSERT_EQUAL(use("other", 1), CC_WAY_FOUND);
		if (i == 1)
			cc_programs_remove(programs, key_of("key"), value);
		if (i == 2)
			cc_programs_flush(programs);
	}
}

static struct value *program_value;

static void kernel_release_first(void *kernel)
{
	/* A kernel's end must come before its program's. */
	if (program_value && atomic_load(&program_value->refs) == 1)
		atomic_fetch_add(&values_released_after_kernel, 1);
	value_release(kernel);
}

TEST(kernels_are_released_before_their_program)
{
	static const struct cc_value_ops kernel_ops = { value_retain, kernel_release_first };

	renew(0, &kernel_ops);
	program_value = value_new();
	CU_ASSERT_EQUAL(cc_programs_put(programs, key_of("a"), program_value, 1), CMN_OK);
	(void)add_fast_kernel("a", "k", 0);
	atomic_store(&values_released_after_kernel, 0);
	value_retain(program_value);
	value_release(program_value);
	cc_programs_flush(programs);
	program_value = NULL;
	CU_ASSERT_EQUAL(atomic_load(&values_released_after_kernel), 1);
}

TEST(callbacks_may_be_left_out)
{
	struct cc_programs *bare = cc_programs_new(0, NULL, NULL);
	int value;
	void *got;

	CU_ASSERT_PTR_NOT_NULL_FATAL(bare);
	CU_ASSERT_EQUAL(cc_programs_put(bare, key_of("key"), &value, 1), CMN_OK);
	CU_ASSERT_EQUAL(cc_programs_get(bare, key_of("key"), &got), CMN_OK);
	CU_ASSERT_PTR_EQUAL(got, &value);
	cc_programs_free(bare);
	cc_programs_free(NULL);
}

/* In a forked child nobody finishes the parent's builds: they are tried anew, and what was built is there. */
TEST(forked_child_does_not_wait_for_the_parents_builds)
{
	struct script script = { .closed = true };
	struct caller caller = { .key = "slow", .script = &script };
	int status = -1;
	pid_t child;

	CU_ASSERT_EQUAL(use("built", 1), CC_WAY_BUILD);
	begin_build(&caller);
	cc_programs_fork_prepare(programs);
	child = fork();
	if (child == 0) {
		struct script own = { 0 };
		struct cc_build_taken taken;

		cc_programs_fork_child(programs);
		(void)alarm(60);	/* a wait for ever is a failure */
		_exit(is_there("built") && get_or_build("slow", &own, &taken) == CMN_OK &&
		      taken.way == CC_WAY_BUILD ? 0 : 1);
	}
	cc_programs_fork_parent(programs);
	CU_ASSERT_TRUE_FATAL(child > 0);
	CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
	CU_ASSERT_EQUAL(status, 0);
	end_build(&caller);
	CU_ASSERT_TRUE(is_there("slow"));
}

TEST(forked_child_does_not_wait_for_the_parents_kernel)
{
	struct script script = { .closed = true };
	struct caller caller = { .key = "a", .kernel = "slow", .script = &script };
	int status = -1;
	pid_t child;

	CU_ASSERT_EQUAL(use("a", 1), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(use_kernel("a", "built"), CC_WAY_BUILD);
	begin_build(&caller);
	cc_programs_fork_prepare(programs);
	child = fork();
	if (child == 0) {
		cc_programs_fork_child(programs);
		_exit(usage_of().kernels == 1 && kernel_is_there("a", "built") &&
		      use_kernel("a", "slow") == CC_WAY_BUILD ? 0 : 1);
	}
	cc_programs_fork_parent(programs);
	CU_ASSERT_TRUE_FATAL(child > 0);
	CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
	CU_ASSERT_EQUAL(status, 0);
	end_build(&caller);
	CU_ASSERT_TRUE(kernel_is_there("a", "slow"));
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
	renew(0, &counted);
	CU_ASSERT_EQUAL(use("a", 1), CC_WAY_BUILD);
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
