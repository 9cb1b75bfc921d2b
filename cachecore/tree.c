/* SPDX-License-Identifier: MIT */
/* tree: a bounded depth-first walk. */
#include "cachecore/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cachecore/leaf.h"

struct walk {
	int root_fd;
	bool prune;
	cc_tree_visit_fn visit;
	void *ctx;
	char path[CC_LEAF_PATH_SIZE];
};

static bool is_hash(const char *name)
{
	return strspn(name, "0123456789abcdef") == CMN_HASH_HEX_SIZE - 1 &&
	       name[CMN_HASH_HEX_SIZE - 1] == '\0';
}

/* Takes dir_fd. level: how many names of walk->path lead to it. */
static enum cmn_status walk_level(struct walk *walk, int dir_fd, size_t level)
{
	char *name = walk->path + level * CMN_HASH_HEX_SIZE;
	enum cmn_status status = CMN_OK;
	struct dirent *item;
	DIR *dir = fdopendir(dir_fd);
	int fd;

	if (!dir) {
		status = cmn_status_from_errno(errno);
		(void)close(dir_fd);	/* read only */
		return status;
	}
	while (status == CMN_OK && (item = readdir(dir))) {
		if (!is_hash(item->d_name))
			continue;
		/* What cannot be opened was removed meanwhile, or is no directory, or not ours. */
		fd = openat(dirfd(dir), item->d_name,
			    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (level > 0)
			name[-1] = '/';
		memcpy(name, item->d_name, CMN_HASH_HEX_SIZE);
		if (level + 1 == CC_PART_COUNT) {
			status = walk->visit(walk->ctx, walk->root_fd, walk->path, fd);
			(void)close(fd);	/* read only */
		} else {
			status = walk_level(walk, fd, level + 1);
			if (walk->prune)
				(void)unlinkat(dirfd(dir), item->d_name, AT_REMOVEDIR);
		}
	}
	(void)closedir(dir);	/* read only */
	return status;
}

enum cmn_status cc_tree_walk(int root_fd, bool prune, cc_tree_visit_fn visit, void *ctx)
{
	struct walk walk = { .root_fd = root_fd, .prune = prune, .visit = visit, .ctx = ctx };
	int fd = openat(root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return CMN_ERR_IO;
	return walk_level(&walk, fd, 0);
}
