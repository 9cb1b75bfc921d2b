/* SPDX-License-Identifier: MIT */
/* condition: waits that end at their time, by a signal, and never with the mutex. */
#include "common/condition.h"

#include <sched.h>
#include <stdatomic.h>

#include "common/clock.h"
#include "tests/support/unit.h"

#define LONG_NS (UINT64_C(60) * 1000000000)
#define SHORT_NS UINT64_C(20000000)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t one, other;
static atomic_bool waits, waited;

static void *wait_long(void *arg)
{
	(void)arg;
	(void)pthread_mutex_lock(&mutex);
	atomic_store(&waits, true);
	if (cmn_condition_wait(&one, &mutex, cmn_clock_deadline(LONG_NS)))
		atomic_store(&waited, true);
	(void)pthread_mutex_unlock(&mutex);
	pthread_testcancel();
	return &mutex;
}

static pthread_t start(void)
{
	pthread_t thread;

	atomic_store(&waits, false);
	atomic_store(&waited, false);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, wait_long, NULL), 0);
	while (!atomic_load(&waits))
		(void)sched_yield();
	return thread;
}

TEST(a_wait_ends_at_its_time)
{
	uint64_t start_ns = cmn_clock_monotonic();

	CU_ASSERT_FATAL(cmn_conditions_init(&one, &other));
	CU_ASSERT_EQUAL(pthread_mutex_lock(&mutex), 0);
	while (cmn_condition_wait(&other, &mutex, start_ns + SHORT_NS))
		continue;
	CU_ASSERT_EQUAL(pthread_mutex_unlock(&mutex), 0);
	CU_ASSERT(cmn_clock_monotonic() - start_ns >= SHORT_NS);
	CU_ASSERT(cmn_clock_monotonic() - start_ns < LONG_NS);
}

TEST(a_cancelled_thread_waits_to_the_end_and_gives_the_mutex_back)
{
	pthread_t thread;
	void *result;

	CU_ASSERT_FATAL(cmn_conditions_init(&one, &other));
	thread = start();
	CU_ASSERT_EQUAL(pthread_cancel(thread), 0);
	/* It has the mutex only if it woke up. */
	CU_ASSERT_EQUAL(pthread_mutex_lock(&mutex), 0);
	CU_ASSERT_FALSE(atomic_load(&waited));
	CU_ASSERT_EQUAL(pthread_cond_signal(&one), 0);
	CU_ASSERT_EQUAL(pthread_mutex_unlock(&mutex), 0);
	CU_ASSERT_EQUAL(pthread_join(thread, &result), 0);
	CU_ASSERT_PTR_EQUAL(result, PTHREAD_CANCELED);
	CU_ASSERT(atomic_load(&waited));
	CU_ASSERT_EQUAL(pthread_mutex_trylock(&mutex), 0);
	CU_ASSERT_EQUAL(pthread_mutex_unlock(&mutex), 0);
}

TEST(a_deadline_cannot_overflow)
{
	CU_ASSERT(cmn_clock_deadline(UINT64_MAX) > cmn_clock_monotonic() + LONG_NS);
	CU_ASSERT(cmn_clock_deadline(0) <= cmn_clock_monotonic());
}
