/* SPDX-License-Identifier: MIT */
/* others: statistics and tokens, as a process leaves them. */
#include "tests/crash/others.h"

#include <stdio.h>

#include "cachecore/key.h"
#include "cachecore/random_token.h"
#include "cachecore/stats.h"
#include "common/clock.h"

bool others_count(const char *root, uint64_t misses)
{
	struct cc_stats *stats = cc_stats_new();
	bool done;

	if (!stats)
		return false;
	cc_stats_add(stats, CC_MISSES, misses);
	cc_stats_bypass(stats, "crash");
	done = cc_stats_flush(stats, root) == CMN_OK;
	cc_stats_free(stats);
	return done;
}

bool others_admit(const char *root, unsigned int run)
{
	char source[64];
	struct cc_key key;
	bool admitted;

	(void)snprintf(source, sizeof(source), "kernel void f_%08xa1() {}", run * 2654435761u);
	cc_key_init(&key);
	cc_key_add_text(&key, CC_PART_IMAGE, "source", source);
	admitted = cc_random_token_admits(root, cc_key_view(&key), run + 1, cmn_clock_realtime());
	cc_key_release(&key);
	return admitted;
}
