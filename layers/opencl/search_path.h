/* SPDX-License-Identifier: MIT */
/*
 * search_path: the directories beyond the options' own in which a driver may
 * look for a header: those that the environment names to clang, and those
 * that a clang inside a driver searches by itself (seen with NEO and rusticl,
 * not with pocl). In no certain order. Not thread-safe.
 */
#ifndef OPENCL_SEARCH_PATH_H
#define OPENCL_SEARCH_PATH_H

#include <stddef.h>

#include "common/status.h"

struct ocl_search_path {
	char **directories;	/* "" is the working directory */
	size_t count;
};

/* CMN_ERR_NOMEM: *ret is to be released all the same. */
CMN_CHECKED enum cmn_status ocl_search_path_init(struct ocl_search_path *ret);
void ocl_search_path_release(struct ocl_search_path *path);

/* directory/name on the heap; NULL: out of memory. */
char *ocl_search_path_join(const char *directory, const char *name);
/* What is before the last slash of path, "" if there is none; NULL: out of memory. */
char *ocl_search_path_parent(const char *path);

#endif
