/* SPDX-License-Identifier: MIT */
/* file_hash: the hash of the file that is there now, from the memo (which may be NULL). */
#ifndef TESTS_SUPPORT_FILE_HASH_H
#define TESTS_SUPPORT_FILE_HASH_H

#include <errno.h>
#include <sys/stat.h>

#include "cachecore/file_memo.h"

static inline enum cmn_status file_hash(struct cc_file_memo *memo, const char *path,
					uint64_t *ret_size, struct cmn_hash *ret_hash)
{
	struct cc_file_identity identity;
	struct stat info;

	*ret_size = 0;
	if (stat(path, &info) != 0)
		return cmn_status_from_errno(errno);
	identity = cc_file_identity_of(&info);
	*ret_size = identity.size;
	return cc_file_memo_hash_same(memo, path, &identity, ret_hash);
}

#endif
