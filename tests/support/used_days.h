/* SPDX-License-Identifier: MIT */
/* used_days: a cache that was used on each of the last days, up to today. */
#ifndef TESTS_SUPPORT_USED_DAYS_H
#define TESTS_SUPPORT_USED_DAYS_H

#include <stdio.h>

#include "cachecore/disk/space/days.h"
#include "common/clock.h"
#include "tests/support/unit.h"

#define NS_PER_DAY (UINT64_C(86400) * 1000000000)

/* root: from unit_dir. */
static inline void used_days(const char *root, unsigned int count)
{
	unsigned int today = (unsigned int)(cmn_clock_realtime() / NS_PER_DAY);
	char path[4200], text[11 * CC_DAYS_MAX];
	size_t len = 0;

	for (unsigned int i = 0; i < count; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%u\n", today - (count - 1) + i);
	(void)snprintf(path, sizeof(path), "%s/" CC_DAYS_NAME, root);
	unit_write(path, text);
}

#endif
