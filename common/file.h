/* SPDX-License-Identifier: MIT */
/*
 * file: contracts over POSIX files that the rest can rely on: whole reads
 * with a bound, whole writes that notice a short one, files that appear
 * atomically, locks that die with their process. Every descriptor is
 * close-on-exec. All functions are thread-safe.
 */
#ifndef COMMON_FILE_H
#define COMMON_FILE_H

#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "common/bytes.h"
#include "common/status.h"

/*
 * Reads a regular file whole. CMN_MISS: not there. CMN_ERR_TOO_LARGE: over
 * max_len bytes, nothing was allocated. CMN_ERR_ACCESS: not readable, or not
 * a regular file (a FIFO or a device is never waited on). Symbolic links are
 * followed only where follow is true. *ret is an empty buffer on failure.
 */
CMN_CHECKED enum cmn_status cmn_file_read(int dir_fd, const char *path, size_t max_len, bool follow,
					  struct cmn_buffer *ret);
/*
 * The same, of any owner's file or only one that is trusted, into a buffer
 * that exists: what it held is dropped, its room is used where it suffices,
 * else the given one (may be NULL), else malloc's. On failure its content is
 * undefined, and it is the caller's to release or use again.
 */
enum cmn_file_trust {
	CMN_FILE_ANY,
	CMN_FILE_FOLLOW,	/* any, also through symbolic links */
	CMN_FILE_TRUSTED,	/* the effective user's or the superuser's, and nobody else may write to it */
};
CMN_CHECKED enum cmn_status cmn_file_read_into(int dir_fd, const char *path, size_t max_len,
					       enum cmn_file_trust trust,
					       const struct cmn_room *room,
					       struct cmn_buffer *buf);
/* Whether an open file may be read under that trust: a regular one. */
bool cmn_file_trusted(const struct stat *info, enum cmn_file_trust trust);
/*
 * Whether that is the effective user's own id. Never the overflow id, which is
 * what a user namespace shows of everybody whom it does not map: two users who
 * both have it need not be the same one.
 */
bool cmn_file_is_own(uid_t owner);
/* The same of the effective group or a supplementary one. */
bool cmn_file_is_of_own_group(gid_t group);
/* What the kernel shows of a user, or a group, that a namespace does not map. */
uid_t cmn_file_overflow_user(void);
gid_t cmn_file_overflow_group(void);

/* Bytes of the blocks that it takes on disk. */
uint64_t cmn_file_blocks(const struct stat *info);

/*
 * As write and pwrite, but they fail where those would end the process: by SIGXFSZ, where a file may
 * not grow (RLIMIT_FSIZE), and by SIGPIPE. The signals are blocked for the calling thread alone,
 * during the call. What was written, or -1 with errno.
 */
ssize_t cmn_file_write(int fd, const void *data, size_t len);
ssize_t cmn_file_write_at(int fd, const void *data, size_t len, off_t at);

/* Writes all of it or fails; EINTR and short writes are handled. */
CMN_CHECKED enum cmn_status cmn_file_write_all(int fd, const void *data, size_t len);

/* Whether the name in the directory means the open file. */
bool cmn_file_is_named(int dir_fd, const char *name, int fd);

/*
 * Opens dir_fd/name for reading and writing in place, made if it is not
 * there. CMN_ERR_ACCESS: it is not a regular file, or has a second name (its
 * bytes may be somebody's who does not expect them to change). To be closed by
 * cmn_descriptor_close (descriptor.h).
 */
CMN_CHECKED enum cmn_status cmn_file_open_own(int dir_fd, const char *name, int *ret_fd);

/*
 * Takes a directory out of the way of a file of ours: an empty one is removed,
 * any other is renamed to "<name>.aside-<time>" and left alone. Whatever else
 * has the name stays: publishing replaces it. CMN_OK: there was one, and it is
 * gone; CMN_MISS: there was none.
 */
CMN_CHECKED enum cmn_status cmn_file_make_way(int dir_fd, const char *name);

/*
 * As cmn_file_open_own; what it refuses there, or a directory, is replaced by an
 * empty file, by rename, so that a second name of it keeps its bytes.
 */
CMN_CHECKED enum cmn_status cmn_file_open_healed(int dir_fd, const char *name, int *ret_fd);

/*
 * Creates or replaces dir_fd/name with the bytes of the views, in order:
 * written to a temporary beside it, which must be in the same directory
 * (its name starts with ".tmp-"), then renamed. On failure nothing remains.
 * A crash can leave a temporary; whoever cleans the directory removes it.
 */
CMN_CHECKED enum cmn_status cmn_file_publish(int dir_fd, const char *name,
					     const struct cmn_view *views, size_t count);
#define CMN_FILE_TEMPORARY_PREFIX ".tmp-"
/*
 * The same, and a directory in its place makes way. A file that is another
 * user's, in a directory with the sticky bit, cannot be replaced: it is written
 * in place, where that is permitted. So the caller holds a lock that other
 * writers take, and who reads can tell half a content.
 */
CMN_CHECKED enum cmn_status cmn_file_replace(int dir_fd, const char *name,
					     const struct cmn_view *views, size_t count);

/*
 * Makes a directory of exactly that mode; one that exists is left alone. What
 * the other functions make in it may be read and written by whom its mode
 * names: a file has its directory's permissions.
 */
CMN_CHECKED enum cmn_status cmn_file_make_dir(int dir_fd, const char *path, mode_t mode);
/* mkdir -p with the mode for each directory that is made; existing ones are left alone. */
CMN_CHECKED enum cmn_status cmn_file_make_dirs(const char *path, mode_t mode);

/*
 * An advisory exclusive lock (flock) on an open file or directory; released
 * by closing the descriptor or by the death of the process, so that none can
 * outlive its owner, who may be stopped for ever, though. So it is waited for
 * until a time of cmn_clock_monotonic, here and nowhere else: CMN_BUSY if
 * somebody holds it then, or where the number is not the cache's any more
 * (descriptor.h). until 0: no wait. A file system without locks gives CMN_ERR_IO.
 */
CMN_CHECKED enum cmn_status cmn_file_lock(int fd, uint64_t until);
/*
 * The same, shared with others that share it, at once. CMN_BUSY also where somebody
 * has it exclusively, however shortly.
 */
CMN_CHECKED enum cmn_status cmn_file_share(int fd);
/*
 * Gives either back. Closing alone would leave it to a child that was forked
 * meanwhile and shares the open file.
 */
void cmn_file_unlock(int fd);
/*
 * Whether the file system is another machine's, or may be: its locks may block
 * for ever, and a mapping's pages fail where a read would.
 */
bool cmn_file_is_remote(int fd);

#endif
