/* SPDX-License-Identifier: MIT */
/* space_files: the file of a root in which this folder keeps its number. */
#ifndef CACHECORE_DISK_SPACE_SPACE_FILES_H
#define CACHECORE_DISK_SPACE_SPACE_FILES_H

#define CC_ACCOUNT_NAME "cache_size.txt"

#endif
