/* SPDX-License-Identifier: MIT */
/* store_internal: what the store's own files share. */
#ifndef CACHECORE_DISK_STORE_INTERNAL_H
#define CACHECORE_DISK_STORE_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cachecore/disk/root.h"
#include "cachecore/entry.h"
#include "cachecore/disk/store.h"
#include "common/file.h"
#include "common/bytes.h"

/* For locks in all, in a look-up or a removal: an application's thread waits. */
#define CC_STORE_LOOKUP_PATIENCE_NS UINT64_C(10000000)

/* How long a failure is believed that was stored at that time: what passes, such as a full disk, may have hit two processes. */
#define CC_STORE_FAILURE_NS (UINT64_C(24) * 3600 * 1000000000)
static inline bool cc_store_failure_lives(uint64_t stored_ns, uint64_t now_ns)
{
	return stored_ns <= now_ns && now_ns - stored_ns < CC_STORE_FAILURE_NS;
}

struct cc_store {
	const struct cc_config *config;
	const struct cmn_log *log;
	enum cc_root_kind kind;		/* of root that the configuration allows; constant, as trust */
	enum cmn_file_trust trust;
	struct cmn_slabs *slabs;	/* of entries read; NULL: none could be had */
	atomic_flag damage_logged;
	atomic_flag access_logged;
	atomic_flag tier_logged;
	atomic_uint_least64_t patience;	/* nanoseconds, for a lock */
	atomic_bool stuck;		/* a lock was waited for in vain, and none was had since */
};

/* One entry directory of the store's root, for who changes something there. */
struct cc_store_hold {
	int root_fd, entry_dir_fd;	/* -1: not open */
};
/* Opens both. CMN_MISS: not there. To be left in any case. */
CMN_CHECKED enum cmn_status cc_store_enter(const struct cc_store *store, const char *entry_dir,
					   struct cc_store_hold *ret);
/* Locks it, as cc_entry_dir_lock; where there are no locks names still change whole: by rename. */
CMN_CHECKED enum cmn_status cc_store_lock(const struct cc_store_hold *hold, uint64_t until);
/* After a removal: the account, for which the root's lock is waited until then, and directories that are empty now. */
void cc_store_note_freed(const struct cc_store_hold *hold, const char *entry_dir, uint64_t freed, uint64_t until);
void cc_store_leave(const struct cc_store_hold *hold);

#endif
