/* SPDX-License-Identifier: MIT */
/*
 * witness: whether the files that a manifest speaks of were touched between
 * two moments. Contents that are equal before and after a build do not say
 * what the compiler read meanwhile: a header may have changed and changed
 * back. The file system's own record does: device, inode, size, mtime and
 * ctime, of each header, of the directory that it lies in, of the directory
 * in which an absent one would have appeared, and of every symbolic link among
 * the components of these paths. Pure functions of the file system,
 * thread-safe.
 *
 * What it cannot see: a directory further up that was moved away and back, a
 * link inside the target of another one's, and a file system that keeps no
 * ctime.
 */
#ifndef CACHECORE_WITNESS_H
#define CACHECORE_WITNESS_H

#include <stdbool.h>

#include "cachecore/manifest.h"
#include "common/hash.h"
#include "common/status.h"

/*
 * Before the build: what the file system says now, where all is as the manifest
 * has it. Sleeps up to 40 ms where something changed just now, since another
 * change could have the same time. CMN_STALE: it differs, or changes all the
 * time, or times are too coarse to tell; CMN_ERR_NOMEM. memo may be NULL.
 */
CMN_CHECKED enum cmn_status cc_witness_take(const struct cc_manifest *manifest,
					    struct cc_file_memo *memo, struct cmn_hash *ret);
/* After it: nothing was touched since. A manifest of nothing always holds. */
bool cc_witness_holds(const struct cc_manifest *manifest, const struct cmn_hash *witness);

#endif
