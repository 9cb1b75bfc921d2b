/* SPDX-License-Identifier: MIT */
/* entry_name: an entry as people write it: its path, or the beginnings of its parts, as `ckcache list` prints them. */
#ifndef TOOLS_ENTRIES_ENTRY_NAME_H
#define TOOLS_ENTRIES_ENTRY_NAME_H

#include <stdbool.h>

/*
 * Whether each part of text (between slashes) begins the same part of path: a
 * leaf's, or a leaf's with its number behind, which has to be the whole number,
 * with ".src" or without.
 */
bool entry_name_matches(const char *text, const char *path);

#endif
