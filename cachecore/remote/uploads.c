/* SPDX-License-Identifier: MIT */
/* uploads: empty files, one for each entry that waits. */
#include "cachecore/remote/uploads.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachecore/disk/root.h"
#include "common/file.h"
#include "common/listing.h"

/* A directory of that size has, or had, some ten thousand names; then nobody has uploaded for long. */
#define MAX_DIRECTORY_SIZE ((off_t)2 << 20)

static bool is_over(int uploads_fd)
{
	struct stat info;

	return fstat(uploads_fd, &info) == 0 && info.st_size > MAX_DIRECTORY_SIZE;
}

static void replace(char *text, char from, char to)
{
	for (; *text; text++) {
		if (*text == from)
			*text = to;
	}
}

enum cmn_status cc_uploads_open(int root_fd, int *ret_fd)
{
	return cmn_file_open_dir(root_fd, CC_UPLOADS_DIRECTORY, cc_root_dir_mode(root_fd), ret_fd);
}

/* "<hash>.<hash>.<hash>.<hash>", perhaps with "-<n>": a name that an entry directory could have. */
static bool parse(const char *name, char ret_entry_dir[CC_ENTRY_DIR_PATH_SIZE], int *ret_refusals)
{
	const size_t len = CC_ENTRY_DIR_PATH_SIZE - 1;
	size_t dots = 0;

	if (strlen(name) != len && (strlen(name) != len + 2 || name[len] != '-' ||
				    name[len + 1] < '0' || name[len + 1] > '9'))
		return false;
	*ret_refusals = name[len] ? name[len + 1] - '0' : CC_UPLOADS_FRESH;
	memcpy(ret_entry_dir, name, len);
	ret_entry_dir[len] = '\0';
	for (const char *at = ret_entry_dir; *at; at++)
		dots += *at == '.';
	if (dots != CC_PART_COUNT - 1 || strspn(ret_entry_dir, "0123456789abcdef.") != len ||
	    strstr(ret_entry_dir, "..") || *ret_entry_dir == '.')
		return false;
	replace(ret_entry_dir, '.', '/');
	return true;
}

static void name_note(const char *entry_dir, int refusals, char ret[CC_ENTRY_DIR_PATH_SIZE + 2])
{
	size_t len = strlen(entry_dir);

	memcpy(ret, entry_dir, len + 1);
	replace(ret, '/', '.');
	if (refusals == CC_UPLOADS_FRESH)
		return;
	ret[len] = '-';
	ret[len + 1] = (char)('0' + refusals % 10);
	ret[len + 2] = '\0';
}

static enum cmn_status add_in(int uploads_fd, const char *name)
{
	int fd;

	if (is_over(uploads_fd))
		return CMN_ERR_TOO_LARGE;
	fd = cmn_file_open_to_write(uploads_fd, name, O_WRONLY | O_CREAT, 0600, CMN_FILE_ANY, NULL, NULL);
	if (fd < 0)
		return cmn_status_from_errno(errno);
	(void)close(fd);	/* nothing was written through it */
	return CMN_OK;
}

enum cmn_status cc_uploads_add(int root_fd, const char *entry_dir)
{
	char name[CC_ENTRY_DIR_PATH_SIZE + 2];
	enum cmn_status status;
	int fd;

	if (strlen(entry_dir) >= (size_t)CC_ENTRY_DIR_PATH_SIZE)
		return CMN_ERR_INVALID;
	name_note(entry_dir, CC_UPLOADS_FRESH, name);
	/* Once more where it was tidied up in between. */
	for (int i = 0; i < 2; i++) {
		status = cc_uploads_open(root_fd, &fd);
		if (status != CMN_OK)
			return status;
		status = add_in(fd, name);
		(void)close(fd);	/* a directory: nothing to be lost */
		if (status != CMN_MISS)
			break;
	}
	return status;
}

enum cmn_status cc_uploads_walk(int uploads_fd,
				bool (*visit)(void *ctx, const char *entry_dir, int refusals), void *ctx)
{
	struct cmn_listing listing = { 0 };
	enum cmn_status status = CMN_MISS;
	const struct dirent64 *item;

	if (!cmn_listing_open(&listing, uploads_fd, "."))
		return cmn_status_from_errno(errno);
	while ((item = cmn_listing_next(&listing))) {
		char entry_dir[CC_ENTRY_DIR_PATH_SIZE];
		struct stat info;
		int refusals;

		if (!parse(item->d_name, entry_dir, &refusals) ||
		    fstatat(uploads_fd, item->d_name, &info, AT_SYMLINK_NOFOLLOW) < 0 ||
		    info.st_uid != geteuid() || !S_ISREG(info.st_mode))
			continue;
		status = CMN_OK;
		if (!visit(ctx, entry_dir, refusals))
			break;
	}
	cmn_listing_close(&listing);
	return status;
}

enum cmn_status cc_uploads_set_refusals(int uploads_fd, const char *entry_dir, int from, int to)
{
	char old_name[CC_ENTRY_DIR_PATH_SIZE + 2], new_name[CC_ENTRY_DIR_PATH_SIZE + 2];

	if (strlen(entry_dir) >= (size_t)CC_ENTRY_DIR_PATH_SIZE)
		return CMN_ERR_INVALID;
	name_note(entry_dir, from, old_name);
	name_note(entry_dir, to, new_name);
	if (renameat(uploads_fd, old_name, uploads_fd, new_name) < 0)
		return cmn_status_from_errno(errno);
	return CMN_OK;
}

enum cmn_status cc_uploads_remove(int uploads_fd, const char *entry_dir, int refusals)
{
	char name[CC_ENTRY_DIR_PATH_SIZE + 2];

	if (strlen(entry_dir) >= (size_t)CC_ENTRY_DIR_PATH_SIZE)
		return CMN_ERR_INVALID;
	name_note(entry_dir, refusals, name);
	return cmn_file_remove(uploads_fd, name);
}

static bool drop_refused(void *ctx, const char *entry_dir, int refusals)
{
	const int *uploads_fd = ctx;

	if (refusals != CC_UPLOADS_FRESH)
		(void)!cc_uploads_remove(*uploads_fd, entry_dir, refusals);	/* the next one tries again */
	return true;
}

void cc_uploads_make_room(int uploads_fd)
{
	if (is_over(uploads_fd))
		(void)!cc_uploads_walk(uploads_fd, drop_refused, &uploads_fd);
}

void cc_uploads_tidy(int root_fd)
{
	(void)unlinkat(root_fd, CC_UPLOADS_DIRECTORY, AT_REMOVEDIR);	/* it is not empty, else */
}
