/* SPDX-License-Identifier: MIT */
/*
 * asked: for how long this process and its forked children have asked to sleep, to which a busy machine
 * adds nothing; for programs with ckcache_wrap(test_… nanosleep). Include it once.
 */
#ifndef TESTS_SUPPORT_ASKED_H
#define TESTS_SUPPORT_ASKED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "tests/support/wrap.h"

static struct {
	atomic_uint_least64_t ns;
	atomic_uint threads;	/* that have slept */
} *asked;

__attribute__((constructor)) static void begin_to_count(void)
{
	asked = mmap(NULL, sizeof(*asked), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (asked == MAP_FAILED)
		abort();
}

WRAPPED(int, nanosleep, (const struct timespec *pause, struct timespec *left))
{
	static _Thread_local bool has_slept;

	atomic_fetch_add(&asked->ns, (uint64_t)pause->tv_sec * UINT64_C(1000000000) + (uint64_t)pause->tv_nsec);
	atomic_fetch_add(&asked->threads, !has_slept);
	has_slept = true;
	return __real_nanosleep(pause, left);
}

#endif
