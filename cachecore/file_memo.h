/* SPDX-License-Identifier: MIT */
/*
 * file_memo: remembers contents' hashes by file identity (device, inode, size, mtime and
 * ctime in ns), so that a file that did not change is hashed once per process.
 * A file is remembered only if it is on a disk file system that is known to update
 * the times of files that are written through mappings, and if its ctime is at least an
 * hour ago. Any other file could change through a mapping and keep its times. Thread-safe.
 */
#ifndef CACHECORE_FILE_MEMO_H
#define CACHECORE_FILE_MEMO_H

#include <stdbool.h>
#include <stdint.h>

#include "common/hash.h"
#include "common/status.h"

struct stat;

/* Distinguishes a file from any other, and from itself after a change. */
struct cc_file_identity {
	uint64_t device, inode, size, mtime_ns, ctime_ns;
};
struct cc_file_identity cc_file_identity_of(const struct stat *info);
bool cc_file_identity_equal(const struct cc_file_identity *a, const struct cc_file_identity *b);

struct cc_file_memo;
struct cc_file_memo *cc_file_memo_new(void);	/* NULL: out of memory */
void cc_file_memo_free(struct cc_file_memo *memo);	/* NULL is fine */

/* Largest header that is read; a larger one cannot be a dependency. */
#define CC_MANIFEST_MAX_FILE (UINT64_C(1) << 28)

/*
 * The hash of the regular file at path (follows links), if the file has that identity before and
 * after it is read. CMN_STALE: it has another, is gone, has changed, or may change unseen while
 * somebody has it open for writing. Other statuses: it cannot be
 * read; a FIFO or a device is CMN_ERR_ACCESS and is never opened. memo may be NULL.
 */
CMN_CHECKED enum cmn_status cc_file_memo_hash_same(struct cc_file_memo *memo, const char *path,
						   const struct cc_file_identity *expected,
						   struct cmn_hash *ret_hash);
/*
 * The hash of what an open regular file holds now, by which a change can be told that its times do
 * not show. CMN_MISS: they would show it, and nothing was read. CMN_BUSY: somebody has it open for
 * writing, so that it may be another at any time. Other statuses: it cannot be read.
 */
CMN_CHECKED enum cmn_status cc_file_memo_hash_open(int fd, const struct stat *info,
						   struct cmn_hash *ret_hash);
/* Whether the regular file at path, which *ret is of, has that size and hash. memo may be NULL. */
bool cc_file_memo_holds(struct cc_file_memo *memo, const char *path, uint64_t size,
			const struct cmn_hash *expected, struct stat *ret);

#endif
