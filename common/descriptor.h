/* SPDX-License-Identifier: MIT */
/*
 * descriptor: the files that the cache has open in an application. The
 * application does not know of them: it forks, and it may close every
 * descriptor of the process. So there is a table. A descriptor in the table
 *  - is closed in a forked child, so that no lock outlives its owner there;
 *  - is identified by device and inode: if the application has closed it and
 *    its number now belongs to a file of the application, the cache neither
 *    writes to that file nor closes it;
 *  - never gets the number of another one that the application has closed,
 *    as long as that one's owner has not noticed.
 * The table belongs to the process, as descriptors do. It has room for 128; any
 * more are ordinary descriptors. Thread-safe, without a lock.
 */
#ifndef COMMON_DESCRIPTOR_H
#define COMMON_DESCRIPTOR_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

/*
 * Like openat, close-on-exec, for a file that exists. It is in the table before
 * any child can have it. Not for O_PATH.
 */
int cmn_descriptor_open(int dir_fd, const char *path, int flags);
/*
 * The same in two steps, for other ways of opening. Call _forks first, then
 * open, then pass the number and the new descriptor (also -1) to _keep, which
 * takes it, may move it to another number, and returns it. -1 with EINTR: the
 * process forked in between and the file was closed; start again.
 */
unsigned int cmn_descriptor_forks(void);
int cmn_descriptor_keep(int fd, unsigned int forks);

/* false: fd was in the table, and the number now belongs to another file, or to none. */
bool cmn_descriptor_is_ours(int fd);
/* The same with fstat; false also where that fails. */
bool cmn_descriptor_stat(int fd, struct stat *ret);
/* Like close, in the table or not. EBADF: not ours any more. Does not unlock what a child may share. */
int cmn_descriptor_close(int fd);

/* For pthread_atfork; may be called several times per fork. The child closes all that are in the table. */
void cmn_descriptors_fork_prepare(void);
void cmn_descriptors_fork_parent(void);
void cmn_descriptors_fork_child(void);

#endif
