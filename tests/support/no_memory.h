/* SPDX-License-Identifier: MIT */
/* no_memory: calloc for a program that wraps it (ckcache_wrap); where calloc_fails, this thread's next one does. */
#ifndef TESTS_SUPPORT_NO_MEMORY_H
#define TESTS_SUPPORT_NO_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include "tests/support/wrap.h"

static _Thread_local bool calloc_fails;

WRAPPED(void *, calloc, (size_t count, size_t size))
{
	bool fails = calloc_fails;

	calloc_fails = false;
	return fails ? NULL : __real_calloc(count, size);
}

#endif
