/* SPDX-License-Identifier: MIT */
/*
 * descriptor: files that stay open while the cache works in the background of
 * an application, which forks, and may close every descriptor that there is,
 * without knowing of these. A kept descriptor
 *  - is closed in a forked child, so that no lock outlives its owner in one;
 *  - is known by device and inode, so that a number which the application has
 *    closed and given to a file of its own is neither written to nor closed;
 *  - gets no number that another one had which the application has closed and
 *    whose owner does not know yet.
 * The table is the process's, as its descriptors are: 128 are known at once,
 * and any more are descriptors like others. Thread-safe, without a lock.
 */
#ifndef COMMON_DESCRIPTOR_H
#define COMMON_DESCRIPTOR_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * As openat, close-on-exec, for what need not be made: kept from before any
 * child can have it. Not for O_PATH.
 */
int cmn_descriptor_open(int dir_fd, const char *path, int flags);
/*
 * The same in two steps, for other ways of opening: the number goes to
 * cmn_descriptor_keep with the new descriptor, which it takes (also -1), and
 * which may get another number. -1 with EINTR: the process was forked
 * meanwhile, and it was closed; to be opened again.
 */
unsigned int cmn_descriptor_forks(void);
int cmn_descriptor_keep(int fd, unsigned int forks);

/* false: it was kept, and the number is now another file's, or nobody's. */
bool cmn_descriptor_is_ours(int fd);
/* As close, of one that was kept or not; EBADF: it is not ours. Unlocks nothing that a child may share. */
int cmn_descriptor_close(int fd);

/* For pthread_atfork, any number of times a fork. In the child all that were kept are closed. */
void cmn_descriptors_fork_prepare(void);
void cmn_descriptors_fork_parent(void);
void cmn_descriptors_fork_child(void);

#endif
