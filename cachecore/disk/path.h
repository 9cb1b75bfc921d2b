/* SPDX-License-Identifier: MIT */
/* path: what a user or a program calls a directory, made independent of the working directory; and what the program itself is called. Thread-safe. */
#ifndef CACHECORE_DISK_PATH_H
#define CACHECORE_DISK_PATH_H

#include <stdbool.h>
#include <stddef.h>

#include "common/status.h"

/*
 * The first len bytes of text as an absolute path, which the caller frees.
 * CMN_ERR_INVALID: it is empty, or relative where that is not allowed, or begins
 * with "~", or there is no working directory. CMN_ERR_NOMEM.
 */
CMN_CHECKED enum cmn_status cc_path_absolute(const char *text, size_t len, bool relative,
					     char **ret);

/* What the process's program is called: the last part of the path by which it, or a script, was started. */
const char *cc_path_program(void);

#endif
