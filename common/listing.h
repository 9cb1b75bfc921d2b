/* SPDX-License-Identifier: MIT */
/*
 * listing: the names in a directory, read a block at a time into the caller's storage. One thread at a time.
 */
#ifndef COMMON_LISTING_H
#define COMMON_LISTING_H

#include <dirent.h>
#include <stdalign.h>
#include <stdbool.h>

/* About 2 kB. */
struct cmn_listing {
	int fd;
	long at, len;
	alignas(struct dirent64) char block[2048];
};

/* Lists the directory path in dir_fd; follows no link. false: errno says why. Ends with cmn_listing_close. */
bool cmn_listing_open(struct cmn_listing *listing, int dir_fd, const char *path);
/* The next name except "." and "..", valid until the next call; NULL: no more, or no more can be read. */
const struct dirent64 *cmn_listing_next(struct cmn_listing *listing);
/* Goes on at a position of the file system's numbering, where 0 is the beginning. false: it has no such one. */
bool cmn_listing_seek(struct cmn_listing *listing, long position);
void cmn_listing_close(struct cmn_listing *listing);

#endif
