/* SPDX-License-Identifier: MIT */
/*
 * root: which directories may be trusted as the root of a store. An entry is
 * code that will run, so a root must belong to the effective user (a
 * read-only tier: or to the superuser) and be writable by its owner alone.
 * No descriptor is kept between operations: a root may be removed and made
 * again while the process runs, and an application may close what it does not
 * know. Thread-safe.
 */
#ifndef CACHECORE_ROOT_H
#define CACHECORE_ROOT_H

#include "common/log.h"
#include "common/status.h"

enum cc_root_kind {
	CC_ROOT_OWN,		/* read and written */
	CC_ROOT_SHARED,		/* a read-only tier */
};

/* CMN_OK; CMN_MISS: not there; CMN_ERR_ACCESS: not to be used, *ret_reason (static) says why. */
CMN_CHECKED enum cmn_status cc_root_check(const char *path, enum cc_root_kind kind,
					  const char **ret_reason);
/* Opens the own root, checked on the descriptor itself. Statuses as above. */
CMN_CHECKED enum cmn_status cc_root_open(const char *path, int *ret_fd);
/* The same, made with mode 0700 if it is not there. */
CMN_CHECKED enum cmn_status cc_root_make(const char *path, int *ret_fd);
/*
 * Gives back a lock taken by cmn_file_lock and closes. Closing alone would
 * not do: a child that the application forked meanwhile shares the lock.
 */
void cc_root_unlock(int fd);

#endif
