/* SPDX-License-Identifier: MIT */
/*
 * semantics: what the SYCL KernelProgramCache document says of threads, of
 * getOrBuild and of eviction in memory, where the other tests do not show it
 * (docs/SEMANTICS.md has every sentence with its tests). Threads meet at
 * barriers and in callbacks; one that waits for ever ends the program by an
 * alarm. No assertion runs in a second thread.
 */
#include "cachecore/cache.h"
#include "tests/unit/cachecore/memory/maps.h"

#define ALARM_S 240		/* under ctest's limit for the program, and far over what it takes */

/*
 * The first of these threads builds and is let go when all others have found
 * its BuildResult, which is in progress: they are the document's threads B.
 */
static void one_builder_many_waiters(const char *kernel, struct script *script, struct caller callers[THREADS])
{
	cc_programs_flush(programs);
	if (kernel)	/* whose program must be there */
		CU_ASSERT_EQUAL(use("key", NULL, 1), CC_WAY_BUILD);
	atomic_store(&script->closed, true);
	for (size_t i = 0; i < THREADS; i++) {
		callers[i] = (struct caller){ .key = "key", .kernel = kernel, .script = script };
		caller_start(&callers[i]);
		if (i == 0)
			wait_for(&script->started, true);
	}
	while (users_of("key", kernel) < THREADS)
		sched_yield();
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

static unsigned int tried, found_held;

static void try_lock(pthread_mutex_t *lock)
{
	tried++;
	if (pthread_mutex_trylock(lock) == 0)
		pthread_mutex_unlock(lock);
	else
		found_held++;
}

/* Only where one thread is about: another one could hold a lock for its own reasons. */
static void try_locks(void)
{
	try_lock(&programs->lock);
	for (size_t i = 0; i < FAST_KERNEL_SHARDS; i++)
		try_lock(&programs->fast.shards[i].lock);
}

/* "the global lock is acquired only for the duration of the global map access" */
TEST(no_callback_is_called_with_a_lock_held)
{
	struct script fails = { .failures = 1, .failure = CMN_ERR_DRIVER, .message = "no" };
	struct script no_memory = { .failures = 1, .failure = CMN_ERR_NOMEM, .size = 4 };
	struct cc_build_taken taken;

	renew(10);
	in_callbacks = try_locks;
	CU_ASSERT_EQUAL(use("a", NULL, 8), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(use("a", NULL, 8), CC_WAY_FOUND);
	CU_ASSERT_EQUAL(use("a", NULL, 8), CC_WAY_FOUND);
	(void)add_fast_kernel("a", "k", 0);
	CU_ASSERT_EQUAL(use("a", "k", 0), CC_WAY_FOUND);
	CU_ASSERT_EQUAL(use("a", "k", 0), CC_WAY_FOUND);
	CU_ASSERT_PTR_NOT_NULL_FATAL(get_fast_kernel("k", 0));
	CU_ASSERT_EQUAL(obtain("bad", NULL, &fails, &taken), CMN_ERR_DRIVER);
	free(taken.error_message);
	CU_ASSERT_EQUAL(use("b", NULL, 8), CC_WAY_BUILD);	/* evicts a, with its kernel */
	CU_ASSERT_FALSE(is_there("a"));
	CU_ASSERT_EQUAL(obtain("c", NULL, &no_memory, &taken), CMN_OK);	/* flushes */
	value_unref(taken.value);
	CU_ASSERT_EQUAL(put("c", value_new(PROGRAM), 1), CMN_OK);
	cc_programs_remove(programs, cmn_view_of("c"), NULL);
	CU_ASSERT_EQUAL(use("d", NULL, 8), CC_WAY_BUILD);
	cc_programs_flush(programs);
	in_callbacks = NULL;
	CU_ASSERT_TRUE(tried > 10 * FAST_KERNEL_SHARDS);
	CU_ASSERT_EQUAL(found_held, 0);
}

/* "so other threads can request or build other programs in the meantime": also while some wait */
TEST(waiters_hold_no_lock)
{
	struct script script = { .closed = true };
	struct caller callers[THREADS];

	for (size_t i = 0; i < THREADS; i++) {
		callers[i] = (struct caller){ .key = "key", .script = &script };
		caller_start(&callers[i]);
	}
	while (users_of("key", NULL) < THREADS)
		sched_yield();
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
	CU_ASSERT_EQUAL(obtain_remembered("bad", &fails, &taken), CMN_ERR_DRIVER);
	free(taken.error_message);
	good = result_of("key", NULL, &users);
	bad = result_of("bad", NULL, &users);
	CU_ASSERT_TRUE_FATAL(good && bad);
	/* Who wanted one of these would wait for ever. */
	pthread_mutex_lock(&good->lock);
	pthread_mutex_lock(&bad->lock);
	CU_ASSERT_EQUAL(use("key", NULL, 1), CC_WAY_FOUND);
	CU_ASSERT_TRUE(is_there("key"));
	CU_ASSERT_EQUAL(obtain_remembered("bad", &fails, &taken), CMN_ERR_DRIVER);
	CU_ASSERT_EQUAL(taken.way, CC_WAY_FOUND);
	CU_ASSERT_STRING_EQUAL(taken.error_message, "no");
	free(taken.error_message);
	pthread_mutex_unlock(&bad->lock);
	pthread_mutex_unlock(&good->lock);
}

/* The Fast Kernel Cache is there to spare the look into the maps, and so their lock. */
TEST(a_fast_kernel_is_taken_without_the_lock_of_the_maps)
{
	void *kernel;

	CU_ASSERT_EQUAL(use("key", NULL, 1), CC_WAY_BUILD);
	kernel = add_fast_kernel("key", "k", 7);
	pthread_mutex_lock(&programs->lock);
	CU_ASSERT_PTR_EQUAL(get_fast_kernel("k", 7), kernel);
	CU_ASSERT_PTR_NULL(get_fast_kernel("k", 8));
	pthread_mutex_unlock(&programs->lock);
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
		CU_ASSERT_EQUAL_FATAL(pthread_create(&racers[i].thread, NULL, run_races, &racers[i]), 0);
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

	for (int i = 0; i < 2; i++) {
		const char *kernel = i ? NULL : "k";
		struct script script = { .size = 1 };

		one_builder_many_waiters(kernel, &script, callers);
		CU_ASSERT_EQUAL(atomic_load(&script.calls), 1);
		for (size_t j = 0; j < THREADS; j++) {
			CU_ASSERT_EQUAL_FATAL(callers[j].status, CMN_OK);
			CU_ASSERT_PTR_EQUAL(callers[j].taken.value, callers[0].taken.value);
			CU_ASSERT_EQUAL(callers[j].taken.way == CC_WAY_BUILD, j == 0);
		}
		/* Once, whoever waited for it. */
		CU_ASSERT_EQUAL(usage_of().bytes, 1);
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
		CU_ASSERT_EQUAL_FATAL(pthread_create(&observer.thread, NULL, observe, &observer), 0);
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

	for (int i = 0; i < 2; i++) {
		const char *kernel = i ? NULL : "k";
		struct script script = { .failures = THREADS, .failure = CMN_ERR_DRIVER,
					 .error_code = -11, .message = "line 3" };

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

	for (int i = 0; i < 2; i++) {
		const char *kernel = i ? NULL : "k";
		struct script script = { .failures = 1, .failure = CMN_ERR_DRIVER,
					 .error_code = -5, .size = 1 };
		int built = 0;

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
	memmove(model->sizes + at, model->sizes + at + 1, (model->count - at - 1) * sizeof(model->sizes[0]));
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
	begin_build(&caller);
	CU_ASSERT_EQUAL(use("a", NULL, 10), CC_WAY_BUILD);
	CU_ASSERT_EQUAL(use("b", NULL, 10), CC_WAY_BUILD);
	end_build(&caller);
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
	CU_ASSERT_EQUAL(refs_of(program.value), 1);
	CU_ASSERT_EQUAL(refs_of(kernel.value), 1);
	value_unref(kernel.value);
	value_unref(program.value);
}

/* A launch through the fast kernel cache does not fetch the program, and must not pay for moving it. */
TEST(a_fast_kernel_hit_does_not_move_its_program)
{
	renew(20);
	CU_ASSERT_EQUAL(use("a", NULL, 10), CC_WAY_BUILD);
	(void)add_fast_kernel("a", "k", 0);
	CU_ASSERT_EQUAL(use("b", NULL, 10), CC_WAY_BUILD);
	CU_ASSERT_PTR_NOT_NULL(get_fast_kernel("k", 0));
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
		CU_ASSERT_EQUAL(obtain_remembered(key, &fails, &taken), CMN_ERR_DRIVER);
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

	begin_build(&caller);
	CU_ASSERT_EQUAL(obtain("key", NULL, &script, &taken), CMN_OK);
	value_unref(taken.value);
	end_build(&caller);
	CU_ASSERT_EQUAL(caller.status, CMN_OK);
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

/* Two entries of a kilobyte, then the first again, with such sources: how often was it built in all? */
static int builds_with_threshold(const char *threshold, const char *a, const char *b)
{
	const char *const sources[] = { a, b, a };
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
	char long_a[2000], long_b[2000];

	memset(long_a, 'a', sizeof(long_a));
	memset(long_b, 'b', sizeof(long_b));
	long_a[sizeof(long_a) - 1] = long_b[sizeof(long_b) - 1] = '\0';
	CU_ASSERT_EQUAL(builds_with_threshold("1500", "a", "b"), 3);
	CU_ASSERT_EQUAL(builds_with_threshold("4000", "a", "b"), 2);
	CU_ASSERT_EQUAL(builds_with_threshold("4000", long_a, long_b), 3);	/* the key counts */
	CU_ASSERT_EQUAL(builds_with_threshold("8000", long_a, long_b), 2);
	CU_ASSERT_EQUAL(builds_with_threshold("0", "a", "b"), 2);
}

int main(void)
{
	(void)alarm(ALARM_S);	/* cannot fail */
	unit_count_descriptors();
	return unit_run(NULL);
}
