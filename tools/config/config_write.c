/* SPDX-License-Identifier: MIT */
/* config_write: the lock of the directory, the old text, the new file beside it, its name. */
#include "tools/config/config_write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachecore/config.h"
#include "common/file.h"
#include "tools/tool.h"

/* One name is enough, since there is a lock: what a killed command left goes before. */
#define NEW_NAME ".ckcache.conf.new"

static enum cmn_status from_errno(void)
{
	return cmn_status_from_errno(errno);
}

/* As the old file (NULL: there was none), with that text. secret: but its owner's alone. */
static enum cmn_status fill(int fd, const struct stat *old, mode_t mode, bool secret,
			    struct cmn_view text)
{
	bool kept = !old || fchown(fd, old->st_uid, old->st_gid) == 0;
	enum cmn_status status = kept || geteuid() != 0 ? CMN_OK : from_errno();

	if (old)
		mode = old->st_mode & 0777;
	/* Of another group: it and everybody else get what both had. */
	if (!kept)
		mode = (mode & 0700) | (mode & mode >> 3 & 0007) * 0011;
	if (secret)
		mode &= 0700;
	/* What only its owner may read holds passwords: permissions come before the text. */
	if (status == CMN_OK && fchmod(fd, mode) < 0)
		status = from_errno();
	if (status == CMN_OK)
		status = cmn_file_write_all(fd, text.data, text.len);
	if (status == CMN_OK && fsync(fd) < 0)
		status = from_errno();
	return status;
}

static enum cmn_status replace(int dir_fd, const char *name, const struct stat *old, mode_t mode,
			       bool secret, struct cmn_view text)
{
	enum cmn_status status;
	int fd;

	/* Whatever has that name, nobody else may have it open: the file is a new one. */
	if (unlinkat(dir_fd, NEW_NAME, 0) < 0 && errno != ENOENT)
		return from_errno();
	fd = cmn_file_open_to_write(dir_fd, NEW_NAME, O_WRONLY | O_CREAT | O_EXCL, 0600, CMN_FILE_ANY, NULL);
	if (fd < 0)
		return from_errno();
	status = fill(fd, old, mode, secret, text);
	if (close(fd) < 0 && status == CMN_OK)
		status = from_errno();
	if (status == CMN_OK && renameat(dir_fd, NEW_NAME, dir_fd, name) < 0)
		status = from_errno();
	if (status != CMN_OK)
		(void)unlinkat(dir_fd, NEW_NAME, 0);	/* what stays goes the next time */
	return status;
}

static enum cmn_status change(int dir_fd, const char *name, const struct config_edit *edit,
			      mode_t mode)
{
	struct cmn_buffer old = { 0 }, new = { 0 };
	struct stat info;
	bool there = fstatat(dir_fd, name, &info, AT_SYMLINK_NOFOLLOW) == 0;
	enum cmn_status status = cmn_file_read(dir_fd, name, CC_CONFIG_MAX_FILE, false, &old);

	if (status == CMN_MISS && !there)
		status = CMN_OK;
	/* Nobody would read what stands behind a NUL. */
	if (status == CMN_OK && old.len && memchr(old.data, 0, old.len))
		status = CMN_ERR_CORRUPT;
	if (status == CMN_OK && !config_edit(cmn_buffer_view(&old), edit, &new))
		status = CMN_MISS;
	if (status == CMN_OK && new.len > CC_CONFIG_MAX_FILE)
		status = CMN_ERR_TOO_LARGE;
	if (status == CMN_OK)
		status = replace(dir_fd, name, there ? &info : NULL, mode, edit->secret,
				 cmn_buffer_view(&new));
	cmn_buffer_release(&old);
	cmn_buffer_release(&new);
	return status == CMN_MISS ? CMN_OK : status;
}

/* The directory is made; the lock need not be had where the file system has none. */
static enum cmn_status change_in(const char *directory, const char *name,
				 const struct config_edit *edit, mode_t directory_mode, mode_t file_mode)
{
	enum cmn_status status = cmn_file_make_dirs(directory, directory_mode);
	int dir_fd;

	if (status != CMN_OK)
		return status;
	dir_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0)
		return from_errno();
	status = cmn_file_lock(dir_fd, tool_lock_until());
	if (status == CMN_OK || status == CMN_ERR_IO)
		status = change(dir_fd, name, edit, file_mode);
	(void)close(dir_fd);	/* a directory: nothing to be lost */
	return status;
}

int config_write(const char *path, const struct config_edit *edit, mode_t directory_mode,
		 mode_t file_mode)
{
	struct stat info;
	char *file = realpath(path, NULL), *slash;
	enum cmn_status status;

	if (!file && errno == ENOENT && lstat(path, &info) < 0)
		file = strdup(path);
	slash = file ? strrchr(file, '/') : NULL;
	if (!slash) {
		tool_complain("%s: %s", path, file ? "not a path" : strerror(errno));
		free(file);
		return TOOL_FAILED;
	}
	*slash = '\0';
	status = change_in(slash == file ? "/" : file, slash + 1, edit, directory_mode, file_mode);
	free(file);
	if (status == CMN_OK)
		return TOOL_OK;
	tool_complain("%s: %s", path, status == CMN_BUSY ? "another process is changing it" :
		      cmn_status_string(status));
	return TOOL_FAILED;
}
