/* SPDX-License-Identifier: MIT */
/* root: ownership and permission checks. */
#include "cachecore/disk/root.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/descriptor.h"
#include "common/file.h"

static bool is_groups(const struct stat *info)
{
	return (info->st_mode & S_IWGRP) && (info->st_mode & S_ISGID) &&
	       !(info->st_mode & S_IWOTH) && cmn_file_is_of_own_group(info->st_gid);
}

static enum cmn_status check_info(const struct stat *info, enum cc_root_kind kind,
				  const char **ret_reason)
{
	bool groups = kind == CC_ROOT_GROUP && is_groups(info);
	bool trusted = cmn_file_is_own(info->st_uid) || (kind == CC_ROOT_TIER && info->st_uid == 0);

	if (!S_ISDIR(info->st_mode))
		*ret_reason = "it is not a directory";
	else if (!groups && !trusted)
		*ret_reason = info->st_uid != geteuid()
			? "it belongs to another user"
			: "its owner is the id that stands for every user without a mapping here";
	else if (!groups && (info->st_mode & (S_IWGRP | S_IWOTH)))
		*ret_reason = "others may write to it";
	else
		return CMN_OK;
	return CMN_ERR_ACCESS;
}

mode_t cc_root_dir_mode(int root_fd)
{
	struct stat info;

	if (fstat(root_fd, &info) < 0 || !(info.st_mode & S_IWGRP))
		return 0700;
	return (info.st_mode & (S_ISGID | S_ISVTX | 0770)) | 0700;
}

enum cmn_status cc_root_check(const char *path, enum cc_root_kind kind, const char **ret_reason)
{
	struct stat info;

	*ret_reason = "it cannot be examined";
	if (fstatat(AT_FDCWD, path, &info, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno == ENOTDIR)
			*ret_reason = "a part of its path is not a directory";
		else if (errno == EACCES)
			*ret_reason = "a directory above it is closed to this user";
		return errno == ENOENT ? CMN_MISS : CMN_ERR_ACCESS;
	}
	if (S_ISLNK(info.st_mode)) {
		/* A link of one's own is a way to put the cache elsewhere; another's is a trap. */
		if (!cmn_file_is_own(info.st_uid) && info.st_uid != 0) {
			*ret_reason = "it is another user's symbolic link";
			return CMN_ERR_ACCESS;
		}
		if (stat(path, &info) < 0)
			return errno == ENOENT ? CMN_MISS : CMN_ERR_ACCESS;
	}
	return check_info(&info, kind, ret_reason);
}

enum cmn_status cc_root_open_by(const char *path, enum cc_root_kind kind, int access, int *ret_fd,
				const char **ret_reason)
{
	const int flags = access | O_DIRECTORY | O_CLOEXEC;
	enum cmn_status status;
	struct stat info;
	/* Look-ups close theirs at once, on the application's own threads. */
	int fd = access == O_PATH ? open(path, flags | O_NOFOLLOW)
				  : cmn_descriptor_open(AT_FDCWD, path, flags | O_NOFOLLOW);

	/* A link, perhaps, which may be one's own. */
	if (fd < 0) {
		status = cc_root_check(path, kind, ret_reason);
		if (status != CMN_OK)
			return status;
		fd = access == O_PATH ? open(path, flags)
				      : cmn_descriptor_open(AT_FDCWD, path, flags);
	}
	*ret_reason = "it cannot be opened";
	if (fd < 0)
		return errno == ENOENT ? CMN_MISS : CMN_ERR_ACCESS;
	status = fstat(fd, &info) < 0 ? CMN_ERR_ACCESS : check_info(&info, kind, ret_reason);
	if (status != CMN_OK) {
		(void)cmn_descriptor_close(fd);	/* nothing was written through it */
		return status;
	}
	*ret_fd = fd;
	return CMN_OK;
}

enum cmn_status cc_root_make(const char *path, int *ret_fd)
{
	enum cmn_status status = cc_root_open(path, ret_fd);

	if (status != CMN_MISS)
		return status;
	status = cmn_file_make_dirs(path, 0700);
	if (status == CMN_OK)
		status = cc_root_open(path, ret_fd);
	/* A parent that is no directory reads as "not there". */
	return status == CMN_MISS ? CMN_ERR_ACCESS : status;
}

void cc_root_unlock(int fd)
{
	cmn_file_unlock(fd);
	(void)cmn_descriptor_close(fd);	/* a directory: nothing to be lost */
}
