/* SPDX-License-Identifier: MIT */
/*
 * contents: the hashes of a driver's files, which may be large: each is read once, not in each
 * process. A hash is remembered by the file's path and identity (file_memo.h): a file that is
 * replaced, or written in place, has another inode or another ctime, which nobody can set. Where a
 * file system has no ctime of its own (an image that gives its files one time), or the file has just
 * changed, nothing is remembered.
 *
 * <root>/contents.dat holds slots, each found by the hash of what it is of; two that share a slot
 * displace each other, which only means that one is read again:
 *
 *   slot = file[16] content[16] hash[16]
 *   file = hash(path 0 device:u64 inode:u64 size:u64 mtime_ns:u64 ctime_ns:u64)
 *   hash = hash(all before it)
 */
#ifndef CACHECORE_DISK_CONTENTS_H
#define CACHECORE_DISK_CONTENTS_H

#include "cachecore/config.h"
#include "common/bytes.h"
#include "common/hash.h"
#include "common/status.h"

#define CC_CONTENTS_NAME "contents.dat"

/* What the root of a configuration remembers. One thread. */
struct cc_contents {
	const struct cc_config *config;	/* borrowed; NULL: nothing is remembered, and every file is read */
	bool looked;
	struct cmn_buffer slots;
};

void cc_contents_release(struct cc_contents *contents);

/*
 * The hash of the regular file at path (follows links), remembered or read. A root that is not there
 * is not made; one that is not to be trusted remembers nothing. Other statuses: it cannot be read, or is larger than CC_MANIFEST_MAX_FILE.
 */
CMN_CHECKED enum cmn_status cc_contents_hash(struct cc_contents *contents, const char *path,
					     struct cmn_hash *ret);

#endif
