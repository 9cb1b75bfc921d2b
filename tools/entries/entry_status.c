/* SPDX-License-Identifier: MIT */
/* entry_status: looks at the files themselves. */
#include "tools/entries/entry_status.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file.h"

/* Why a file is not read; NULL: it would be. */
static const char *distrust(const struct stat *info, bool *ret_unsafe)
{
	bool own = cmn_file_is_own(info->st_uid) || info->st_uid == 0;

	if (!S_ISREG(info->st_mode))
		return "it is not a regular file";
	*ret_unsafe = !own || (info->st_mode & (S_IWGRP | S_IWOTH)) != 0;
	if (!own)
		return "it belongs to another user";
	return *ret_unsafe ? "others may write to it" : NULL;
}

const char *entry_status_text(struct cc_store *store, const struct cc_store_place *place,
			      enum cmn_status status, bool *ret_unsafe)
{
	static const enum cc_entry_dir_file files[] = { CC_ENTRY_DIR_SRC, CC_ENTRY_DIR_BIN };
	const char *text = NULL;
	int root_fd = -1;

	*ret_unsafe = false;
	if (status == CMN_STALE)
		return "files of two entries";
	if (status != CMN_ERR_ACCESS || cc_store_open_root(store, &root_fd) != CMN_OK)
		return cmn_status_string(status);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && !text; i++) {
		char path[CC_ENTRY_DIR_FILE_PATH_SIZE];
		struct stat info;

		cc_entry_dir_file_path(place->entry_dir, files[i], place->n, path);
		if (fstatat(root_fd, path, &info, AT_SYMLINK_NOFOLLOW) == 0)
			text = distrust(&info, ret_unsafe);
	}
	(void)close(root_fd);	/* read only */
	return text ? text : cmn_status_string(status);
}
