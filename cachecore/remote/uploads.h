/* SPDX-License-Identifier: MIT */
/*
 * uploads: which entries of a root are still to be stored in the remote tier:
 * empty files <root>/uploads/<entry_dir>, with a "." for each "/" in the entry directory's path.
 * A file is made after its entry was stored. Another process (ckcache-remote)
 * renames it to "<entry_dir>-<n>" before it reads the entry, so that what is stored
 * meanwhile is noted anew, and removes it after the upload. n counts how often the
 * server has refused the entry. Files of other users, in a group's root, are theirs.
 * Thread-safe, also between processes.
 */
#ifndef CACHECORE_REMOTE_UPLOADS_H
#define CACHECORE_REMOTE_UPLOADS_H

#include <stdbool.h>
#include <stddef.h>

#include "cachecore/disk/root.h"
#include "common/status.h"

#define CC_UPLOADS_DIRECTORY "uploads"

/*
 * Notes an entry directory, by its path below the root. CMN_OK also where it is noted
 * already. CMN_ERR_TOO_LARGE: very many wait, or have waited, and nobody has tidied up since.
 */
CMN_CHECKED enum cmn_status cc_uploads_add(int root_fd, const char *entry_dir);
/* For watching it; made if it is not there; for close. */
CMN_CHECKED enum cmn_status cc_uploads_open(int root_fd, int *ret_fd);
#define CC_UPLOADS_MAX_REFUSALS 9
#define CC_UPLOADS_FRESH (-1)	/* in place of n: as it was noted */
/*
 * Calls visit for each entry directory that is noted until it returns false. Other names
 * are left alone. CMN_MISS: none is noted.
 */
CMN_CHECKED enum cmn_status cc_uploads_walk(int uploads_fd,
					    bool (*visit)(void *ctx, const char *entry_dir,
							  int refusals), void *ctx);
/* From one count to another. CMN_MISS: it is not there. */
CMN_CHECKED enum cmn_status cc_uploads_set_refusals(int uploads_fd, const char *entry_dir, int from,
						    int to);
/* One that is not there is fine. */
CMN_CHECKED enum cmn_status cc_uploads_remove(int uploads_fd, const char *entry_dir, int refusals);
/* Where very many have waited, drops what was refused, which would keep the directory where it is. */
void cc_uploads_make_room(int uploads_fd);
/* Removes the directory where nothing is noted: those of some file systems never shrink. */
void cc_uploads_tidy(int root_fd);

#endif
