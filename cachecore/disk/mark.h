/* SPDX-License-Identifier: MIT */
/*
 * mark: which directory is a cache of ckcache's, and which has files of other programs, whose names
 * may be those of the cache's own. A cache has a file CACHEDIR.TAG, by which programs that make
 * backups know caches too (https://bford.info/cachedir/). One from before there was this mark is
 * known by what is in it. Thread-safe, also between processes.
 */
#ifndef CACHECORE_DISK_MARK_H
#define CACHECORE_DISK_MARK_H

#include <stdbool.h>

#define CC_MARK_NAME "CACHEDIR.TAG"
/* What cc_root_check says of a directory that may not be taken. */
#define CC_MARK_FOREIGN \
	"it has files of other programs and no " CC_MARK_NAME " of ckcache's: name an empty directory"

/* Whether the directory is a cache, or is empty, as a new file system or mount point is too. */
bool cc_mark_may_take(int dir_fd);
/*
 * Marks what may be taken, unless it is marked. false: it cannot be marked, as on a full disk, and nothing
 * in it shows that it is a cache: what is put there now could be taken for files of other programs later.
 */
bool cc_mark_make(int dir_fd);

#endif
