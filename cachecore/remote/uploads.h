/* SPDX-License-Identifier: MIT */
/*
 * uploads: which entries of a root are still to be stored in the remote tier:
 * empty files <root>/uploads/<leaf>, with a "." for each "/" in the leaf's path.
 * A file is made after its entry was stored and removed after it was uploaded, by
 * another process (ckcache-remote), which finds the rest when it starts again.
 * Thread-safe, also between processes.
 */
#ifndef CACHECORE_REMOTE_UPLOADS_H
#define CACHECORE_REMOTE_UPLOADS_H

#include <stdbool.h>
#include <stddef.h>

#include "cachecore/disk/leaf.h"
#include "common/status.h"

#define CC_UPLOADS_DIRECTORY "uploads"

/*
 * Notes a leaf, by its path below the root. CMN_OK also where it is noted
 * already. CMN_ERR_TOO_LARGE: very many wait, since nobody uploads them.
 */
CMN_CHECKED enum cmn_status cc_uploads_add(int root_fd, const char *leaf);
/* For watching it; made if it is not there; for cmn_descriptor_close. */
CMN_CHECKED enum cmn_status cc_uploads_open(int root_fd, int *ret_fd);
/*
 * Calls visit for each leaf that is noted until it returns false. Other names
 * are left alone. CMN_MISS: none is noted.
 */
CMN_CHECKED enum cmn_status cc_uploads_walk(int uploads_fd,
					    bool (*visit)(void *ctx, const char *leaf), void *ctx);
/* One that is not there is fine. */
CMN_CHECKED enum cmn_status cc_uploads_remove(int uploads_fd, const char *leaf);

#endif
