/* SPDX-License-Identifier: MIT */
/*
 * root: which directories may be trusted as the root of a store. An entry is
 * code that will run, so a root must belong to the effective user (a
 * read-only tier: or to the superuser) and be writable by its owner alone,
 * unless the user's setting says that it may be a group's.
 * No descriptor is kept between operations: a root may be removed and made
 * again while the process runs, and an application may close descriptors that it
 * does not know. Thread-safe.
 */
#ifndef CACHECORE_DISK_ROOT_H
#define CACHECORE_DISK_ROOT_H

#include <fcntl.h>
#include <sys/types.h>

#include "common/log.h"
#include "common/status.h"

enum cc_root_kind {
	CC_ROOT_OWN,		/* read and written */
	CC_ROOT_TIER,		/* a read-only tier */
	/*
	 * Read and written, and a group's by its permissions: the group may write
	 * to it, has the process as a member, and owns what is made in it (the
	 * set-group-ID bit). Its owner and all of the group are trusted.
	 */
	CC_ROOT_GROUP,
};

/* CMN_OK; CMN_MISS: not there; CMN_ERR_ACCESS: not to be used, *ret_reason (static) says why. */
CMN_CHECKED enum cmn_status cc_root_check(const char *path, enum cc_root_kind kind,
					  const char **ret_reason);
/*
 * The same, and a descriptor: the directory that was checked, whatever has its
 * name by then. access: O_PATH, to open what is in it; O_RDONLY, for everything
 * else too.
 */
CMN_CHECKED enum cmn_status cc_root_open_by(const char *path, enum cc_root_kind kind, int access,
					    int *ret_fd, const char **ret_reason);

static inline CMN_CHECKED enum cmn_status cc_root_find(const char *path, enum cc_root_kind kind,
						       int *ret_fd, const char **ret_reason)
{
	return cc_root_open_by(path, kind, O_PATH, ret_fd, ret_reason);
}

static inline CMN_CHECKED enum cmn_status cc_root_open_as(const char *path, enum cc_root_kind kind,
							  int *ret_fd)
{
	const char *reason;

	return cc_root_open_by(path, kind, O_RDONLY, ret_fd, &reason);
}

/*
 * The mode of directories in a root: the owner's alone, or the group's too
 * (with its set-group-ID and sticky bits) where the root is the group's.
 */
mode_t cc_root_dir_mode(int root_fd);
/* Opens the own root, or a group's. Whether a group's is wanted is the store's to check. */
static inline CMN_CHECKED enum cmn_status cc_root_open(const char *path, int *ret_fd)
{
	return cc_root_open_as(path, CC_ROOT_GROUP, ret_fd);
}

/* The same, made with mode 0700 if it is not there. */
CMN_CHECKED enum cmn_status cc_root_make(const char *path, int *ret_fd);
/*
 * Gives back a lock taken by cmn_file_lock and closes. Closing alone would
 * not do: a child that the application forked meanwhile shares the lock.
 */
void cc_root_unlock(int fd);

#endif
