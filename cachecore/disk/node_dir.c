/* SPDX-License-Identifier: MIT */
/* node_dir: this user's directory on this machine. */
#include "cachecore/disk/node_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachecore/disk/root.h"
#include "common/env.h"
#include "common/file.h"
#include "common/listing.h"

#define TMP "/tmp"
#define UNIQUE ".XXXXXX"

static bool name(const char *runtime_dir, char ret[CC_NODE_DIR_SIZE])
{
	const char *reason;
	int len;

	if (runtime_dir && strlen(runtime_dir) + sizeof("/ckcache") <= CC_NODE_DIR_SIZE &&
	    cc_root_check(runtime_dir, CC_ROOT_PRIVATE, &reason) == CMN_OK)
		len = snprintf(ret, CC_NODE_DIR_SIZE, "%s/ckcache", runtime_dir);
	else
		len = snprintf(ret, CC_NODE_DIR_SIZE, TMP "/ckcache-%u", geteuid());
	return len > 0 && len < CC_NODE_DIR_SIZE;
}

static bool is_own(const char *path)
{
	const char *reason;

	return cc_root_check(path, CC_ROOT_PRIVATE, &reason) == CMN_OK;
}

/* Of this user's directories "<path>.<6 letters>" the first one, by its name. */
static bool find_beside(const char *path, char ret[CC_NODE_DIR_SIZE])
{
	const char *base = strrchr(path, '/') + 1;
	size_t len = strlen(base);
	char found[CC_NODE_DIR_SIZE] = "", other[CC_NODE_DIR_SIZE];
	const struct dirent64 *item;
	struct cmn_listing listing;

	if (!cmn_listing_open(&listing, AT_FDCWD, TMP))
		return false;
	while ((item = cmn_listing_next(&listing))) {
		if (strncmp(item->d_name, base, len) != 0 || item->d_name[len] != '.' ||
		    strlen(item->d_name + len) != sizeof(UNIQUE) - 1)
			continue;
		(void)snprintf(other, sizeof(other), TMP "/%.*s", (int)(len + sizeof(UNIQUE)), item->d_name);
		if ((!found[0] || strcmp(other, found) < 0) && is_own(other))
			memcpy(found, other, sizeof(found));
	}
	cmn_listing_close(&listing);
	if (found[0])
		memcpy(ret, found, sizeof(found));
	return found[0];
}

/*
 * Anybody can take the usual name below /tmp, but not all others. Processes that make one at the same
 * time find the same one after that.
 */
static bool take_beside(char path[CC_NODE_DIR_SIZE])
{
	char made[CC_NODE_DIR_SIZE];
	bool done = find_beside(path, made);

	if (!done && snprintf(made, sizeof(made), "%s" UNIQUE, path) < (int)sizeof(made) && mkdtemp(made)) {
		(void)chmod(made, 0700);	/* as below */
		done = find_beside(path, path);
		if (!done || strcmp(path, made) != 0)
			(void)rmdir(made);	/* another process's came before */
		return done;
	}
	if (done)
		memcpy(path, made, sizeof(made));
	return done;
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
	if (strncmp(path, TMP "/ckcache-", sizeof(TMP "/ckcache-") - 1) == 0 && !is_own(path) && !take_beside(path))
		return -1;
	if (cc_root_open_as(path, CC_ROOT_PRIVATE, &fd) != CMN_OK)
		return -1;
	if (cmn_file_is_remote(fd)) {
		(void)close(fd);	/* a directory: nothing to be lost */
		return -1;
	}
	if (ret_path)
		memcpy(ret_path, path, sizeof(path));
	return fd;
}

int cc_node_dir_open_mine(void)
{
	char *runtime_dir = NULL;
	int fd = -1;

	if (cmn_env_get("XDG_RUNTIME_DIR", &runtime_dir) == CMN_OK)
		fd = cc_node_dir_open(runtime_dir && runtime_dir[0] == '/' ? runtime_dir : NULL, NULL);
	free(runtime_dir);
	return fd;
}
