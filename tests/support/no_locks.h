/* SPDX-License-Identifier: MIT */
/*
 * no_locks: flock for a program that wraps it (ckcache_wrap); while has_no_locks, as on a file system without.
 * Counts the calls that find a lock taken.
 */
#ifndef TESTS_SUPPORT_NO_LOCKS_H
#define TESTS_SUPPORT_NO_LOCKS_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include "tests/support/wrap.h"

static bool has_no_locks;
static atomic_uint locks_taken;

WRAPPED(int, flock, (int fd, int operation))
{
	int result;

	if (has_no_locks) {
		errno = ENOLCK;
		return -1;
	}
	result = __real_flock(fd, operation);
	if (result < 0 && errno == EWOULDBLOCK)
		atomic_fetch_add(&locks_taken, 1);
	return result;
}

#endif
