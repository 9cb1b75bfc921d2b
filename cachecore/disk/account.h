/* SPDX-License-Identifier: MIT */
/*
 * account: <root>/cache_size.txt, what all entries take on disk (cc_leaf_bytes),
 * kept by differences under the root's lock, so that a store need not count the
 * whole tree. Who stores adds the bytes before it writes, so that several at
 * once stay within the bound together. A missing or damaged file is counted
 * anew by the next eviction, which is due then. A process killed between its
 * files and its difference leaves the number off by that entry, until the next
 * eviction writes what it counted. Thread-safe, also between processes.
 */
#ifndef CACHECORE_DISK_ACCOUNT_H
#define CACHECORE_DISK_ACCOUNT_H

#include <stdint.h>

#include "common/status.h"

#define CC_ACCOUNT_NAME "cache_size.txt"

/*
 * All that write wait for the lock until that time, as cmn_file_lock has it;
 * CMN_BUSY: nothing was written.
 */
/* *ret_total (may be NULL): the new number. */
CMN_CHECKED enum cmn_status cc_account_add(int root_fd, int64_t bytes, uint64_t until,
					   uint64_t *ret_total);
/* Adds them, unless the number would be over limit then. CMN_STALE: it would. *ret_total: the new number. */
CMN_CHECKED enum cmn_status cc_account_reserve(int root_fd, uint64_t bytes, uint64_t limit,
					       uint64_t until, uint64_t *ret_total);
/*
 * The tree was counted, and the number read before that: both, and what others
 * added since, make the new number. before: 0 where it was missing. What was
 * added meanwhile may be in twice, and what was removed once, until the next
 * correction: it is never too low.
 */
CMN_CHECKED enum cmn_status cc_account_correct(int root_fd, uint64_t before, uint64_t counted,
					       uint64_t until, uint64_t *ret_total);
/* Writes a number that was counted. */
CMN_CHECKED enum cmn_status cc_account_set(int root_fd, uint64_t total, uint64_t until);
/* Counts the tree. */
CMN_CHECKED enum cmn_status cc_account_count(int root_fd, uint64_t *ret_total);

#endif
