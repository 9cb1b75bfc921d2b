/* SPDX-License-Identifier: MIT */
/* remove_tree: removes a file, or a directory with all that is below. */
#ifndef TESTS_SUPPORT_REMOVE_TREE_H
#define TESTS_SUPPORT_REMOVE_TREE_H

#include <ftw.h>

#include "tests/support/posix.h"

static inline int remove_tree_permit(const char *path, const struct stat *info, int kind, struct FTW *where)
{
	(void)where;
	if (kind == FTW_D || kind == FTW_DNR)
		(void)chmod(path, (info->st_mode & 07777) | 0700);
	return 0;
}

static inline int remove_tree_one(const char *path, const struct stat *info, int kind, struct FTW *where)
{
	(void)info;
	(void)kind;
	(void)where;
	return remove(path);
}

/* Also where permissions were taken away; whatever cannot be removed stays. */
static inline void remove_tree(const char *path)
{
	(void)nftw(path, remove_tree_permit, 16, FTW_PHYS);
	(void)nftw(path, remove_tree_one, 16, FTW_PHYS | FTW_DEPTH);
}

#endif
