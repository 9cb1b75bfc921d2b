/* SPDX-License-Identifier: MIT */
/*
 * semantics: what the SYCL KernelProgramCache document says of threads, of
 * getOrBuild and of eviction in memory, where the other tests do not show it
 * (docs/SEMANTICS.md has every sentence with its tests). Threads meet at
 * barriers and in callbacks; one that waits for ever ends the program by an
 * alarm. No assertion runs in a second thread.
 */
#include <sched.h>
#include <stdatomic.h>

#include "cachecore/api/api_internal.h"
#include "cachecore/cache.h"
#include "cachecore/memory/programs_internal.h"
#include "tests/support/fast_kernel.h"
#include "tests/support/unit.h"

#define THREADS 8
#define ALARM_S 240		/* under ctest's limit for the program, and far over what it takes */

enum kind { PROGRAM, KERNEL };

/* A counted value, as a runtime's handle is. */
struct value {
	enum kind kind;
	atomic_int refs;
};

static atomic_int alive[2], retained[2], released[2];	/* by kind */
static atomic_int wrong_kind;			/* callbacks that got the other's value */
static struct cc_programs *watched;		/* whose locks every callback tries, or NULL */
static atomic_int tried, found_held;

static void try_lock(pthread_mutex_t *lock)
{
	atomic_fetch_add(&tried, 1);
	if (pthread_mutex_trylock(lock) == 0)
		pthread_mutex_unlock(lock);
	else
		atomic_fetch_add(&found_held, 1);
}

/* Only where one thread is about: another one could hold a lock for its own reasons. */
static void try_locks(void)
{
	if (!watched)
		return;
	try_lock(&watched->lock);
	for (size_t i = 0; i < FAST_KERNEL_SHARDS; i++)
		try_lock(&watched->fast.shards[i].lock);
}

static struct value *value_new(enum kind kind)
{
	struct value *value = calloc(1, sizeof(*value));

	if (!value)
		abort();
	value->kind = kind;
	atomic_init(&value->refs, 1);
	atomic_fetch_add(&alive[kind], 1);
	return value;
}

static void value_unref(struct value *value)
{
	if (atomic_fetch_sub(&value->refs, 1) == 1) {
		atomic_fetch_sub(&alive[value->kind], 1);
		free(value);
	}
}

static void retain(struct value *value, enum kind kind)
{
	try_locks();
	if (value->kind != kind)
		atomic_fetch_add(&wrong_kind, 1);
	atomic_fetch_add(&retained[kind], 1);
	atomic_fetch_add(&value->refs, 1);
}

static void release(struct value *value, enum kind kind)
{
	try_locks();
	if (value->kind != kind)
		atomic_fetch_add(&wrong_kind, 1);
	atomic_fetch_add(&released[kind], 1);
	value_unref(value);
}

static void program_retain(void *value)
{
	retain(value, PROGRAM);
}

static void program_release(void *value)
{
	release(value, PROGRAM);
}

static void kernel_retain(void *value)
{
	retain(value, KERNEL);
}

static void kernel_release(void *value)
{
	release(value, KERNEL);
}

static const struct cc_value_ops program_ops = { program_retain, program_release };
static const struct cc_value_ops kernel_ops = { kernel_retain, kernel_release };

static struct cc_programs *programs;

static void end(void)
{
	cc_programs_free(programs);
	programs = NULL;
	CU_ASSERT_EQUAL(atomic_load(&alive[PROGRAM]), 0);
	CU_ASSERT_EQUAL(atomic_load(&alive[KERNEL]), 0);
	CU_ASSERT_EQUAL(atomic_load(&wrong_kind), 0);
}

/* Instead of those that there are. */
static void renew(uint64_t threshold)
{
	end();
	programs = cc_programs_new(threshold, &program_ops, &kernel_ops);
	CU_ASSERT_PTR_NOT_NULL_FATAL(programs);
}

BEFORE_EACH
{
	renew(0);
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

/* What a build does: its first `failures` calls fail; it may meet others, wait for a gate, or look around. */
struct script {
	_Atomic(enum kind) kind;	/* told by each caller, and always the same */
	int failures;
	enum cmn_status failure;
	int error_code;
	const char *message;		/* of call number `message_from` on; before, no error is carried */
	int message_from;
	size_t size;
	pthread_barrier_t *meeting;
	atomic_bool closed;		/* the first call waits until it is open */
	atomic_bool started;
	atomic_int calls;
	void (*look)(struct script *script);
	struct build_result *result;	/* for look */
};

static void wait_for(atomic_bool *flag, bool wanted)
{
	while (atomic_load(flag) != wanted)
		sched_yield();
}

static enum cachecore_status run_script(void *ctx, struct cachecore_build_output *ret)
{
	struct script *script = ctx;
	int call = atomic_fetch_add(&script->calls, 1);

	try_locks();
	atomic_store(&script->started, true);
	if (script->meeting)
		(void)pthread_barrier_wait(script->meeting);	/* fails for a bad barrier alone */
	wait_for(&script->closed, false);
	if (script->look)
		script->look(script);
	if (call < script->failures) {
		ret->error_code = script->error_code;
		if (script->message && call >= script->message_from)
			ret->error_message = strdup(script->message);
		return (enum cachecore_status)script->failure;
	}
	ret->value = value_new(script->kind);
	ret->size = script->size;
	return CACHECORE_OK;
}

/* A getOrBuild of a program, or with a name of its kernel. */
static enum cmn_status obtain(const char *key, const char *kernel, struct script *script,
			      struct cc_build_taken *taken)
{
	script->kind = kernel ? KERNEL : PROGRAM;
	if (kernel)
		return api_build_kernel(programs, cmn_view_of(key), cmn_view_of(kernel), run_script,
					       script, taken);
	return api_build_program(programs, cmn_view_of(key), run_script, script, false,
					taken);
}

/* The same with a build that succeeds; gives the reference back. */
static enum cc_way use(const char *key, const char *kernel, size_t size)
{
	struct script script = { .size = size };
	struct cc_build_taken taken;

	CU_ASSERT_EQUAL_FATAL(obtain(key, kernel, &script, &taken), CMN_OK);
	value_unref(taken.value);
	return taken.way;
}

static bool is_there(const char *key)
{
	void *value;

	if (cc_programs_get(programs, cmn_view_of(key), &value) != CMN_OK)
		return false;
	value_unref(value);
	return true;
}

/* The BuildResult in the map, without a reference; NULL if there is none. *ret_users: who is between. */
static struct build_result *result_of(const char *key, const char *kernel, unsigned int *ret_users)
{
	const struct cmn_view name = cmn_view_of(kernel);
	struct program_record *program;
	struct build_result *result = cc_programs_lock_and_find(programs, cmn_view_of(key),
								kernel ? &name : NULL, &program);

	*ret_users = result ? result->users : 0;
	pthread_mutex_unlock(&programs->lock);
	return result;
}

/* An obtain in a thread of its own. */
struct caller {
	pthread_t thread;
	const char *key, *kernel;
	struct script *script;
	struct cc_build_taken taken;
	enum cmn_status status;
};

static void *call(void *arg)
{
	struct caller *caller = arg;

	caller->status = obtain(caller->key, caller->kernel, caller->script, &caller->taken);
	return NULL;
}

static void caller_start(struct caller *caller)
{
	CU_ASSERT_EQUAL_FATAL(pthread_create(&caller->thread, NULL, call, caller), 0);
}

static void caller_join(struct caller *caller)
{
	CU_ASSERT_EQUAL_FATAL(pthread_join(caller->thread, NULL), 0);
}

static void caller_drop(struct caller *caller)
{
	if (caller->status == CMN_OK)
		value_unref(caller->taken.value);
	else
		free(caller->taken.error_message);
}

/*
 * The first of these threads builds and is let go when all others have found
 * its BuildResult, which is in progress: they are the document's threads B.
 */
static void one_builder_many_waiters(const char *kernel, struct script *script,
				     struct caller callers[THREADS])
{
	unsigned int users;

	atomic_store(&script->closed, true);
	for (size_t i = 0; i < THREADS; i++) {
		callers[i] = (struct caller){ .key = "key", .kernel = kernel, .script = script };
		caller_start(&callers[i]);
		if (i == 0)
			wait_for(&script->started, true);
	}
	do {
		sched_yield();
		(void)result_of("key", kernel, &users);	/* the number is all */
	} while (users < THREADS);
	CU_ASSERT_EQUAL(atomic_load(&script->calls), 1);
	atomic_store(&script->closed, false);
	for (size_t i = 0; i < THREADS; i++)
		caller_join(&callers[i]);
}

/* "enqueueing multiple cacheable kernels simultaneously from multiple threads" */
TEST(threads_build_the_kernels_of_one_program_at_once)
{
	static const char *const names[THREADS] = { "a", "b", "c", "d", "e", "f", "g", "h" };
	struct script scripts[THREADS] = { 0 };
	struct caller callers[THREADS];
	pthread_barrier_t meeting;

	/* Nobody leaves a build before everybody is in one. */
	CU_ASSERT_EQUAL_FATAL(pthread_barrier_init(&meeting, NULL, THREADS), 0);
	CU_ASSERT_EQUAL(use("key", NULL, 1), CC_WAY_BUILD);
	for (size_t i = 0; i < THREADS; i++) {
		scripts[i].meeting = &meeting;
		callers[i] = (struct caller){ .key = "key", .kernel = names[i],
					      .script = &scripts[i] };
		caller_start(&callers[i]);
	}
	for (size_t i = 0; i < THREADS; i++) {
		caller_join(&callers[i]);
		CU_ASSERT_EQUAL(callers[i].status, CMN_OK);
		CU_ASSERT_EQUAL(callers[i].taken.way, CC_WAY_BUILD);
		caller_drop(&callers[i]);
		CU_ASSERT_EQUAL(use("key", names[i], 0), CC_WAY_FOUND);
	}
	CU_ASSERT_EQUAL(usage_of().kernels, THREADS);
	(void)pthread_barrier_destroy(&meeting);	/* nobody waits there */
}

static void expect_stub(struct script *script)
{
	CU_ASSERT_EQUAL(cc_build_result_state(script->result), BUILD_IN_PROGRESS);
	CU_ASSERT_PTR_NULL(atomic_load(&script->result->value));
}

/* "pointer to built resource, build error ... and current build status" */
TEST(a_build_result_is_value_error_and_state)
{
	struct build_result *good = cc_build_result_new(&program_ops, sizeof(struct build_result));
	struct build_result *bad = cc_build_result_new(&program_ops, sizeof(struct build_result));
	struct script makes = { .look = expect_stub, .result = good, .size = 9 };
	struct script fails = { .look = expect_stub, .result = bad, .failures = 1,
				.failure = CMN_ERR_DRIVER, .error_code = -11, .message = "no" };
	const struct api_request make = { run_script, &makes, NULL, false };
	const struct api_request fail = { run_script, &fails, NULL, false };
	struct cc_build_taken taken;

	CU_ASSERT_TRUE_FATAL(good && bad);
	CU_ASSERT_EQUAL(cc_build_result_state(good), BUILD_UNCLAIMED);
	CU_ASSERT_EQUAL_FATAL(api_build_result(good, &make, &taken), CMN_OK);
	CU_ASSERT_EQUAL(cc_build_result_state(good), BUILD_SUCCEEDED);
	CU_ASSERT_PTR_EQUAL(atomic_load(&good->value), taken.value);
	CU_ASSERT_EQUAL(good->size, 9);
	value_unref(taken.value);
	CU_ASSERT_EQUAL(api_build_result(bad, &fail, &taken), CMN_ERR_DRIVER);
	CU_ASSERT_EQUAL(cc_build_result_state(bad), BUILD_FAILED);
	CU_ASSERT_PTR_NULL(atomic_load(&bad->value));
	CU_ASSERT_EQUAL(bad->status, CMN_ERR_DRIVER);
	CU_ASSERT_EQUAL(bad->error_code, -11);
	CU_ASSERT_STRING_EQUAL(bad->error_message, "no");
	free(taken.error_message);
	cc_build_result_unref(good);
	cc_build_result_unref(bad);
	CU_ASSERT_EQUAL(atomic_load(&alive[PROGRAM]), 0);
}

static void expect_stub_in_map(struct script *script)
{
	const char *kernel = script->kind == KERNEL ? "k" : NULL;
	unsigned int users;
	struct build_result *result = result_of("key", kernel, &users);

	CU_ASSERT_PTR_NOT_NULL_FATAL(result);
	CU_ASSERT_EQUAL(cc_build_result_state(result), BUILD_IN_PROGRESS);
	CU_ASSERT_PTR_NULL(atomic_load(&result->value));
	CU_ASSERT_EQUAL(users, 1);
	if (script->kind == PROGRAM)
		CU_ASSERT_FALSE(is_there("key"));
}

/* "we try to insert BuildResult stub instance with status equal to 'in progress'" */
TEST(a_stub_is_in_the_map_while_it_is_built)
{
	struct script script;
	struct cc_build_taken taken;
	struct build_result *result;
	unsigned int users;

	for (int i = 0; i < 2; i++) {
		const char *kernel = i ? "k" : NULL;

		script = (struct script){ .look = expect_stub_in_map };
		CU_ASSERT_EQUAL_FATAL(obtain("key", kernel, &script, &taken), CMN_OK);
		result = result_of("key", kernel, &users);
		CU_ASSERT_PTR_NOT_NULL_FATAL(result);
		CU_ASSERT_EQUAL(cc_build_result_state(result), BUILD_SUCCEEDED);
		CU_ASSERT_PTR_EQUAL(atomic_load(&result->value), taken.value);
		CU_ASSERT_EQUAL(users, 0);
		value_unref(taken.value);
	}
}

/* "the global lock is acquired only for the duration of the global map access" */
TEST(no_callback_is_called_with_a_lock_held)
{
	struct script fails = { .failures = 1, .failure = CMN_ERR_DRIVER, .message = "no" };
	struct script no_memory = { .failures = 1, .failure = CMN_ERR_NOMEM, .size = 4 };
	struct cc_build_taken taken;
	void *kernel;

	renew(10);
	atomic_store(&tried, 0);
	atomic_store(&found_held, 0);
	watched = programs;
	CU_ASSERT_EQUAL(use("a", NULL, 8), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(use("a", NULL, 8), CC_WAY_FOUND);
	CU_ASSERT_EQUAL(use("a", NULL, 8), CC_WAY_FOUND);
	CU_ASSERT_EQUAL(obtain("a", "k", &(struct script){ 0 }, &taken), CMN_OK);
	CU_ASSERT_EQUAL(fast_kernel_put(programs, cmn_view_of("a"), 0, NULL, cmn_view_of("k"),
					   taken.value), CMN_OK);
	value_unref(taken.value);
	CU_ASSERT_EQUAL(use("a", "k", 0), CC_WAY_FOUND);
	CU_ASSERT_EQUAL(use("a", "k", 0), CC_WAY_FOUND);
	CU_ASSERT_EQUAL_FATAL(fast_kernel_get(programs, 0, NULL, cmn_view_of("k"), &kernel),
			      CMN_OK);
	value_unref(kernel);
	CU_ASSERT_EQUAL(obtain("bad", NULL, &fails, &taken), CMN_ERR_DRIVER);
	free(taken.error_message);
	CU_ASSERT_EQUAL(use("b", NULL, 8), CC_WAY_BUILD);	/* evicts a, with its kernel */
	CU_ASSERT_FALSE(is_there("a"));
	CU_ASSERT_EQUAL(obtain("c", NULL, &no_memory, &taken), CMN_OK);	/* flushes */
	value_unref(taken.value);
	CU_ASSERT_EQUAL(cc_programs_put(programs, cmn_view_of("c"), value_new(PROGRAM), 1), CMN_OK);
	cc_programs_remove(programs, cmn_view_of("c"), NULL);
	CU_ASSERT_EQUAL(use("d", NULL, 8), CC_WAY_BUILD);
	cc_programs_flush(programs);
	watched = NULL;
	CU_ASSERT_TRUE(atomic_load(&tried) > 10 * FAST_KERNEL_SHARDS);
	CU_ASSERT_EQUAL(atomic_load(&found_held), 0);
}

/* "so other threads can request or build other programs in the meantime": also while some wait */
TEST(waiters_hold_no_lock)
{
	struct script script = { .closed = true };
	struct caller callers[THREADS];
	unsigned int users;

	for (size_t i = 0; i < THREADS; i++) {
		callers[i] = (struct caller){ .key = "key", .script = &script };
		caller_start(&callers[i]);
	}
	do {
		sched_yield();
		(void)result_of("key", NULL, &users);	/* the number is all */
	} while (users < THREADS);
	CU_ASSERT_EQUAL(use("other", NULL, 1), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(use("other", "k", 1), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(use("other", NULL, 1), CC_WAY_FOUND);
	CU_ASSERT_FALSE(is_there("key"));
	atomic_store(&script.closed, false);
	for (size_t i = 0; i < THREADS; i++) {
		caller_join(&callers[i]);
		caller_drop(&callers[i]);
	}
}

/* "The thread simply takes it from the Ptr field w/o using any mutexes or condition variables." */
TEST(a_finished_result_is_taken_without_its_mutex)
{
	struct script fails = { .failures = 1, .failure = CMN_ERR_DRIVER, .message = "no" };
	struct build_result *good, *bad;
	struct cc_build_taken taken;
	unsigned int users;

	CU_ASSERT_EQUAL(use("key", NULL, 1), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(api_build_program(programs, cmn_view_of("bad"), run_script, &fails,
						 true, &taken), CMN_ERR_DRIVER);
	free(taken.error_message);
	good = result_of("key", NULL, &users);
	bad = result_of("bad", NULL, &users);
	CU_ASSERT_TRUE_FATAL(good && bad);
	/* Who wanted one of these would wait for ever. */
	pthread_mutex_lock(&good->lock);
	pthread_mutex_lock(&bad->lock);
	CU_ASSERT_EQUAL(use("key", NULL, 1), CC_WAY_FOUND);
	CU_ASSERT_TRUE(is_there("key"));
	CU_ASSERT_EQUAL(api_build_program(programs, cmn_view_of("bad"), run_script, &fails,
						 true, &taken), CMN_ERR_DRIVER);
	CU_ASSERT_EQUAL(taken.way, CC_WAY_FOUND);
	CU_ASSERT_STRING_EQUAL(taken.error_message, "no");
	free(taken.error_message);
	pthread_mutex_unlock(&bad->lock);
	pthread_mutex_unlock(&good->lock);
}

/* The Fast Kernel Cache is there to spare the look into the maps, and so their lock. */
TEST(a_fast_kernel_is_taken_without_the_lock_of_the_maps)
{
	struct cc_build_taken taken;
	void *kernel = NULL;

	CU_ASSERT_EQUAL(use("key", NULL, 1), CC_WAY_BUILD);
	CU_ASSERT_EQUAL_FATAL(obtain("key", "k", &(struct script){ 0 }, &taken), CMN_OK);
	CU_ASSERT_EQUAL(fast_kernel_put(programs, cmn_view_of("key"), 7, programs,
					   cmn_view_of("k"), taken.value), CMN_OK);
	pthread_mutex_lock(&programs->lock);
	CU_ASSERT_EQUAL(fast_kernel_get(programs, 7, programs, cmn_view_of("k"), &kernel),
			CMN_OK);
	CU_ASSERT_EQUAL(fast_kernel_get(programs, 8, programs, cmn_view_of("k"), &kernel),
			CMN_MISS);
	pthread_mutex_unlock(&programs->lock);
	CU_ASSERT_PTR_EQUAL_FATAL(kernel, taken.value);
	value_unref(kernel);
	value_unref(taken.value);
}

#define RACES 5000	/* with two free processors a look and a store instead of a swap loses some of them */

/* One BuildResult that both threads want in the same instant, without any map. */
struct race {
	struct build_result *result;
	atomic_int builds;
	atomic_int arrived;
};

struct racer {
	pthread_t thread;
	struct race *races;
	int built, failed;
};

static enum cachecore_status build_for_race(void *ctx, struct cachecore_build_output *ret)
{
	atomic_fetch_add((atomic_int *)ctx, 1);
	ret->value = value_new(PROGRAM);
	return CACHECORE_OK;
}

static void *run_races(void *arg)
{
	struct racer *racer = arg;

	for (int i = 0; i < RACES; i++) {
		struct race *race = &racer->races[i];
		const struct api_request request = { build_for_race, &race->builds, NULL, false };
		struct cc_build_taken taken;

		atomic_fetch_add(&race->arrived, 1);
		for (int spins = 1; atomic_load(&race->arrived) < 2; spins++) {
			if (spins % 1000 == 0)	/* the other one may need this processor */
				(void)sched_yield();	/* cannot fail */
		}
		if (api_build_result(race->result, &request, &taken) != CMN_OK) {
			racer->failed++;
			continue;
		}
		racer->built += taken.way == CC_WAY_BUILD;
		value_unref(taken.value);
	}
	return NULL;
}

/* "threads use compare-and-swap technique to compete who will do the build and become thread A" */
TEST(threads_that_compete_for_one_result_build_it_once)
{
	struct race *races = calloc(RACES, sizeof(*races));
	struct racer racers[2] = { { .races = races }, { .races = races } };
	int twice = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(races);
	for (int i = 0; i < RACES; i++) {
		races[i].result = cc_build_result_new(&program_ops, sizeof(struct build_result));
		CU_ASSERT_PTR_NOT_NULL_FATAL(races[i].result);
	}
	for (int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL_FATAL(pthread_create(&racers[i].thread, NULL, run_races,
						     &racers[i]), 0);
	for (int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL_FATAL(pthread_join(racers[i].thread, NULL), 0);
	for (int i = 0; i < RACES; i++) {
		twice += atomic_load(&races[i].builds) != 1;
		cc_build_result_unref(races[i].result);
	}
	CU_ASSERT_EQUAL(twice, 0);
	CU_ASSERT_EQUAL(racers[0].built + racers[1].built, RACES);
	CU_ASSERT_EQUAL(racers[0].failed + racers[1].failed, 0);
	CU_ASSERT_EQUAL(atomic_load(&alive[PROGRAM]), 0);
	free(races);
}

/* "single producer-multiple consumers scheme" */
TEST(one_builder_serves_many_waiters)
{
	struct caller callers[THREADS];

	CU_ASSERT_EQUAL(use("key", NULL, 1), CC_WAY_BUILD);
	for (int i = 0; i < 2; i++) {
		const char *kernel = i ? NULL : "k";	/* first, as its program must be built */
		struct script script = { .size = 1 };

		if (!kernel)
			cc_programs_flush(programs);
		one_builder_many_waiters(kernel, &script, callers);
		CU_ASSERT_EQUAL(atomic_load(&script.calls), 1);
		for (size_t j = 0; j < THREADS; j++) {
			CU_ASSERT_EQUAL_FATAL(callers[j].status, CMN_OK);
			CU_ASSERT_PTR_EQUAL(callers[j].taken.value, callers[0].taken.value);
			CU_ASSERT_EQUAL(callers[j].taken.way == CC_WAY_BUILD, j == 0);
		}
		for (size_t j = 0; j < THREADS; j++)
			caller_drop(&callers[j]);
	}
}

/* Sees a result go from state to state, and reads what the last one publishes without the mutex. */
struct observer {
	pthread_t thread;
	struct build_result *result;
	enum build_state last;
	void *value;
	size_t size;
	int error_code;
};

static void *observe(void *arg)
{
	struct observer *observer = arg;

	do {
		observer->last = cc_build_result_state(observer->result);
	} while (observer->last < BUILD_SUCCEEDED && sched_yield() == 0);
	observer->value = atomic_load(&observer->result->value);
	observer->size = observer->result->size;
	observer->error_code = observer->result->error_code;
	return NULL;
}

/* "All fields are atomic because they can be accessed from multiple threads.": for the thread sanitizer too */
TEST(what_a_state_publishes_is_read_without_a_lock)
{
	for (int failures = 0; failures < 2; failures++) {
		struct build_result *result = cc_build_result_new(&program_ops, sizeof(struct build_result));
		struct script script = { .failures = failures, .failure = CMN_ERR_DRIVER,
					 .error_code = 3, .message = "no", .size = 5 };
		const struct api_request request = { run_script, &script, NULL, false };
		struct observer observer = { .result = result };
		struct cc_build_taken taken;
		enum cmn_status status;

		CU_ASSERT_PTR_NOT_NULL_FATAL(result);
		CU_ASSERT_EQUAL_FATAL(pthread_create(&observer.thread, NULL, observe, &observer),
				      0);
		status = api_build_result(result, &request, &taken);
		CU_ASSERT_EQUAL_FATAL(pthread_join(observer.thread, NULL), 0);
		CU_ASSERT_EQUAL(status, failures ? CMN_ERR_DRIVER : CMN_OK);
		CU_ASSERT_EQUAL(observer.last, failures ? BUILD_FAILED : BUILD_SUCCEEDED);
		CU_ASSERT_PTR_EQUAL(observer.value, taken.value);
		CU_ASSERT_EQUAL(observer.error_code, failures ? 3 : 0);
		if (status == CMN_OK) {
			CU_ASSERT_EQUAL(observer.size, 5);
			value_unref(taken.value);
		}
		free(taken.error_message);
		cc_build_result_unref(result);
	}
	CU_ASSERT_EQUAL(atomic_load(&alive[PROGRAM]), 0);
}

/* "specialized with either ur_kernel_handle_t or ur_program_handle_t" */
TEST(programs_and_kernels_have_callbacks_of_their_own)
{
	for (int kind = 0; kind < 2; kind++) {
		atomic_store(&retained[kind], 0);
		atomic_store(&released[kind], 0);
	}
	CU_ASSERT_EQUAL(use("key", NULL, 1), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(use("key", "k", 0), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(use("key", "k", 0), CC_WAY_FOUND);
	CU_ASSERT_EQUAL(atomic_load(&retained[PROGRAM]), 1);
	CU_ASSERT_EQUAL(atomic_load(&retained[KERNEL]), 2);
	end();
	CU_ASSERT_EQUAL(atomic_load(&released[PROGRAM]), 1);
	CU_ASSERT_EQUAL(atomic_load(&released[KERNEL]), 1);
}

/* "This allows waiting threads to see the same result as the building thread." */
TEST(every_waiter_gets_the_builders_error)
{
	struct caller callers[THREADS];

	CU_ASSERT_EQUAL(use("key", NULL, 1), CC_WAY_BUILD);
	for (int i = 0; i < 2; i++) {
		const char *kernel = i ? NULL : "k";	/* first, as its program must be built */
		struct script script = { .failures = THREADS, .failure = CMN_ERR_DRIVER,
					 .error_code = -11, .message = "line 3" };

		if (!kernel)
			cc_programs_flush(programs);
		one_builder_many_waiters(kernel, &script, callers);
		CU_ASSERT_EQUAL(atomic_load(&script.calls), 1);
		for (size_t j = 0; j < THREADS; j++) {
			CU_ASSERT_EQUAL(callers[j].status, CMN_ERR_DRIVER);
			CU_ASSERT_EQUAL(callers[j].taken.error_code, -11);
			CU_ASSERT_PTR_NOT_NULL_FATAL(callers[j].taken.error_message);
			CU_ASSERT_STRING_EQUAL(callers[j].taken.error_message, "line 3");
			caller_drop(&callers[j]);
		}
	}
}

/* "the waiting thread will try to build the same object once more": one of many does, and serves the others */
TEST(one_of_many_waiters_retries_for_the_others)
{
	struct caller callers[THREADS];

	CU_ASSERT_EQUAL(use("key", NULL, 1), CC_WAY_BUILD);
	for (int i = 0; i < 2; i++) {
		const char *kernel = i ? NULL : "k";	/* first, as its program must be built */
		struct script script = { .failures = 1, .failure = CMN_ERR_DRIVER,
					 .error_code = -5, .size = 1 };
		int built = 0;

		if (!kernel)
			cc_programs_flush(programs);
		one_builder_many_waiters(kernel, &script, callers);
		CU_ASSERT_EQUAL(atomic_load(&script.calls), 2);
		CU_ASSERT_EQUAL(callers[0].status, CMN_ERR_DRIVER);
		CU_ASSERT_EQUAL(callers[0].taken.error_code, -5);
		for (size_t j = 1; j < THREADS; j++) {
			CU_ASSERT_EQUAL_FATAL(callers[j].status, CMN_OK);
			CU_ASSERT_PTR_EQUAL(callers[j].taken.value, callers[1].taken.value);
			built += callers[j].taken.way == CC_WAY_BUILD;
		}
		CU_ASSERT_EQUAL(built, 1);
		for (size_t j = 0; j < THREADS; j++)
			caller_drop(&callers[j]);
		CU_ASSERT_EQUAL(use("key", kernel, 1), CC_WAY_FOUND);
	}
}

/* The second build's error is no longer a spurious one: all that still wait get it. */
TEST(a_retry_that_fails_with_an_error_is_the_others_result)
{
	struct script script = { .failures = THREADS, .failure = CMN_ERR_DRIVER,
				 .error_code = -11, .message = "line 3", .message_from = 1 };
	struct caller callers[THREADS];

	one_builder_many_waiters(NULL, &script, callers);
	CU_ASSERT_EQUAL(atomic_load(&script.calls), 2);
	for (size_t i = 0; i < THREADS; i++) {
		CU_ASSERT_EQUAL(callers[i].status, CMN_ERR_DRIVER);
		CU_ASSERT_EQUAL(callers[i].taken.error_message == NULL, i == 0);
		caller_drop(&callers[i]);
	}
	CU_ASSERT_EQUAL(usage_of().programs, 0);
}

/* The eviction list as the document describes it: the most recently used at the end. */
struct model {
	char keys[32];
	size_t sizes[32];
	size_t count, bytes, threshold;
};

static bool model_fetch(struct model *model, char key)
{
	const char *found = memchr(model->keys, key, model->count);
	size_t at, size;

	if (!found)
		return false;
	at = (size_t)(found - model->keys);
	size = model->sizes[at];
	memmove(model->keys + at, model->keys + at + 1, model->count - at - 1);
	memmove(model->sizes + at, model->sizes + at + 1,
		(model->count - at - 1) * sizeof(model->sizes[0]));
	model->keys[model->count - 1] = key;
	model->sizes[model->count - 1] = size;
	return true;
}

static void model_add(struct model *model, char key, size_t size)
{
	model->keys[model->count] = key;
	model->sizes[model->count++] = size;
	model->bytes += size;
	while (model->bytes > model->threshold) {
		model->bytes -= model->sizes[0];
		model->count--;
		memmove(model->keys, model->keys + 1, model->count);
		memmove(model->sizes, model->sizes + 1, model->count * sizeof(model->sizes[0]));
	}
}

/* "iterate through the eviction list starting from the front and delete the programs until": step by step */
TEST(programs_go_as_the_eviction_list_of_the_document_says)
{
	struct model model = { .threshold = 100 };
	uint64_t random = 1;

	renew(model.threshold);
	for (int step = 0; step < 5000; step++) {
		/* Knuth's MMIX generator: the same steps in every run. */
		random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		const char key[2] = { (char)('a' + (random >> 33) % 20), '\0' };
		const size_t size = 1 + (random >> 40) % 30;
		const bool there = model_fetch(&model, key[0]);

		switch ((random >> 50) % 3) {
		case 0:
			CU_ASSERT_EQUAL(is_there(key), there);
			break;
		case 1:
			CU_ASSERT_EQUAL(use(key, NULL, size), there ? CC_WAY_FOUND : CC_WAY_BUILD);
			if (!there)
				model_add(&model, key[0], size);
			break;
		default:
			(void)use(key, "k", 0);	/* without the program it is not kept */
			break;
		}
		CU_ASSERT_EQUAL_FATAL(usage_of().bytes, model.bytes);
		CU_ASSERT_EQUAL_FATAL(usage_of().programs, model.count);
	}
}

/* "When the program is first added to the cache": with its stub, and again when it is built and counts */
TEST(a_program_that_took_long_is_the_last_in_the_list)
{
	struct script slow = { .closed = true, .size = 10 };
	struct caller caller = { .key = "slow", .script = &slow };

	renew(30);
	caller_start(&caller);
	wait_for(&slow.started, true);
	CU_ASSERT_EQUAL(use("a", NULL, 10), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(use("b", NULL, 10), CC_WAY_BUILD);
	atomic_store(&slow.closed, false);
	caller_join(&caller);
	caller_drop(&caller);
	CU_ASSERT_EQUAL(use("c", NULL, 20), CC_WAY_BUILD);	/* a and b go */
	CU_ASSERT_TRUE(is_there("slow"));
	CU_ASSERT_FALSE(is_there("a"));
	CU_ASSERT_FALSE(is_there("b"));
}

/* "When a program is deleted from the cache": what a thread has taken of it stays valid. */
TEST(what_a_thread_holds_outlives_its_eviction)
{
	struct cc_build_taken program, kernel;

	renew(10);
	CU_ASSERT_EQUAL_FATAL(obtain("a", NULL, &(struct script){ .size = 10 }, &program), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(obtain("a", "k", &(struct script){ 0 }, &kernel), CMN_OK);
	CU_ASSERT_EQUAL(use("b", NULL, 10), CC_WAY_BUILD);
	CU_ASSERT_FALSE(is_there("a"));
	CU_ASSERT_EQUAL(usage_of().kernels, 0);
	CU_ASSERT_EQUAL(atomic_load(&((struct value *)program.value)->refs), 1);
	CU_ASSERT_EQUAL(atomic_load(&((struct value *)kernel.value)->refs), 1);
	value_unref(kernel.value);
	value_unref(program.value);
}

/* A launch through the fast kernel cache does not fetch the program, and must not pay for moving it. */
TEST(a_fast_kernel_hit_does_not_move_its_program)
{
	struct cc_build_taken taken;
	void *kernel;

	renew(20);
	CU_ASSERT_EQUAL(use("a", NULL, 10), CC_WAY_BUILD);
	CU_ASSERT_EQUAL_FATAL(obtain("a", "k", &(struct script){ 0 }, &taken), CMN_OK);
	CU_ASSERT_EQUAL(fast_kernel_put(programs, cmn_view_of("a"), 0, NULL, cmn_view_of("k"),
					   taken.value), CMN_OK);
	value_unref(taken.value);
	CU_ASSERT_EQUAL(use("b", NULL, 10), CC_WAY_BUILD);
	CU_ASSERT_EQUAL_FATAL(fast_kernel_get(programs, 0, NULL, cmn_view_of("k"), &kernel),
			      CMN_OK);
	value_unref(kernel);
	CU_ASSERT_EQUAL(use("c", NULL, 10), CC_WAY_BUILD);
	CU_ASSERT_FALSE(is_there("a"));
	CU_ASSERT_TRUE(is_there("b"));
}

/* "the maximum size of the in-memory program cache in bytes": errors that stay are in it too */
TEST(remembered_errors_are_evicted_like_programs)
{
	struct script fails = { .failures = 100, .failure = CMN_ERR_DRIVER, .message = "12345678" };
	struct cc_build_taken taken;
	char key[] = "a";

	renew(30);
	for (; key[0] <= 'z'; key[0]++) {
		CU_ASSERT_EQUAL(api_build_program(programs, cmn_view_of(key), run_script,
							 &fails, true, &taken), CMN_ERR_DRIVER);
		CU_ASSERT_EQUAL(taken.way, CC_WAY_BUILD);
		free(taken.error_message);
		CU_ASSERT_TRUE(usage_of().bytes <= 30);
		CU_ASSERT_TRUE(usage_of().programs <= 3);
	}
	CU_ASSERT_EQUAL(usage_of().programs, 3);
	CU_ASSERT_EQUAL(usage_of().bytes, 3 * sizeof("12345678"));
}

/* "either due to cache eviction being disabled or the cache eviction threshold being too high" */
TEST(out_of_memory_flushes_whatever_the_threshold_is)
{
	static const uint64_t thresholds[] = { 0, 100, UINT64_MAX };

	for (size_t i = 0; i < sizeof(thresholds) / sizeof(thresholds[0]); i++) {
		struct script script = { .failures = 1, .failure = CMN_ERR_NOMEM, .size = 1 };
		struct cc_build_taken taken;

		renew(thresholds[i]);
		CU_ASSERT_EQUAL(use("a", NULL, 10), CC_WAY_BUILD);
		CU_ASSERT_EQUAL(use("a", "k", 0), CC_WAY_BUILD);
		CU_ASSERT_EQUAL(use("b", NULL, 10), CC_WAY_BUILD);
		CU_ASSERT_EQUAL(obtain("key", NULL, &script, &taken), CMN_OK);
		CU_ASSERT_EQUAL(atomic_load(&script.calls), 2);
		CU_ASSERT_EQUAL(atomic_load(&alive[PROGRAM]), 1);
		CU_ASSERT_EQUAL(atomic_load(&alive[KERNEL]), 0);
		CU_ASSERT_EQUAL(usage_of().programs, 1);
		value_unref(taken.value);
	}
}

/* A stub has no memory to give, and its waiters would be left without what they wait for. */
TEST(out_of_memory_leaves_builds_in_progress)
{
	struct script slow = { .closed = true, .size = 1 };
	struct script script = { .failures = 1, .failure = CMN_ERR_NOMEM, .size = 1 };
	struct caller caller = { .key = "slow", .script = &slow };
	struct cc_build_taken taken;

	caller_start(&caller);
	wait_for(&slow.started, true);
	CU_ASSERT_EQUAL(obtain("key", NULL, &script, &taken), CMN_OK);
	value_unref(taken.value);
	atomic_store(&slow.closed, false);
	caller_join(&caller);
	CU_ASSERT_EQUAL(caller.status, CMN_OK);
	caller_drop(&caller);
	CU_ASSERT_TRUE(is_there("slow"));
}

static enum cmn_status build_entry(void *ctx, struct cc_entry **ret)
{
	static const char image[1000] = { 1 };

	++*(int *)ctx;
	*ret = cc_entry_new(1);
	if (!*ret)
		return CMN_ERR_NOMEM;
	cc_entry_add(*ret, CC_TAG_IMAGE, 0, image, sizeof(image));
	return cc_entry_finish(*ret, NULL);
}

/* Two entries of a kilobyte, then the first again: how often was it built in all? */
static int builds_with_threshold(const char *threshold)
{
	static const char *const sources[] = { "a", "b", "a" };
	struct cc_cache *cache = NULL;
	int builds = 0;

	setenv("CKCACHE_IN_MEM_EVICTION_THRESHOLD", threshold, 1);
	setenv("CKCACHE_PERSISTENT", "0", 1);
	CU_ASSERT_EQUAL_FATAL(cc_cache_open(&cache), CMN_OK);
	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		struct cc_entry *entry = NULL;
		enum cc_origin origin;
		struct cc_key key;

		cc_key_init(&key);
		cc_key_add_text(&key, CC_PART_DEVICE, "device.name", "test");
		cc_key_add_text(&key, CC_PART_IMAGE, "source", sources[i]);
		CU_ASSERT_EQUAL_FATAL(cc_cache_get_or_build(cache, &key, build_entry, &builds,
							    &entry, &origin), CMN_OK);
		cc_entry_unref(entry);
		cc_key_release(&key);
	}
	cc_cache_close(cache);
	unsetenv("CKCACHE_IN_MEM_EVICTION_THRESHOLD");
	unsetenv("CKCACHE_PERSISTENT");
	return builds;
}

/* "The threshold is set in bytes and when the cache size exceeds the threshold": from the environment on */
TEST(the_configured_threshold_bounds_memory)
{
	CU_ASSERT_EQUAL(builds_with_threshold("1500"), 3);
	CU_ASSERT_EQUAL(builds_with_threshold("4000"), 2);
	CU_ASSERT_EQUAL(builds_with_threshold("0"), 2);
}

int main(void)
{
	(void)alarm(ALARM_S);	/* cannot fail */
	return unit_run(NULL);
}
