/* SPDX-License-Identifier: MIT */
/*
 * moved_entry: the result of a build whose include paths had other names. Some drivers put the options, and so
 * these names, into what they answer: Intel's into its binaries (a section, by which a program that is
 * loaded answers for its options), AMD's into the log (a warning for each -I). Elsewhere a name is part of
 * the result (docs/architecture/dependencies.md). Thread-safe.
 */
#ifndef OPENCL_PROGRAM_MOVED_ENTRY_H
#define OPENCL_PROGRAM_MOVED_ENTRY_H

#include <stdbool.h>

#include "cachecore/entry.h"
#include "cachecore/include_paths.h"

/* Whether all that has the names of these paths, by which it was built, can be had with others. */
bool ocl_entry_can_move(const struct cc_entry *entry, const struct cc_include_paths *paths);

/*
 * The entry as a build with these paths would have it: itself if it has the same ones, or none. NULL: out of memory,
 * or it is not known how. The caller has a reference.
 */
struct cc_entry *ocl_entry_move(struct cc_entry *entry, const struct cc_include_paths *paths);

#endif
