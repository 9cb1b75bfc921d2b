/* SPDX-License-Identifier: MIT */
/*
 * trusted: whether anybody but the effective user and root can change what a path leads to. Looks
 * at each directory on its way, at each symbolic link and where that leads, and at what is at its
 * end: all of it belongs to this user or to root, and nobody else may write to it. A directory with
 * the sticky bit may be written to by all, since nobody can replace what is not his there.
 *
 * In a user namespace, root outside often has no id (bubblewrap, Flatpak): directories on the way
 * whose owner has none count as root's. Thread-safe.
 */
#ifndef COMMON_TRUSTED_H
#define COMMON_TRUSTED_H

#include <stdbool.h>
#include <stddef.h>

#include "common/bytes.h"
#include "common/status.h"

/*
 * CMN_OK: trusted. CMN_MISS: it is not there. CMN_ERR_ACCESS: not trusted, and *ret_reason (static)
 * says why. Others as cmn_status_from_errno, with a reason too. path: absolute. is_system: no
 * variable names it, so that what is at its end may be root's outside too.
 */
CMN_CHECKED enum cmn_status cmn_trusted_check(const char *path, bool is_system, const char **ret_reason);
/*
 * Whether all of the path that is there belongs to this user or to root: whoever owns a directory
 * on the way decides what is at its end. Who else may write is not asked. path: absolute.
 */
bool cmn_trusted_owners(const char *path);

/*
 * A file that is obeyed: reads it if nobody but the effective user and root can change what the path
 * leads to. As cmn_file_read; CMN_ERR_ACCESS: *ret_reason (static) says why, NULL where
 * it is merely not readable.
 */
CMN_CHECKED enum cmn_status cmn_trusted_read(const char *path, bool is_system, size_t max_len,
					     const char **ret_reason, struct cmn_buffer *ret);

#endif
