/* SPDX-License-Identifier: MIT */
/* level_internal: what level.c, which knows one level, and level_switch.c, which exchanges them, share. */
#ifndef CACHECORE_DISK_LEVEL_INTERNAL_H
#define CACHECORE_DISK_LEVEL_INTERNAL_H

#include "cachecore/config.h"
#include "cachecore/disk/level.h"
#include "cachecore/disk/store.h"
#include "cachecore/disk/writer/writer.h"
#include "cachecore/record/stats.h"
#include "cachecore/record/tally.h"
#include "common/log.h"

/* What all levels of a process share; borrowed by each. */
struct cc_level_shared {
	const struct cc_config *config;
	const struct cmn_log *log;
	struct cc_stats *stats;
	struct cc_flights *flights;	/* NULL: off */
	struct cc_remote *remote;	/* NULL: none */
	struct cc_tally *tally;		/* NULL: none */
	uint64_t run;			/* nonce.h */
	uint64_t start_ns;		/* since the epoch, of this process's use of the cache */
};

struct cc_level {
	const struct cc_level_shared *around;
	struct cc_config config;	/* but for dir and max_size, the surroundings' */
	struct cc_store *store;
	struct cc_writer *writer;	/* NULL: nothing is written */
	/* cc_level_switch's, guarded by its lock */
	unsigned int users;		/* threads inside; one more while it is in use */
	struct cc_level *prev, *next;
};

/*
 * The level in dir (NULL: tiers only), of max_size bytes. The result has one
 * user, and takes no statistics yet. Statuses as cc_store_open's; CMN_ERR_NOMEM.
 */
CMN_CHECKED enum cmn_status cc_level_open(const struct cc_level_shared *around, const char *dir,
					 uint64_t max_size, struct cc_level **ret);
/*
 * Writes what is pending within timeout_ns, then frees. NULL is fine (true).
 * false: nothing was freed, and the surroundings must be left alone for ever.
 */
bool cc_level_free(struct cc_level *level, uint64_t timeout_ns);
/* As cc_writer_flush. */
bool cc_level_flush(struct cc_level *level, uint64_t timeout_ns);

#endif
