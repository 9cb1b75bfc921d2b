/* SPDX-License-Identifier: MIT */
/* uploads: empty files, one for each entry that waits. */
#include "cachecore/remote/uploads.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachecore/disk/root.h"
#include "common/descriptor.h"
#include "common/file.h"
#include "common/listing.h"

/* A directory of that size has some ten thousand names; then nobody has uploaded for long. */
#define MAX_DIRECTORY_SIZE ((off_t)2 << 20)

static void replace(char *text, char from, char to)
{
	for (; *text; text++) {
		if (*text == from)
			*text = to;
	}
}

enum cmn_status cc_uploads_open(int root_fd, int *ret_fd)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
	enum cmn_status status;

	*ret_fd = cmn_descriptor_open(root_fd, CC_UPLOADS_DIRECTORY, flags);
	if (*ret_fd >= 0)
		return CMN_OK;
	if (errno != ENOENT)
		return cmn_status_from_errno(errno);
	status = cmn_file_make_dir(root_fd, CC_UPLOADS_DIRECTORY, cc_root_dir_mode(root_fd));
	if (status != CMN_OK)
		return status;
	*ret_fd = cmn_descriptor_open(root_fd, CC_UPLOADS_DIRECTORY, flags);
	return *ret_fd >= 0 ? CMN_OK : cmn_status_from_errno(errno);
}

enum cmn_status cc_uploads_add(int root_fd, const char *leaf)
{
	const int flags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
	char name[CC_LEAF_PATH_SIZE];
	enum cmn_status status;
	struct stat info;
	int fd, file;

	if (strlen(leaf) >= sizeof(name))
		return CMN_ERR_INVALID;
	memcpy(name, leaf, strlen(leaf) + 1);
	replace(name, '/', '.');
	status = cc_uploads_open(root_fd, &fd);
	if (status != CMN_OK)
		return status;
	if (fstat(fd, &info) == 0 && info.st_size > MAX_DIRECTORY_SIZE) {
		status = CMN_ERR_TOO_LARGE;
	} else {
		file = openat(fd, name, flags, 0600);
		status = file < 0 ? cmn_status_from_errno(errno) : CMN_OK;
		if (file >= 0)
			(void)close(file);	/* nothing was written through it */
	}
	(void)cmn_descriptor_close(fd);	/* a directory: nothing to be lost */
	return status;
}

/* "<hash>.<hash>.<hash>.<hash>": a name that a leaf could have. */
static bool is_leaf(const char *name)
{
	size_t len = strlen(name), dots = 0;

	for (const char *at = name; *at; at++)
		dots += *at == '.';
	return len == CC_LEAF_PATH_SIZE - 1 && dots == CC_PART_COUNT - 1 &&
	       strspn(name, "0123456789abcdef.") == len && !strstr(name, "..") && *name != '.';
}

enum cmn_status cc_uploads_walk(int uploads_fd, bool (*visit)(void *ctx, const char *leaf),
				void *ctx)
{
	struct cmn_listing listing = { 0 };
	enum cmn_status status = CMN_MISS;
	const struct dirent64 *item;

	if (!cmn_listing_open(&listing, uploads_fd, "."))
		return cmn_status_from_errno(errno);
	while ((item = cmn_listing_next(&listing))) {
		char leaf[CC_LEAF_PATH_SIZE];

		if (!is_leaf(item->d_name))
			continue;
		memcpy(leaf, item->d_name, sizeof(leaf));
		replace(leaf, '.', '/');
		status = CMN_OK;
		if (!visit(ctx, leaf))
			break;
	}
	cmn_listing_close(&listing);
	return status;
}

enum cmn_status cc_uploads_remove(int uploads_fd, const char *leaf)
{
	char name[CC_LEAF_PATH_SIZE];

	if (strlen(leaf) >= sizeof(name))
		return CMN_ERR_INVALID;
	memcpy(name, leaf, strlen(leaf) + 1);
	replace(name, '/', '.');
	if (unlinkat(uploads_fd, name, 0) < 0 && errno != ENOENT)
		return cmn_status_from_errno(errno);
	return CMN_OK;
}
