/* SPDX-License-Identifier: MIT */
/* replay_objects: one walk over the store, in memory from then on. */
#include "tools/replay/replay_objects.h"

#include <stdlib.h>
#include <string.h>

#include "cachecore/key.h"
#include "tools/memory.h"
#include "tools/replay/replay_entries.h"

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

	if (item->status != CMN_OK || !objects_is_object(item->key))
		return true;
	memory_grow(objects->items, objects->count);
	objects->items[objects->count++] = (struct object){
		.content = item->payload_hash,
		.devices = objects_devices(item->key),
		.key = memory_copy_bytes(item->key),
		.directory = memory_copy_bytes(objects_directory(item->manifest)),
	};
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
