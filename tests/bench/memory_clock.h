/* SPDX-License-Identifier: MIT */
/*
 * memory_clock: times one contender's hits on one thread or two, each on a
 * processor of its own. It keeps its second thread, as starting one costs
 * more than a round.
 */
#ifndef TESTS_BENCH_MEMORY_CLOCK_H
#define TESTS_BENCH_MEMORY_CLOCK_H

#include "tests/bench/memory_items.h"

/* What each thread does in a round. */
struct memory_work {
	const struct memory_contender *contender;
	enum memory_hit hit;
	void *maps;
	struct memory_items *items;
	bool shared;		/* all threads take the same items, not each its own */
	size_t hits;		/* per thread */
	size_t threads;		/* 1 to MEMORY_THREADS */
};

void memory_clock_start(void);
void memory_clock_end(void);
/*
 * Nanoseconds per hit of a thread, from the first thread's begin to the last
 * one's end. Exits the program if a hit gives the wrong value.
 */
double memory_clock_time(const struct memory_work *work);

#endif
