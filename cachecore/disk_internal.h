/* SPDX-License-Identifier: MIT */
/* disk_internal: what disk.c, which knows one level, and disks.c, which exchanges them, share. */
#ifndef CACHECORE_DISK_INTERNAL_H
#define CACHECORE_DISK_INTERNAL_H

#include "cachecore/disk.h"
#include "cachecore/store.h"
#include "cachecore/writer.h"

/* What all levels of a process share; borrowed by each. */
struct cc_disk_surroundings {
	const struct cc_config *config;
	const struct cmn_log *log;
	struct cc_stats *stats;
	struct cc_flights *flights;	/* NULL: off */
	uint64_t run;			/* random_token.h */
	uint64_t start_ns;		/* since the epoch, of this process's use of the cache */
};

struct cc_disk {
	const struct cc_disk_surroundings *around;
	struct cc_config config;	/* but for dir and max_size, the surroundings' */
	struct cc_store *store;
	struct cc_writer *writer;	/* NULL: nothing is written */
	/* cc_disks's, guarded by its lock */
	unsigned int users;		/* threads inside; one more while it is in use */
	struct cc_disk *prev, *next;
};

/*
 * The level in dir (NULL: tiers only), of max_size bytes. The result has one
 * user, and takes no statistics yet. Statuses as cc_store_open's; CMN_ERR_NOMEM.
 */
CMN_CHECKED enum cmn_status cc_disk_open(const struct cc_disk_surroundings *around, const char *dir,
					 uint64_t max_size, struct cc_disk **ret);
/*
 * Writes what is pending within timeout_ns, then frees. NULL is fine (true).
 * false: nothing was freed, and the surroundings must be left alone for ever.
 */
bool cc_disk_free(struct cc_disk *disk, uint64_t timeout_ns);
/* As cc_writer_flush. */
bool cc_disk_flush(struct cc_disk *disk, uint64_t timeout_ns);

#endif
