/* SPDX-License-Identifier: MIT */
/*
 * account: <root>/cache_size.txt, what all entries take on disk (cc_entry_dir_bytes).
 * Stores and removals add to it and subtract from it under the root's lock, so
 * that nobody has to count the whole tree. It is never less than the truth:
 *
 * - A process that stores adds the bytes before it writes, with the entry directory locked,
 *   and corrects them before it unlocks the entry directory. A process that removes
 *   subtracts before it unlocks the entry directory.
 * - A count of the tree is exact if the number did not change during the count
 *   and no entry directory was locked.
 *
 * If the number is missing or damaged, who stores in a bounded root counts as long as
 * there is time; a root that it cannot count in that time counts as full
 * (cc_account_find). If a process is killed between changing files and correcting the
 * number, or waits in vain for the root's lock then, the number is too high until
 * "ckcache prune" or "verify" counts.
 * Thread-safe, also between processes.
 */
#ifndef CACHECORE_DISK_SPACE_ACCOUNT_H
#define CACHECORE_DISK_SPACE_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "cachecore/disk/space/number_file.h"
#include "common/status.h"

#define CC_ACCOUNT_NAME "cache_size.txt"

/*
 * The root's lock, for the next two; waited for as cmn_file_lock has it. To be
 * given back by cc_root_unlock.
 */
CMN_CHECKED enum cmn_status cc_account_lock(int root_fd, uint64_t until, int *ret_fd);
/* What the number would be with those bytes. CMN_STALE: over limit. CMN_MISS: it is lost, and there are entries. */
CMN_CHECKED enum cmn_status cc_account_sum(int locked_fd, uint64_t bytes, uint64_t limit,
					   uint64_t *ret_total);
CMN_CHECKED enum cmn_status cc_account_write(int locked_fd, uint64_t total);

/* Changes the number, unless it is lost. CMN_BUSY, or a failure: nothing was written. */
CMN_CHECKED enum cmn_status cc_account_add(int root_fd, int64_t bytes, uint64_t until);

/* The number before the tree is counted, and which file had it. */
struct cc_account_mark {
	bool known;
	uint64_t total, inode, changed_ns;
};
void cc_account_mark(int root_fd, struct cc_account_mark *ret);
/*
 * The tree was counted after the mark. busy: somebody was writing, whose bytes
 * may be in the number and not in the tree. The number becomes what was counted
 * where that is certain, and else stays, or becomes a little more than can be
 * there, where it was much more. CMN_BUSY: nothing was written.
 */
CMN_CHECKED enum cmn_status cc_account_correct(int root_fd, const struct cc_account_mark *before,
					       uint64_t counted, bool busy, uint64_t until,
					       uint64_t *ret_total);
/*
 * Where the number is lost, makes a new one: what is there, if that is little, or counted by then; else, until
 * somebody counts who has the time, full, or what was seen if that is more. CMN_BUSY: nothing was
 * written.
 */
CMN_CHECKED enum cmn_status cc_account_find(int root_fd, uint64_t full, uint64_t until);
/* Counts the tree, and corrects the number. CMN_BUSY: there was too little time. */
CMN_CHECKED enum cmn_status cc_account_recount(int root_fd, uint64_t until);
/* Counts the tree. *ret_busy (may be NULL): somebody writes, or has left what is to be swept. */
CMN_CHECKED enum cmn_status cc_account_count(int root_fd, uint64_t *ret_total, bool *ret_busy);

#endif
