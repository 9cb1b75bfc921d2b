/* SPDX-License-Identifier: MIT */
/*
 * entry_dir_walk: visits the entry directories below a root. Only directories named by a hash are
 * entered, at exactly their depth; links are not followed; whatever else lies
 * there is not looked at. Takes no lock. Thread-safe.
 */
#ifndef CACHECORE_DISK_ENTRY_DIR_WALK_H
#define CACHECORE_DISK_ENTRY_DIR_WALK_H

#include <stdbool.h>
#include <stddef.h>

#include "common/status.h"

/* path: as from cc_entry_dir_path, in a buffer of CC_ENTRY_DIR_PATH_SIZE. Anything but CMN_OK ends the walk. */
typedef enum cmn_status (*cc_entry_dir_visit_fn)(void *ctx, int root_fd, const char *path, int entry_dir_fd);

/*
 * The visitor may remove the entry directory. With prune, levels above the entry directories that
 * are empty are removed; whoever makes one must be ready for that.
 * CMN_OK, CMN_ERR_IO for a root that cannot be listed, or what visit returned.
 */
CMN_CHECKED enum cmn_status cc_entry_dir_walk(int root_fd, bool prune, cc_entry_dir_visit_fn visit,
					      void *ctx);
/* Part of the tree, or all of it in an order. */
struct cc_entry_dir_choice {
	/* Whether a directory is entered; level: the part of the key (enum cc_part). NULL: each is. */
	bool (*enter)(void *ctx, size_t level, const char *name);
	int order;	/* by path: 1 rising, -1 falling; 0: as the file system has it, which is faster */
};
/* As cc_entry_dir_walk, without prune; enter gets ctx too. Also CMN_ERR_NOMEM, where there is an order. */
CMN_CHECKED enum cmn_status cc_entry_dir_walk_chosen(int root_fd, const struct cc_entry_dir_choice *choice,
						     cc_entry_dir_visit_fn visit, void *ctx);

#endif
