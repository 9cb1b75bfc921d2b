/* SPDX-License-Identifier: MIT */
/* space_files: the files of a root in which this folder keeps its numbers and its lock. */
#ifndef CACHECORE_DISK_SPACE_SPACE_FILES_H
#define CACHECORE_DISK_SPACE_SPACE_FILES_H

#define CC_ACCOUNT_NAME "cache_size.txt"
#define CC_EVICT_LOCK_NAME "evict.lock"
/* When the last eviction ended, nanoseconds since the epoch. */
#define CC_EVICT_STAMP_NAME "last_cleanup.txt"

#endif
