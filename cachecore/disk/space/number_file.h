/* SPDX-License-Identifier: MIT */
/*
 * number_file: small files that hold one decimal number and a newline, such as
 * cache_size.txt. Thread-safe.
 */
#ifndef CACHECORE_DISK_SPACE_NUMBER_FILE_H
#define CACHECORE_DISK_SPACE_NUMBER_FILE_H

#include <stdint.h>

#include "common/status.h"

/* CMN_MISS: not there. CMN_ERR_CORRUPT: not a number. Others: cannot be read. */
CMN_CHECKED enum cmn_status cc_number_file_read(int dir_fd, const char *name, uint64_t *ret);
/* Creates or replaces it atomically; the caller holds the directory's lock. */
CMN_CHECKED enum cmn_status cc_number_file_write(int dir_fd, const char *name, uint64_t value);

#endif
