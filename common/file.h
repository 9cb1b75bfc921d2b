/* SPDX-License-Identifier: MIT */
/*
 * file: operations on POSIX files with firm contracts: reads of whole files
 * up to a bound, writes that fail if they are short, files that appear
 * atomically, locks that end with their process. Every descriptor is
 * close-on-exec. All functions are thread-safe.
 */
#ifndef COMMON_FILE_H
#define COMMON_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

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
 * The same of a file in which the kernel shows something (/proc, /sys): its size says nothing of
 * what it has. CMN_ERR_TOO_LARGE: over max_len bytes. Links are followed.
 */
CMN_CHECKED enum cmn_status cmn_file_read_shown(const char *path, size_t max_len,
						struct cmn_buffer *ret);
/*
 * The same as cmn_file_read into an existing buffer, whose content is dropped, and with a
 * choice of which files to trust. Uses the buffer's own memory if it suffices,
 * else room (may be NULL), else malloc. On failure the content is undefined;
 * the caller releases the buffer or uses it again.
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
/*
 * As cmn_file_read_into, of an open file, from its beginning; closes it. fd is what open gave: below
 * 0, errno says why. ret_info: what fstat said before it was read; NULL: nobody asks.
 */
CMN_CHECKED enum cmn_status cmn_file_read_open(int fd, size_t max_len, enum cmn_file_trust trust,
					       const struct cmn_room *room,
					       struct cmn_buffer *buf, struct stat *ret_info);

/*
 * What the kernel shows for users and groups that a namespace does not map.
 * kernel.overflowuid may name another number; to read it costs each user's
 * process but the superuser's 60 us of its first hit.
 */
#define CMN_FILE_OVERFLOW_ID 65534

/*
 * Whether this is the effective user's id. Never true for the overflow id,
 * which stands for every user whom a user namespace does not map: two users
 * who both have it need not be the same.
 */
static inline bool cmn_file_is_own(uid_t owner)
{
	return owner == geteuid() && owner != CMN_FILE_OVERFLOW_ID;
}

/* The same for a group: the effective one or a supplementary one. */
bool cmn_file_is_of_own_group(gid_t group);

/* Whether an open file may be read under that trust: a regular one. */
static inline bool cmn_file_trusted(const struct stat *info, enum cmn_file_trust trust)
{
	return S_ISREG(info->st_mode) &&
	       (trust != CMN_FILE_TRUSTED || ((cmn_file_is_own(info->st_uid) || info->st_uid == 0) &&
					      !(info->st_mode & (S_IWGRP | S_IWOTH))));
}

/* How many bytes the blocks of the file take on disk. */
static inline uint64_t cmn_file_blocks(const struct stat *info)
{
	return info->st_blocks > 0 ? (uint64_t)info->st_blocks * 512 : 0;
}

/* A file's time in nanoseconds since the epoch; 0: before it. */
static inline uint64_t cmn_file_ns(struct timespec time)
{
	return time.tv_sec < 0 ? 0 : (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

/*
 * Like write and pwrite, but they fail where those would end the process with SIGXFSZ (a file may
 * not grow: RLIMIT_FSIZE) or SIGPIPE. They block these signals during the call, for the calling
 * thread alone. They return what was written, or -1 with errno.
 */
ssize_t cmn_file_write(int fd, const void *data, size_t len);
ssize_t cmn_file_write_at(int fd, const void *data, size_t len, off_t at);

/*
 * Like cmn_file_write, and it does not wait for a reader, whatever others share the open file: -1 with
 * EAGAIN if there is no room, or another errno if the kernel cannot promise that.
 */
ssize_t cmn_file_write_at_once(int fd, const void *data, size_t len);

/*
 * Like openat, close-on-exec, for a file that exists; and moves a descriptor that was just opened
 * (also -1, errno stays), to a number from CMN_FILE_FIRST_NUMBER on where one is free. What the cache
 * writes or locks has such a number while a call lasts: a program that closes every descriptor, or one
 * twice, then gives the lowest numbers to the next files that it opens, and a write of the cache fails
 * instead of reaching one of these. The kernel's first table has 64: these cost no larger one.
 */
int cmn_file_open(int dir_fd, const char *path, int flags);
int cmn_file_raise(int fd);
#define CMN_FILE_FIRST_NUMBER 48

/* Writes all of it or fails; EINTR and short writes are handled. */
CMN_CHECKED enum cmn_status cmn_file_write_all(int fd, const void *data, size_t len);

/* CMN_OK also where it is not there. */
CMN_CHECKED enum cmn_status cmn_file_remove(int dir_fd, const char *name);
/* Opens a directory, by no link; mode: it is made so where it is not there, unless it is 0. For close. */
CMN_CHECKED enum cmn_status cmn_file_open_dir(int dir_fd, const char *name, mode_t mode, int *ret_fd);

/* Whether the name in the directory leads to the open file. */
bool cmn_file_is_named(int dir_fd, const char *name, int fd);

/*
 * Opens dir_fd/name for writing, as openat does, but neither through a link in the name's place nor
 * a device, a FIFO or a file with a second name, whose owner may not expect its bytes to change;
 * never waits. Nothing else opens files for writing by their names (tests/rules/writers.py).
 * flags: O_WRONLY or O_RDWR, with O_CREAT, O_EXCL, O_APPEND. trust: CMN_FILE_TRUSTED where anybody
 * may have put the file there: it must belong to the effective user, and nobody else may write to
 * it. For close. -1 with errno, and *ret_reason (static; may be NULL)
 * says why. *ret_info (may be NULL): what it is; not with O_EXCL.
 */
int cmn_file_open_to_write(int dir_fd, const char *name, int flags, mode_t mode, enum cmn_file_trust trust,
			   struct stat *ret_info, const char **ret_reason);
/*
 * Makes a file with mode 0600 by a template of mkstemp, which becomes its name; -1 with errno.
 * For close.
 */
int cmn_file_make_unique(char *template);
/* A file in that directory that has no name, for reading and writing; -1 with errno. For close. */
int cmn_file_make_nameless(const char *directory);

/*
 * Opens dir_fd/name for reading and writing in place; creates it if it does
 * not exist. CMN_ERR_ACCESS: it is not a regular file, or it has a second
 * name, whose owner may not expect its bytes to change. For close.
 */
CMN_CHECKED enum cmn_status cmn_file_open_own(int dir_fd, const char *name, int *ret_fd);

/*
 * If a directory has the name of a file of ours, moves it away: an empty
 * directory is removed, any other is renamed to "<name>.aside-<time>". Anything
 * else with that name stays, because publishing replaces it. CMN_OK: there was
 * a directory, and it is gone; CMN_MISS: there was none.
 */
CMN_CHECKED enum cmn_status cmn_file_make_way(int dir_fd, const char *name);

/*
 * Like cmn_file_open_own, but replaces what that refuses, or a directory, by an
 * empty file. It does so by rename, so a second name of the old file keeps its
 * bytes.
 */
CMN_CHECKED enum cmn_status cmn_file_open_healed(int dir_fd, const char *name, int *ret_fd);

/*
 * Creates or replaces dir_fd/name with the bytes of the views, in order.
 * Writes them to a temporary file in the same directory, whose name starts
 * with ".tmp-", and renames it. On failure nothing remains. After a crash a
 * temporary file may remain; whoever cleans the directory removes it.
 */
CMN_CHECKED enum cmn_status cmn_file_publish(int dir_fd, const char *name,
					     const struct cmn_view *views, size_t count);
#define CMN_FILE_TEMPORARY_PREFIX ".tmp-"
/*
 * The time, since the epoch, by which the directory's file system dates files; the process's clock may
 * be another. Makes a temporary file for that. 0: none can be made.
 */
uint64_t cmn_file_clock(int dir_fd);
/* Whether a file there was last written longer ago than that, by both clocks: one of them may be wrong. */
bool cmn_file_is_older(int dir_fd, const struct stat *info, uint64_t age_ns);
/*
 * The same, and moves a directory with that name away. In a directory with the
 * sticky bit, another user's file cannot be replaced; it is then written in
 * place, if that is permitted. So the caller must hold a lock that all writers
 * take, and readers must be able to recognize a half-written file.
 */
CMN_CHECKED enum cmn_status cmn_file_replace(int dir_fd, const char *name, struct cmn_view view);

/*
 * Makes a directory with exactly that mode; leaves an existing one alone.
 * Files that the other functions make in it get the directory's permissions.
 */
CMN_CHECKED enum cmn_status cmn_file_make_dir(int dir_fd, const char *path, mode_t mode);
/* mkdir -p; each directory that it makes has that mode, existing ones are left alone. */
CMN_CHECKED enum cmn_status cmn_file_make_dirs(const char *path, mode_t mode);

/*
 * Takes an advisory exclusive lock (flock) on an open file or directory. The
 * lock ends when the descriptor is closed or the process dies. A process that
 * holds it may be stopped forever, so this waits only until a time of
 * cmn_clock_monotonic; until 0: does not wait. Nothing else in the project
 * waits for file locks. CMN_BUSY: another process still has the lock.
 * CMN_ERR_IO: the file system has no locks.
 */
CMN_CHECKED enum cmn_status cmn_file_lock(int fd, uint64_t until);
/*
 * Gives it back. Closing alone would leave the lock to a child that was
 * forked in between and shares the open file.
 */
void cmn_file_unlock(int fd);
/* Closes a file and leaves its lock to a child that has it. */
void cmn_file_leave_lock(int fd);
/*
 * For pthread_atfork, in the child: closes what the parent had locked, so that no lock outlives its
 * owner there. Of more than 32 files at a time the child keeps some until it ends.
 */
void cmn_file_locks_fork_child(void);
/*
 * Whether the file system is on another machine, or may be: then locks may block
 * forever, and pages of a mapping fail where a read would return an error.
 */
bool cmn_file_is_remote(int fd);

#endif
