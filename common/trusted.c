/* SPDX-License-Identifier: MIT */
/* trusted: each part of a path, and for a symbolic link each part of where it leads. */
#include "common/trusted.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/bytes.h"
#include "common/file.h"

#define MAX_DEPTH 16		/* of links that lead through links */
#define MAX_MAP 4096
#define MAX_TARGET 4096

struct walk {
	bool owners_only, is_system;
	const char *reason;
};

/* Whether this user namespace has fewer ids than the machine. */
static bool is_namespace(void)
{
	static const char all[] = "4294967295";
	struct cmn_buffer map;
	bool whole;

	if (cmn_file_read_shown("/proc/self/uid_map", MAX_MAP, &map) != CMN_OK)
		return false;
	whole = memmem(map.data, map.len, all, sizeof(all) - 1) != NULL;
	cmn_buffer_release(&map);
	return !whole;
}

/* NULL: trusted. last: it is the end of the path, and not on its way. */
static const char *distrust(const struct walk *walk, const struct stat *info, bool last)
{
	bool sticky = S_ISDIR(info->st_mode) && (info->st_mode & S_ISVTX);

	if (!cmn_file_is_own(info->st_uid) && info->st_uid != 0 &&
	    ((last && !walk->is_system) || info->st_uid != CMN_FILE_OVERFLOW_ID || !is_namespace()))
		return last ? "it belongs to another user"
			    : "a directory or link on its way belongs to another user";
	/* The mode of a link says nothing. */
	if (!walk->owners_only && !S_ISLNK(info->st_mode) && !sticky && (info->st_mode & (S_IWGRP | S_IWOTH)))
		return last ? "others may write to it" : "others may write to a directory on its way";
	return NULL;
}

static enum cmn_status go(struct walk *walk, const char *path, unsigned int depth, bool to_end);

/* part: the path of a link, whose last name begins at name. */
static enum cmn_status follow(struct walk *walk, const char *part, size_t name, unsigned int depth, bool to_end)
{
	char target[MAX_TARGET], *path = NULL;
	ssize_t len = readlink(part, target, sizeof(target) - 1);
	enum cmn_status status;

	if (len < 0 || len == sizeof(target) - 1 || depth == MAX_DEPTH) {
		walk->reason = "it leads through too many symbolic links";
		return CMN_ERR_ACCESS;
	}
	target[len] = '\0';
	if (asprintf(&path, "%.*s%s", target[0] == '/' ? 0 : (int)name, part, target) < 0)
		return CMN_ERR_NOMEM;
	status = go(walk, path, depth + 1, to_end);
	free(path);
	return status;
}

/* to_end: the path's end is that of the whole way. */
static enum cmn_status go(struct walk *walk, const char *path, unsigned int depth, bool to_end)
{
	enum cmn_status status = CMN_OK;
	char *part = strdup(path);
	size_t name = 0, end = 1;	/* of the part's last name: the first one is "/" */
	struct stat info;

	if (!part)
		return CMN_ERR_NOMEM;
	while (status == CMN_OK) {
		bool last = !path[end + strspn(path + end, "/")];

		part[end] = '\0';
		if (lstat(part, &info) < 0) {
			status = cmn_status_from_errno(errno);
			walk->reason = cmn_status_string(status);
			break;
		}
		walk->reason = distrust(walk, &info, to_end && last && !S_ISLNK(info.st_mode));
		if (walk->reason)
			status = CMN_ERR_ACCESS;
		else if (S_ISLNK(info.st_mode))
			status = follow(walk, part, name, depth, to_end && last);
		if (last)
			break;
		part[end] = path[end];
		name = end + strspn(path + end, "/");
		end = name + strcspn(path + name, "/");
	}
	free(part);
	return status;
}

enum cmn_status cmn_trusted_check(const char *path, bool is_system, const char **ret_reason)
{
	struct walk walk = { .is_system = is_system, .reason = "it is no absolute path" };
	enum cmn_status status = path[0] == '/' ? go(&walk, path, 0, true) : CMN_ERR_ACCESS;

	*ret_reason = walk.reason;
	return status;
}

bool cmn_trusted_owners(const char *path)
{
	struct walk walk = { .owners_only = true };
	enum cmn_status status = path[0] == '/' ? go(&walk, path, 0, true) : CMN_ERR_ACCESS;

	return status == CMN_OK || status == CMN_MISS;
}

enum cmn_status cmn_trusted_read(const char *path, bool is_system, size_t max_len,
				 const char **ret_reason, struct cmn_buffer *ret)
{
	const char *reason = NULL;
	enum cmn_status status = cmn_trusted_check(path, is_system, &reason);
	struct stat info;

	*ret = (struct cmn_buffer){ 0 };
	*ret_reason = NULL;
	/* Nobody else can change it from now on. */
	if (status == CMN_OK)
		return cmn_file_read(AT_FDCWD, path, max_len, true, ret);
	if (status != CMN_ERR_ACCESS)
		return status;
	/* What is not there, or closed to this user, would not be obeyed anyway. */
	if (stat(path, &info) < 0)
		return cmn_status_from_errno(errno);
	*ret_reason = reason;
	return status;
}
