/* SPDX-License-Identifier: MIT */
/* node_dir: this user's directory on this machine. */
#include "cachecore/disk/node_dir.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachecore/disk/root.h"
#include "common/descriptor.h"
#include "common/file.h"

static bool name(const char *runtime_dir, char ret[CC_NODE_DIR_SIZE])
{
	const char *reason;
	int len;

	if (runtime_dir && strlen(runtime_dir) + sizeof("/ckcache") <= CC_NODE_DIR_SIZE &&
	    cc_root_check(runtime_dir, CC_ROOT_OWN, &reason) == CMN_OK)
		len = snprintf(ret, CC_NODE_DIR_SIZE, "%s/ckcache", runtime_dir);
	else
		len = snprintf(ret, CC_NODE_DIR_SIZE, "/tmp/ckcache-%u", geteuid());
	return len > 0 && len < CC_NODE_DIR_SIZE;
}

int cc_node_dir_open(const char *runtime_dir, char ret_path[CC_NODE_DIR_SIZE])
{
	char path[CC_NODE_DIR_SIZE];
	int fd;

	if (!name(runtime_dir, path))
		return -1;
	if (mkdir(path, 0700) == 0)
		(void)chmod(path, 0700);	/* whatever the application's umask is */
	else if (errno != EEXIST)
		return -1;
	if (cc_root_open_as(path, CC_ROOT_OWN, &fd) != CMN_OK)
		return -1;
	if (cmn_file_is_remote(fd)) {
		(void)cmn_descriptor_close(fd);	/* a directory: nothing to be lost */
		return -1;
	}
	if (ret_path)
		memcpy(ret_path, path, sizeof(path));
	return fd;
}
