/* SPDX-License-Identifier: MIT */
/*
 * log_file: a file for messages that several processes append to. It is opened anew for each
 * message, so that no descriptor of the application's is taken for it, and it may be moved away at
 * any time. When it is full it becomes "<path>.old", and a new one is begun. Thread-safe; takes no
 * lock that a fork could leave held.
 */
#ifndef COMMON_LOG_FILE_H
#define COMMON_LOG_FILE_H

#include <stddef.h>

#include "common/status.h"

/* With the old one, a log takes twice as much. */
#define CMN_LOG_FILE_MAX ((size_t)1 << 20)

/*
 * Appends "<time> <program>[<pid>]: <message>", the time in UTC, in one write. Makes the file with
 * mode 0600. It has to be a regular file with one name that belongs to the effective user and that
 * nobody else may write to, and its last part no link; else CMN_ERR_ACCESS, and *ret_reason (static)
 * says what is wrong. Others as cmn_status_from_errno.
 */
CMN_CHECKED enum cmn_status cmn_log_file_append(const char *path, const char *program,
						const char *message, const char **ret_reason);

#endif
