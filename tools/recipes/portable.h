/* SPDX-License-Identifier: MIT */
/*
 * portable: which programs can be asked for in the same words on another
 * machine, and which options a pack may hand to a compiler. Whoever records and
 * whoever builds ask the same questions, so what was recorded is not refused
 * later. Pure functions, thread-safe.
 */
#ifndef TOOLS_RECIPES_PORTABLE_H
#define TOOLS_RECIPES_PORTABLE_H

#include <stdbool.h>

#include "common/bytes.h"

/*
 * Whether a path is a package's: absolute, without "..", and below a directory
 * that package managers fill (/usr, /opt, /app, /snap, /nix/store, /gnu/store).
 */
bool portable_path(struct cmn_view path);
/* Whether a header that comes with a program has a plain relative name: compilers may write it to a file. */
bool portable_header(struct cmn_view name);
/*
 * NULL: however a compiler splits and unquotes the text, it finds options that are known, name no
 * file, and whose include directories are packages' or below the working directory. Else why not,
 * in static words that follow "because".
 */
const char *portable_options(struct cmn_view options);
/* Whether a path lies below an absolute include directory of the options. */
bool portable_includes(struct cmn_view options, struct cmn_view path);

#endif
