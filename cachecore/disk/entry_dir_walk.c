/* SPDX-License-Identifier: MIT */
/* entry_dir_walk: a bounded depth-first walk. */
#include "cachecore/disk/entry_dir_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachecore/disk/root.h"
#include "common/bytes.h"
#include "common/file.h"
#include "common/listing.h"

struct walk {
	int root_fd;
	struct cc_entry_dir_choice choice;
	bool prune;
	cc_entry_dir_visit_fn visit;
	void *ctx;
	bool emptied;	/* by the level that was left last: nothing is in it */
	char path[CC_ENTRY_DIR_PATH_SIZE];
};

static bool is_chosen(const struct walk *walk, size_t level, const char *name)
{
	return cmn_hash_is_hex(name) && (!walk->choice.enter || walk->choice.enter(walk->ctx, level, name));
}

static enum cmn_status visit_entry_dir(struct walk *walk, int dir_fd, const char *child)
{
	enum cmn_status status;
	struct stat info;
	/* What cannot be opened was removed meanwhile, or is no directory, or not ours. */
	int fd = cmn_file_open(dir_fd, child, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);

	if (fd < 0)
		return CMN_OK;
	status = walk->visit(walk->ctx, walk->root_fd, walk->path, fd);
	/* The visitor may have removed it. */
	walk->emptied = walk->prune && fstat(fd, &info) == 0 && info.st_nlink == 0;
	(void)close(fd);	/* read only */
	return status;
}

static enum cmn_status walk_level(struct walk *walk, struct cmn_listing *listing, size_t level);

/* Leaves walk->emptied as false, or says whether nothing is left of it. */
static enum cmn_status walk_child(struct walk *walk, int dir_fd, size_t level, const char *child)
{
	char *name = walk->path + level * CMN_HASH_HEX_SIZE;
	struct cmn_listing listing;
	enum cmn_status status;

	if (level > 0)
		name[-1] = '/';
	memcpy(name, child, CMN_HASH_HEX_SIZE);
	if (level + 1 == CC_PART_COUNT)
		return visit_entry_dir(walk, dir_fd, child);
	/* As for entry directories. */
	if (!cmn_listing_open(&listing, dir_fd, child))
		return CMN_OK;
	status = walk_level(walk, &listing, level + 1);
	/* Not tried in vain: it would take the directory's lock, which a look-up may need. */
	if (walk->prune && walk->emptied)
		walk->emptied = unlinkat(dir_fd, child, AT_REMOVEDIR) == 0 || errno == ENOENT;
	return status;
}

typedef char hash_name[CMN_HASH_HEX_SIZE];

static int by_name(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(hash_name));
}

/* As walk_level, in the order that was chosen. */
static enum cmn_status walk_in_order(struct walk *walk, struct cmn_listing *listing, size_t level)
{
	enum cmn_status status = CMN_OK;
	const struct dirent64 *item;
	hash_name *names = NULL, *grown;
	size_t count = 0;

	while (status == CMN_OK && (item = cmn_listing_next(listing))) {
		if (!is_chosen(walk, level, item->d_name))
			continue;
		grown = cmn_array_grow(names, count, sizeof(*names));
		names = grown ? grown : names;
		if (grown)
			memcpy(names[count++], item->d_name, sizeof(*names));
		else
			status = CMN_ERR_NOMEM;
	}
	if (count)
		qsort(names, count, sizeof(*names), by_name);
	for (size_t i = 0; i < count && status == CMN_OK; i++)
		status = walk_child(walk, listing->fd, level,
				    names[walk->choice.order > 0 ? i : count - 1 - i]);
	free(names);
	cmn_listing_close(listing);
	return status;
}

/* Takes the listing. level: how many names of walk->path lead to it. */
static enum cmn_status walk_level(struct walk *walk, struct cmn_listing *listing, size_t level)
{
	enum cmn_status status = CMN_OK;
	const struct dirent64 *item;
	bool empty = true;

	if (walk->choice.order)
		return walk_in_order(walk, listing, level);
	while (status == CMN_OK && (item = cmn_listing_next(listing))) {
		walk->emptied = false;
		if (is_chosen(walk, level, item->d_name))
			status = walk_child(walk, listing->fd, level, item->d_name);
		empty &= walk->emptied;
	}
	cmn_listing_close(listing);
	walk->emptied = empty && status == CMN_OK;
	return status;
}

static enum cmn_status walk_root(struct walk *walk)
{
	struct cmn_listing listing;

	if (!cmn_listing_open(&listing, walk->root_fd, "."))
		return CMN_ERR_IO;
	return walk_level(walk, &listing, 0);
}

enum cmn_status cc_entry_dir_walk(int root_fd, bool prune, cc_entry_dir_visit_fn visit, void *ctx)
{
	struct walk walk = { .root_fd = root_fd, .prune = prune, .visit = visit, .ctx = ctx };

	return walk_root(&walk);
}

enum cmn_status cc_entry_dir_walk_chosen(int root_fd, const struct cc_entry_dir_choice *choice,
					 cc_entry_dir_visit_fn visit, void *ctx)
{
	struct walk walk = { .root_fd = root_fd, .choice = *choice, .visit = visit, .ctx = ctx };

	return walk_root(&walk);
}
