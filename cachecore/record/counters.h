/* SPDX-License-Identifier: MIT */
/* counters: what is counted, in the order in which files and records have it. */
#ifndef CACHECORE_RECORD_COUNTERS_H
#define CACHECORE_RECORD_COUNTERS_H

#define CC_STATS_NAME "stats.txt"

enum cc_counter {
	CC_HITS_MEMORY,
	CC_HITS_DISK,
	CC_MISSES,		/* compiled while a program waited */
	CC_STORES,
	CC_DEFERRED,		/* of the misses: left to ckcache replay */
	CC_ERRORS,		/* damaged entries, refused binaries, failed writes */
	CC_COMPILE_NS_SPENT,	/* in the driver, on misses */
	CC_COMPILE_NS_SAVED,	/* build time of what was hit, less what the hit took */
	CC_HITS_REMOTE,
	CC_UNATTENDED,		/* compiled while nobody waited: by ckcache replay */
	CC_UNATTENDED_NS,	/* in the driver, on these */
	CC_COUNTER_COUNT,
};

const char *cc_counter_name(enum cc_counter counter);	/* as in stats.txt: "hits_memory", … */

#endif
