/* SPDX-License-Identifier: MIT */
/* replay_entries: what the store has of a recipe's program. */
#include "tools/replay/replay.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachecore/disk/entry_dir_walk.h"
#include "cachecore/disk/root.h"
#include "cachecore/key.h"
#include "cachecore/key_options.h"
#include "cachecore/manifest.h"
#include "tools/memory.h"

bool replay_key_field(struct cmn_view key, const char *name, unsigned int i, struct cmn_view *ret)
{
	struct cmn_view found = cc_key_find(key, name, i);

	if (found.data)
		*ret = found;
	return found.data != NULL;
}

bool replay_key_has(struct cmn_view key, const char *name, const char *text)
{
	struct cmn_view value;

	return replay_key_field(key, name, 0, &value) && cmn_view_equal(value, cmn_view_of(text));
}

bool replay_key_is_level_zero(struct cmn_view key)
{
	return replay_key_has(key, "api", "Level Zero");
}

void given_key_read(const struct cc_recipe *recipe, struct given_key *ret)
{
	struct cc_manifest *manifest = NULL;

	if (recipe->manifest.len && cc_manifest_decode(recipe->manifest, &manifest) == CMN_ERR_NOMEM)
		memory_end();
	cc_key_put_options_back(recipe->key, manifest, &ret->key);
	cc_key_take_options(cc_key_view(&ret->key), &ret->numbered, &ret->options);
	cc_manifest_free(manifest);
	if (ret->key.encoded.failed || ret->numbered.encoded.failed)
		memory_end();
}

void given_key_release(struct given_key *given)
{
	cc_key_release(&given->key);
	cc_key_release(&given->numbered);
	free(given->options);
}

/* Whether what an entry depends on is as it was where the recipe's build looks for it. */
static bool holds_for(const struct cc_recipe *recipe, struct cmn_view encoded)
{
	char *path = recipe->directory.len ? memory_copy_view(recipe->directory) : memory_copy(".");
	struct given_key given;
	int back = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct cc_manifest *manifest;
	bool holds = false;

	given_key_read(recipe, &given);
	if (back >= 0 && chdir(path) == 0) {
		if (cc_manifest_decode(encoded, &manifest) == CMN_OK) {
			holds = cc_manifest_compare_at(manifest, &given.numbered.include_paths, NULL, NULL) == CMN_OK;
			cc_manifest_free(manifest);
		}
		holds = fchdir(back) == 0 && holds;
	}
	if (back >= 0)
		(void)close(back);	/* only a name */
	given_key_release(&given);
	free(path);
	return holds;
}

static bool has_entry(int entry_dir_fd, unsigned int n, const struct cc_recipe *recipe)
{
	struct cmn_buffer file = { 0 };
	struct cc_entry_header header;
	struct cc_src src;
	bool has;

	has = cc_entry_dir_read_src(entry_dir_fd, n, CMN_FILE_ANY, &file, &src) == CMN_OK &&
	      cmn_view_equal(src.key, recipe->key) &&
	      (!src.manifest.len || cmn_view_equal(src.manifest, recipe->manifest) ||
	       holds_for(recipe, src.manifest)) &&
	      cc_entry_dir_read_bin_header(entry_dir_fd, n, &src, &header) == CMN_OK && !header.failed;
	cmn_buffer_release(&file);
	return has;
}

bool replay_entries_has(const char *root, const struct cc_recipe *recipe)
{
	char path[CC_ENTRY_DIR_PATH_SIZE];
	struct cc_entry_dir_scan scan;
	bool has = false;
	int root_fd, entry_dir_fd;

	if (cc_root_open(root, &root_fd) != CMN_OK)
		return false;
	cc_entry_dir_path(recipe->key, path);
	if (cc_entry_dir_open(root_fd, path, &entry_dir_fd) == CMN_OK) {
		if (cc_entry_dir_scan(entry_dir_fd, &scan) != CMN_OK)
			scan = (struct cc_entry_dir_scan){ 0 };
		for (unsigned int n = 0; n < CC_ENTRY_DIR_VARIANTS && !has; n++)
			has = scan.present[CC_ENTRY_DIR_SRC] >> n & 1 &&
			      has_entry(entry_dir_fd, n, recipe);
		cc_root_unlock(entry_dir_fd);	/* not locked: closes it */
	}
	cc_root_unlock(root_fd);
	return has;
}

struct comparison {
	struct cmn_view key;
	const char *path;	/* of its entry directory */
	uint64_t access_ns;	/* of the best so far; 0: none */
	char *difference;
};

/* The name of the first field of the device in which the keys differ; an empty view: in none. */
static struct cmn_view first_difference(struct cmn_view a, struct cmn_view b)
{
	struct cc_key_field field, other;
	struct cmn_reader at, there;

	if (cc_key_read(a, &at) != CMN_OK || cc_key_read(b, &there) != CMN_OK)
		return (struct cmn_view){ 0 };
	while (cc_key_next(&at, &field) == CMN_OK && field.part == CC_PART_DEVICE) {
		if (cc_key_next(&there, &other) != CMN_OK ||
		    !cmn_view_equal(field.name, other.name) ||
		    !cmn_view_equal(field.value, other.value))
			return field.name;
	}
	return (struct cmn_view){ 0 };
}

static void compare(struct comparison *comparison, int entry_dir_fd, unsigned int n)
{
	uint64_t access_ns = cc_entry_dir_used_ns(entry_dir_fd, NULL, n);
	struct cmn_buffer file = { 0 };
	struct cmn_view name = { 0 };
	struct cc_src src;

	if (access_ns > comparison->access_ns &&
	    cc_entry_dir_read_src(entry_dir_fd, n, CMN_FILE_ANY, &file, &src) == CMN_OK)
		name = first_difference(comparison->key, src.key);
	if (name.len) {
		free(comparison->difference);
		comparison->difference = memory_copy_view(name);
		comparison->access_ns = access_ns;
	}
	cmn_buffer_release(&file);
}

static enum cmn_status compare_entry_dir(void *ctx, int root_fd, const char *path, int entry_dir_fd)
{
	struct comparison *comparison = ctx;
	struct cc_entry_dir_scan scan;

	(void)root_fd;
	/* The first level is the device's, the others are the program's. */
	if (strcmp(path + CMN_HASH_HEX_SIZE, comparison->path + CMN_HASH_HEX_SIZE) != 0 ||
	    strcmp(path, comparison->path) == 0 || cc_entry_dir_scan(entry_dir_fd, &scan) != CMN_OK)
		return CMN_OK;
	for (unsigned int n = 0; n < CC_ENTRY_DIR_VARIANTS; n++) {
		if (scan.present[CC_ENTRY_DIR_SRC] >> n & 1)
			compare(comparison, entry_dir_fd, n);
	}
	return CMN_OK;
}

char *replay_entries_difference(const char *root, struct cmn_view key)
{
	char path[CC_ENTRY_DIR_PATH_SIZE];
	struct comparison comparison = { .key = key, .path = path };
	int root_fd;

	if (cc_root_open(root, &root_fd) != CMN_OK)
		return NULL;
	cc_entry_dir_path(key, path);
	(void)!cc_entry_dir_walk(root_fd, false, compare_entry_dir, &comparison);	/* of what can be read */
	cc_root_unlock(root_fd);
	return comparison.difference;
}

bool objects_is_link(struct cmn_view key)
{
	return replay_key_has(key, "kind", "link");
}

bool objects_is_library(struct cmn_view key)
{
	static const char option[] = "-create-library";
	struct cmn_view options;

	return objects_is_link(key) && replay_key_field(key, "options", 0, &options) &&
	       memmem(options.data, options.len, option, sizeof(option) - 1);
}

struct cmn_hash objects_devices(struct cmn_view key)
{
	struct cmn_hash hashes[CC_PART_COUNT];

	cc_key_part_hashes(key, hashes);
	return hashes[CC_PART_DEVICE];
}

struct cmn_view objects_directory(const struct cc_manifest *manifest)
{
	for (size_t i = 0; i < cc_manifest_count(manifest); i++) {
		struct cc_manifest_item item = cc_manifest_get(manifest, i);

		if (item.kind == CC_DEPENDENCY_DIRECTORY)
			return cmn_view_of(item.path);
	}
	return (struct cmn_view){ 0 };
}

bool objects_is_object(struct cmn_view key)
{
	return replay_key_has(key, "kind", "compile") || replay_key_has(key, "kind", "compile-il") ||
	       objects_is_library(key);
}

/* cc_store_walk */
static bool add_object(void *ctx, const struct cc_store_item *item)
{
	struct objects *objects = ctx;
	struct cc_key key;

	if (item->status != CMN_OK || item->failed || !objects_is_object(item->key))
		return true;
	cc_key_put_options_back(item->key, item->manifest, &key);
	if (key.encoded.failed)
		memory_end();
	memory_grow(objects->items, objects->count);
	objects->items[objects->count++] = (struct object){
		.content = item->payload_hash,
		.devices = objects_devices(item->key),
		.key = memory_copy_bytes(cc_key_view(&key)),
		.directory = memory_copy_bytes(objects_directory(item->manifest)),
	};
	cc_key_release(&key);
	return true;
}

enum cmn_status objects_read(struct cc_store *store, struct objects *ret)
{
	*ret = (struct objects){ 0 };
	return cc_store_walk(store, false, add_object, ret);
}

void objects_release(struct objects *objects)
{
	for (size_t i = 0; i < objects->count; i++) {
		free((void *)objects->items[i].key.data);
		free((void *)objects->items[i].directory.data);
	}
	free(objects->items);
	*objects = (struct objects){ 0 };
}

const struct object *objects_find(const struct objects *objects, const struct cmn_hash *content,
				  const struct cmn_hash *devices, size_t i)
{
	for (size_t at = 0; at < objects->count; at++) {
		const struct object *object = &objects->items[at];

		if (cmn_hash_equal(&object->content, content) &&
		    cmn_hash_equal(&object->devices, devices) && !i--)
			return object;
	}
	return NULL;
}

const struct object *objects_find_key(const struct objects *objects, struct cmn_view key, size_t i)
{
	for (size_t at = 0; at < objects->count; at++) {
		if (cmn_view_equal(objects->items[at].key, key) && !i--)
			return &objects->items[at];
	}
	return NULL;
}
