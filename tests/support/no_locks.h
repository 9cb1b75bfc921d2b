/* SPDX-License-Identifier: MIT */
/* no_locks: flock for a program that wraps it (ckcache_wrap); while has_no_locks, as on a file system without. */
#ifndef TESTS_SUPPORT_NO_LOCKS_H
#define TESTS_SUPPORT_NO_LOCKS_H

#include <errno.h>
#include <stdbool.h>
#include "tests/support/wrap.h"

static bool has_no_locks;

WRAPPED(int, flock, (int fd, int operation))
{
	if (!has_no_locks)
		return __real_flock(fd, operation);
	errno = ENOLCK;
	return -1;
}

#endif
