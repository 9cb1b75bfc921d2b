/* SPDX-License-Identifier: MIT */
/* store_walk: what concerns all entries of a root: listing and cleaning. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachecore/disk/root.h"
#include "cachecore/disk/store_internal.h"
#include "cachecore/disk/entry_dir_walk.h"

struct listing {
	const struct cc_store *store;
	bool deep;
	int order;
	bool (*enter)(void *ctx, size_t level, const char *name);
	cc_store_visit_fn visit;
	void *ctx;
};

enum cmn_status cc_store_clean(struct cc_store *store, const struct cc_clean_watch *watch)
{
	static const char *const former[] = { "evict.lock", "last_cleanup.txt", "tokens.dat" };
	enum cmn_status status;
	int root_fd;

	if (store->config->read_only)
		return CMN_ERR_ACCESS;
	status = cc_store_open_root(store, &root_fd);
	if (status != CMN_OK)
		return status == CMN_MISS ? CMN_OK : status;
	status = cc_clean(root_fd, store->config, watch);
	/* Of former versions; a directory that is in use is not empty. */
	(void)unlinkat(root_fd, "flights", AT_REMOVEDIR);
	for (size_t i = 0; i < sizeof(former) / sizeof(former[0]); i++)
		(void)unlinkat(root_fd, former[i], 0);
	if (status < 0)
		cmn_log_write(store->log, CMN_LOG_WARNING, "eviction in %s: %s", store->config->dir,
			      cmn_status_string(status));
	(void)close(root_fd);	/* a directory: nothing to be lost */
	return status;
}

/* The .bin's part of an item. */
static enum cmn_status list_bin(const struct listing *listing, int entry_dir_fd, unsigned int n,
				const struct cc_src *src, struct cc_store_item *item)
{
	struct cc_entry_header header;
	struct cc_entry *entry;
	enum cmn_status status = cc_entry_dir_read_bin_header(entry_dir_fd, n, src, &header);

	if (status != CMN_OK)
		return status;
	item->payload_len = header.payload_len;
	item->payload_hash = header.payload_hash;
	item->build_ns = header.build_ns;
	item->failed = header.failed;
	if (!listing->deep)
		return CMN_OK;
	status = cc_entry_dir_read_bin(entry_dir_fd, NULL, n, cc_store_trust(listing->store), src, NULL, NULL, &entry);
	if (status == CMN_OK)
		cc_entry_unref(entry);
	return status;
}

static bool list_entry(const struct listing *listing, const char *entry_dir, int entry_dir_fd, unsigned int n)
{
	char name[CC_ENTRY_DIR_NAME_SIZE], path[CC_ENTRY_DIR_PATH_SIZE + CC_ENTRY_DIR_NAME_SIZE];
	struct cc_manifest *manifest = NULL;
	struct cmn_buffer file = { 0 };
	struct cc_store_place place = { .n = n };
	struct cc_store_item item = {
		.path = path,
		.place = &place,
		.bytes = cc_entry_dir_bytes(entry_dir_fd, n),
		.access_ns = cc_entry_dir_used_ns(entry_dir_fd, NULL, n),
	};
	struct stat info;
	struct cc_src src;
	bool more;

	cc_entry_dir_name(CC_ENTRY_DIR_SRC, n, name);
	if (fstatat(entry_dir_fd, name, &info, AT_SYMLINK_NOFOLLOW) == 0)
		item.stored_ns = cmn_file_ns(info.st_mtim);
	(void)snprintf(path, sizeof(path), "%s/%s", entry_dir, name);
	memcpy(place.entry_dir, entry_dir, sizeof(place.entry_dir));
	item.status = cc_entry_dir_read_src(entry_dir_fd, n, cc_store_trust(listing->store), &file, &src);
	if (item.status == CMN_OK) {
		item.key = src.key;
		item.status = list_bin(listing, entry_dir_fd, n, &src, &item);
		if (src.manifest.len) {
			enum cmn_status status = cc_manifest_decode(src.manifest, &manifest);

			/* Of another version, the rest is not ours to judge. */
			if (item.status == CMN_OK || status == CMN_ERR_VERSION)
				item.status = status;
			item.manifest = manifest;
		}
	}
	more = listing->visit(listing->ctx, &item);
	cc_manifest_free(manifest);
	cmn_buffer_release(&file);
	return more;
}

static bool enter(void *ctx, size_t level, const char *name)
{
	const struct listing *listing = ctx;

	return !listing->enter || listing->enter(listing->ctx, level, name);
}

/* CMN_STALE ends the walk on the visitor's wish. */
static enum cmn_status list_entry_dir(void *ctx, int root_fd, const char *path, int entry_dir_fd)
{
	const struct listing *listing = ctx;
	struct cc_entry_dir_scan scan;

	(void)root_fd;
	if (cc_entry_dir_scan(entry_dir_fd, &scan) != CMN_OK)
		return CMN_OK;	/* removed meanwhile */
	for (unsigned int i = 0; i < CC_ENTRY_DIR_VARIANTS; i++) {
		unsigned int n = listing->order < 0 ? CC_ENTRY_DIR_VARIANTS - 1 - i : i;

		if ((scan.present[CC_ENTRY_DIR_SRC] >> n & 1) && !list_entry(listing, path, entry_dir_fd, n))
			return CMN_STALE;
	}
	return CMN_OK;
}

enum cmn_status cc_store_walk_chosen(struct cc_store *store, const struct cc_entry_dir_choice *choice,
				     bool deep, cc_store_visit_fn visit, void *ctx)
{
	const struct cc_entry_dir_choice own = { .enter = enter, .order = choice->order };
	struct listing listing = {
		.store = store, .deep = deep, .order = choice->order, .enter = choice->enter,
		.visit = visit, .ctx = ctx,
	};
	enum cmn_status status;
	int root_fd;

	status = cc_store_open_root(store, &root_fd);
	if (status != CMN_OK)
		return status == CMN_MISS ? CMN_OK : status;
	status = cc_entry_dir_walk_chosen(root_fd, &own, list_entry_dir, &listing);
	(void)close(root_fd);	/* read only */
	return status == CMN_STALE ? CMN_OK : status;
}

enum cmn_status cc_store_walk(struct cc_store *store, bool deep, cc_store_visit_fn visit,
			      void *ctx)
{
	const struct cc_entry_dir_choice all = { 0 };

	return cc_store_walk_chosen(store, &all, deep, visit, ctx);
}

enum cmn_status cc_store_look(struct cc_store *store, int root_fd,
			      const struct cc_store_place *place, cc_store_visit_fn visit, void *ctx)
{
	const struct listing listing = {
		.store = store, .visit = visit, .ctx = ctx,
	};
	enum cmn_status status;
	int entry_dir_fd, src_fd;

	status = cc_entry_dir_open(root_fd, place->entry_dir, &entry_dir_fd);
	if (status != CMN_OK)
		return status;
	src_fd = cc_entry_dir_open_file(entry_dir_fd, NULL, CC_ENTRY_DIR_SRC, place->n);
	status = src_fd < 0 && errno == ENOENT ? CMN_MISS : CMN_OK;
	if (src_fd >= 0)
		(void)close(src_fd);	/* read only */
	if (status == CMN_OK)
		(void)list_entry(&listing, place->entry_dir, entry_dir_fd, place->n);
	(void)close(entry_dir_fd);	/* read only */
	return status;
}
