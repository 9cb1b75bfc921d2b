/* SPDX-License-Identifier: MIT */
/* memory_clock: a second thread that sleeps between rounds, and a start that neither waits for. */
#include "tests/bench/memory_clock.h"

#include <sched.h>
#include <stdatomic.h>

#include "tests/bench/bench_run.h"

struct span {
	_Alignas(MEMORY_LINE) uint64_t began, ended;
};

static struct {
	pthread_t second;
	pthread_barrier_t given, done;
	const struct memory_work *work;	/* NULL: the second thread ends */
	atomic_size_t ready;
	struct span spans[MEMORY_THREADS];
} clock_state;

/* The first processors that the process may use; where there is but one, or none may be chosen, so be it. */
static void stay_on_processor(size_t number)
{
	cpu_set_t allowed, one;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		return;
	for (int i = 0; i < CPU_SETSIZE; i++) {
		if (!CPU_ISSET(i, &allowed) || number-- > 0)
			continue;
		CPU_ZERO(&one);
		CPU_SET(i, &one);
		(void)pthread_setaffinity_np(pthread_self(), sizeof(one), &one);	/* see above */
		return;
	}
}

static void run(const struct memory_work *work, size_t thread)
{
	struct memory_value *(*hit)(void *, struct memory_item *) = work->contender->hit[work->hit];
	struct memory_item *items = work->items->items + (work->shared ? 0 : thread * MEMORY_ITEMS);
	struct span *span = &clock_state.spans[thread];

	atomic_fetch_add(&clock_state.ready, 1);
	while (atomic_load(&clock_state.ready) < work->threads)
		;
	span->began = bench_now();
	for (size_t i = 0; i < work->hits; i++) {
		struct memory_item *item = &items[i % MEMORY_ITEMS];
		struct memory_value *value = hit(work->maps, item);

		if (value != (work->hit == MEMORY_PROGRAM ? &item->program : &item->kernel))
			bench_fail("%s gave the wrong value", work->contender->name);
	}
	span->ended = bench_now();
}

static void *second_thread(void *arg)
{
	(void)arg;
	stay_on_processor(1);
	for (;;) {
		(void)pthread_barrier_wait(&clock_state.given);	/* tells only who is the last */
		if (!clock_state.work)
			return NULL;
		run(clock_state.work, 1);
		(void)pthread_barrier_wait(&clock_state.done);	/* likewise */
	}
}

void memory_clock_start(void)
{
	if (pthread_barrier_init(&clock_state.given, NULL, MEMORY_THREADS) != 0 ||
	    pthread_barrier_init(&clock_state.done, NULL, MEMORY_THREADS) != 0 ||
	    pthread_create(&clock_state.second, NULL, second_thread, NULL) != 0)
		bench_fail("cannot start a thread");
	stay_on_processor(0);
}

void memory_clock_end(void)
{
	clock_state.work = NULL;
	(void)pthread_barrier_wait(&clock_state.given);	/* tells only who is the last */
	(void)pthread_join(clock_state.second, NULL);	/* a thread of ours, joined once */
	(void)pthread_barrier_destroy(&clock_state.given);	/* nobody is there any more */
	(void)pthread_barrier_destroy(&clock_state.done);
}

double memory_clock_time(const struct memory_work *work)
{
	uint64_t began = UINT64_MAX, ended = 0;

	atomic_store(&clock_state.ready, 0);
	if (work->threads > 1) {
		clock_state.work = work;
		(void)pthread_barrier_wait(&clock_state.given);	/* tells only who is the last */
	}
	run(work, 0);
	if (work->threads > 1)
		(void)pthread_barrier_wait(&clock_state.done);	/* likewise */
	for (size_t i = 0; i < work->threads; i++) {
		const struct span *span = &clock_state.spans[i];

		began = span->began < began ? span->began : began;
		ended = span->ended > ended ? span->ended : ended;
	}
	return (double)(ended - began) / (double)work->hits;
}
