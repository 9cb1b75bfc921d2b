/* SPDX-License-Identifier: MIT */
/* listing: getdents64(2), a block at a time. */
#include "common/listing.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/file.h"


bool cmn_listing_open(struct cmn_listing *listing, int dir_fd, const char *path)
{
	listing->fd = cmn_file_open(dir_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	listing->at = 0;
	listing->len = 0;
	return listing->fd >= 0;
}

static bool is_self_or_parent(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

const struct dirent64 *cmn_listing_next(struct cmn_listing *listing)
{
	const struct dirent64 *item;

	do {
		if (listing->at >= listing->len) {
			listing->at = 0;
			listing->len = getdents64(listing->fd, listing->block, sizeof(listing->block));
			if (listing->len <= 0)
				return NULL;
		}
		item = (const struct dirent64 *)(const void *)(listing->block + listing->at);
		listing->at += item->d_reclen;
	} while (is_self_or_parent(item->d_name));
	return item;
}

bool cmn_listing_seek(struct cmn_listing *listing, long position)
{
	listing->at = 0;
	listing->len = 0;
	return lseek(listing->fd, position, SEEK_SET) == position;
}

void cmn_listing_close(struct cmn_listing *listing)
{
	(void)close(listing->fd);	/* read only */
}
