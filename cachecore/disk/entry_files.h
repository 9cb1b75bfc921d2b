/* SPDX-License-Identifier: MIT */
/*
 * entry_files: <n>.src and <n>.bin as they lie on disk, read and verified. Takes no
 * lock and changes nothing. Thread-safe.
 */
#ifndef CACHECORE_DISK_ENTRY_FILES_H
#define CACHECORE_DISK_ENTRY_FILES_H

#include <stdbool.h>

#include "cachecore/entry.h"
#include "cachecore/disk/leaf.h"
#include "common/bytes.h"
#include "common/file.h"
#include "common/status.h"

/*
 * Where the functions take a leaf, dir_fd is the root's, and leaf the path; or leaf is NULL, and
 * dir_fd the leaf's.
 */

/*
 * One of the two files whole, whatever it holds, in the buffer's room, the
 * room given (may be NULL) or malloc's. Of a long one the head is looked at
 * first. CMN_MISS: not there. CMN_ERR_CORRUPT: it is longer than any of ours,
 * or shrinks; CMN_ERR_ACCESS as below; others of file.h.
 */
CMN_CHECKED enum cmn_status cc_entry_files_read_file(int dir_fd, const char *leaf,
					      enum cc_leaf_file file, unsigned int n,
					      enum cmn_file_trust trust,
					      const struct cmn_room *room, struct cmn_buffer *buf);
/*
 * CMN_OK: the views of *ret point into *file, whose room is used where it
 * suffices and which the caller releases in any case.
 * CMN_MISS: not there. CMN_ERR_CORRUPT: damaged; CMN_ERR_VERSION: not ours to
 * judge; CMN_ERR_ACCESS: not readable, not trusted, or not a regular file; CMN_ERR_NOMEM, CMN_ERR_IO.
 */
CMN_CHECKED enum cmn_status cc_entry_files_read_src(int dir_fd, unsigned int n,
					     enum cmn_file_trust trust,
					     struct cmn_buffer *file, struct cc_src *ret);
/*
 * The same where the key is expected to be that one: a long one is compared
 * piece by piece and not kept, since fresh memory for it takes longer than the
 * rest. ret->key is the given one then. CMN_MISS also: it is another key.
 */
CMN_CHECKED enum cmn_status cc_entry_files_read_src_of(int dir_fd, const char *leaf, unsigned int n,
						enum cmn_file_trust trust, struct cmn_view key,
						struct cmn_buffer *file, struct cc_src *ret);
/*
 * The result, in the room given (may be NULL) or malloc's; takes manifest on
 * success. Also CMN_STALE: sound, but belongs to another .src.
 */
CMN_CHECKED enum cmn_status cc_entry_files_read_bin(int dir_fd, const char *leaf, unsigned int n,
					     enum cmn_file_trust trust,
					     const struct cc_src *src, const struct cmn_room *room,
					     struct cc_manifest *manifest, struct cc_entry **ret);
/* The header alone, against the file's size and src, which may be NULL. Statuses as above. */
CMN_CHECKED enum cmn_status cc_entry_files_read_bin_header(int dir_fd, unsigned int n,
						    const struct cc_src *src,
						    struct cc_entry_header *ret);
/*
 * Every byte of both is read. CMN_OK: sound; CMN_MISS: there is no .src.
 * CMN_ERR_CORRUPT also: a .src without the .bin that belongs to it.
 */
CMN_CHECKED enum cmn_status cc_entry_files_judge(int dir_fd, unsigned int n, enum cmn_file_trust trust);
/* Whether a status of this file says that the file itself is bad, not the moment. */
bool cc_entry_files_status_damaged(enum cmn_status status);

#endif
