/* SPDX-License-Identifier: MIT */
/* tree: a bounded depth-first walk. */
#include "cachecore/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachecore/leaf.h"
#include "common/descriptor.h"

struct walk {
	int root_fd;
	unsigned int first;
	bool prune;
	cc_tree_visit_fn visit;
	void *ctx;
	bool emptied;	/* by the level that was left last: nothing is in it */
	char path[CC_LEAF_PATH_SIZE];
};

static bool is_hash(const char *name)
{
	return strspn(name, "0123456789abcdef") == CMN_HASH_HEX_SIZE - 1 &&
	       name[CMN_HASH_HEX_SIZE - 1] == '\0';
}

static unsigned int digit_of(char c)
{
	return (unsigned int)(c <= '9' ? c - '0' : c - 'a' + 10);
}

/* Whether a name of that level is this pass's: with a first byte, images are listed twice. */
static bool is_of_pass(const struct walk *walk, size_t level, const char *name, bool second)
{
	bool late;

	if (level != CC_PART_IMAGE || !walk->first)
		return !second;
	late = digit_of(name[0]) * 16 + digit_of(name[1]) < walk->first;
	return late == second;
}

static enum cmn_status walk_level(struct walk *walk, int dir_fd, size_t level);

static enum cmn_status walk_child(struct walk *walk, int dir_fd, size_t level, const char *child)
{
	char *name = walk->path + level * CMN_HASH_HEX_SIZE;
	enum cmn_status status;
	struct stat info;
	/* What cannot be opened was removed meanwhile, or is no directory, or not ours. */
	int fd = cmn_descriptor_open(dir_fd, child, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);

	walk->emptied = false;
	if (fd < 0)
		return CMN_OK;
	if (level > 0)
		name[-1] = '/';
	memcpy(name, child, CMN_HASH_HEX_SIZE);
	if (level + 1 == CC_PART_COUNT) {
		status = walk->visit(walk->ctx, walk->root_fd, walk->path, fd);
		/* The visitor may have removed it. */
		walk->emptied = walk->prune && fstat(fd, &info) == 0 && info.st_nlink == 0;
		(void)cmn_descriptor_close(fd);	/* read only */
		return status;
	}
	status = walk_level(walk, fd, level + 1);
	/* Not tried in vain: it would take the directory's lock, which a look-up may need. */
	if (walk->prune && walk->emptied)
		walk->emptied = unlinkat(dir_fd, child, AT_REMOVEDIR) == 0 || errno == ENOENT;
	return status;
}

static bool is_self_or_parent(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Takes dir_fd. level: how many names of walk->path lead to it. */
static enum cmn_status walk_level(struct walk *walk, int dir_fd, size_t level)
{
	enum cmn_status status = CMN_OK;
	bool empty = true;
	struct dirent *item;
	DIR *dir = fdopendir(dir_fd);

	walk->emptied = false;
	if (!dir) {
		status = cmn_status_from_errno(errno);
		(void)cmn_descriptor_close(dir_fd);	/* read only */
		return status;
	}
	for (int pass = 0; pass < 2 && status == CMN_OK; pass++) {
		/* A second pass is seldom needed, and listing again may be much. */
		if (pass && (level != CC_PART_IMAGE || !walk->first))
			break;
		rewinddir(dir);
		while (status == CMN_OK && (item = readdir(dir))) {
			if (!is_hash(item->d_name)) {
				empty &= is_self_or_parent(item->d_name);
			} else if (is_of_pass(walk, level, item->d_name, pass)) {
				status = walk_child(walk, dirfd(dir), level, item->d_name);
				empty &= walk->emptied;
			}
		}
	}
	cmn_descriptor_close_stream(dir);
	walk->emptied = empty && status == CMN_OK;
	return status;
}

enum cmn_status cc_tree_walk(int root_fd, bool prune, cc_tree_visit_fn visit, void *ctx)
{
	return cc_tree_walk_from(root_fd, 0, prune, visit, ctx);
}

enum cmn_status cc_tree_walk_from(int root_fd, unsigned int first, bool prune,
				  cc_tree_visit_fn visit, void *ctx)
{
	struct walk walk = {
		.root_fd = root_fd, .first = first, .prune = prune, .visit = visit, .ctx = ctx,
	};
	int fd = cmn_descriptor_open(root_fd, ".", O_RDONLY | O_DIRECTORY);

	if (fd < 0)
		return CMN_ERR_IO;
	return walk_level(&walk, fd, 0);
}
