/* SPDX-License-Identifier: MIT */
/* ahead: a ckcache-remote that hands over at once, however busy the machine of the tests is. */
#ifndef TESTS_SUPPORT_AHEAD_H
#define TESTS_SUPPORT_AHEAD_H

#include "tests/support/unit.h"

/* Writes it into the test's directory "helpers". ckcache: the command's path. */
static inline void ahead_write(const char *ckcache)
{
	char script[16384];

	(void)snprintf(script, sizeof(script),
		       "#!/bin/sh\n[ \"$1\" = replay ] && exec '%s' replay --stale --program \"$2\"\n", ckcache);
	unit_write("helpers/ckcache-remote", script);
	CU_ASSERT_EQUAL_FATAL(chmod("helpers/ckcache-remote", 0755), 0);
}

#endif
