/* SPDX-License-Identifier: MIT */
/*
 * manifest: dependencies in the order in which they were added, and an index
 * by path that notices contradictions.
 */
#include "cachecore/manifest.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

/* kind, path_len, size, hash: what an encoded dependency takes beside its path. */
#define DEPENDENCY_FIXED (1 + 8 + 8 + CMN_HASH_SIZE)

struct dependency {
	enum cc_dependency kind;
	uint64_t size;
	struct cmn_hash hash;
	UT_hash_handle hh;
	char path[];
};

struct cc_manifest {
	struct dependency **items;
	size_t count, cap;
	struct dependency *index;	/* by path; the same objects */
};

struct cc_manifest *cc_manifest_new(void)
{
	return calloc(1, sizeof(struct cc_manifest));
}

void cc_manifest_free(struct cc_manifest *manifest)
{
	if (!manifest)
		return;
	HASH_CLEAR(hh, manifest->index);
	for (size_t i = 0; i < manifest->count; i++)
		free(manifest->items[i]);
	free(manifest->items);
	free(manifest);
}

size_t cc_manifest_count(const struct cc_manifest *manifest)
{
	return manifest ? manifest->count : 0;
}

static enum cmn_status add(struct cc_manifest *manifest, enum cc_dependency kind, const char *path,
			   size_t path_len, uint64_t size, const struct cmn_hash *hash)
{
	struct dependency *item;

	if (path_len == 0)
		return CMN_ERR_INVALID;
	HASH_FIND(hh, manifest->index, path, path_len, item);
	if (item) {
		bool same = item->kind == kind && item->size == size &&
			    cmn_hash_equal(&item->hash, hash);

		return same ? CMN_OK : CMN_STALE;
	}
	if (manifest->count == manifest->cap) {
		size_t cap = manifest->cap ? 2 * manifest->cap : 16;
		struct dependency **items = realloc(manifest->items,
						    cap * sizeof(struct dependency *));

		if (!items)
			return CMN_ERR_NOMEM;
		manifest->items = items;
		manifest->cap = cap;
	}
	item = calloc(1, sizeof(*item) + path_len + 1);
	if (!item)
		return CMN_ERR_NOMEM;
	item->kind = kind;
	item->size = size;
	item->hash = *hash;
	memcpy(item->path, path, path_len);
	HASH_ADD_KEYPTR(hh, manifest->index, item->path, path_len, item);
	if (!item->hh.tbl) {
		free(item);
		return CMN_ERR_NOMEM;
	}
	manifest->items[manifest->count++] = item;
	return CMN_OK;
}

enum cmn_status cc_manifest_add_file(struct cc_manifest *manifest, const char *path, uint64_t size,
				     const struct cmn_hash *hash)
{
	return add(manifest, CC_DEPENDENCY_FILE, path, strlen(path), size, hash);
}

enum cmn_status cc_manifest_add_absent(struct cc_manifest *manifest, const char *path)
{
	return add(manifest, CC_DEPENDENCY_ABSENT, path, strlen(path), 0, &(struct cmn_hash){ 0 });
}

enum cmn_status cc_manifest_add_directory(struct cc_manifest *manifest, const char *path)
{
	return add(manifest, CC_DEPENDENCY_DIRECTORY, path, strlen(path), 0,
		   &(struct cmn_hash){ 0 });
}

struct cc_manifest_item cc_manifest_get(const struct cc_manifest *manifest, size_t i)
{
	const struct dependency *item = manifest->items[i];

	return (struct cc_manifest_item){ item->kind, item->path, item->size, item->hash };
}

void cc_manifest_encode(const struct cc_manifest *manifest, struct cmn_buffer *ret)
{
	cmn_buffer_append_u32(ret, CC_MANIFEST_VERSION);
	cmn_buffer_append_u32(ret, (uint32_t)manifest->count);
	for (size_t i = 0; i < manifest->count; i++) {
		const struct dependency *item = manifest->items[i];

		cmn_buffer_append_u8(ret, (uint8_t)item->kind);
		cmn_buffer_append_sized(ret, item->path, strlen(item->path));
		cmn_buffer_append_u64(ret, item->size);
		cmn_buffer_append(ret, item->hash.bytes, CMN_HASH_SIZE);
	}
}

static enum cmn_status decode_dependency(struct cmn_reader *reader, struct cc_manifest *manifest)
{
	uint8_t kind = cmn_reader_u8(reader);
	struct cmn_view path = cmn_reader_sized(reader);
	uint64_t size = cmn_reader_u64(reader);
	struct cmn_view bytes = cmn_reader_bytes(reader, CMN_HASH_SIZE);
	struct cmn_hash hash;
	enum cmn_status status;

	if (reader->failed || kind < CC_DEPENDENCY_FILE || kind > CC_DEPENDENCY_DIRECTORY)
		return CMN_ERR_CORRUPT;
	/* A path with a NUL would be checked as a shorter one. */
	if (path.len == 0 || memchr(path.data, '\0', path.len))
		return CMN_ERR_CORRUPT;
	memcpy(hash.bytes, bytes.data, CMN_HASH_SIZE);
	status = add(manifest, (enum cc_dependency)kind, path.data, path.len, size, &hash);
	return status == CMN_STALE ? CMN_ERR_CORRUPT : status;
}

enum cmn_status cc_manifest_decode(struct cmn_view encoded, struct cc_manifest **ret)
{
	struct cmn_reader reader = cmn_reader_of(encoded);
	uint32_t version = cmn_reader_u32(&reader);
	uint32_t count = cmn_reader_u32(&reader);
	struct cc_manifest *manifest;
	enum cmn_status status = CMN_OK;

	if (reader.failed)
		return CMN_ERR_CORRUPT;
	if (version != CC_MANIFEST_VERSION)
		return CMN_ERR_VERSION;
	if (count > reader.left / DEPENDENCY_FIXED)
		return CMN_ERR_CORRUPT;
	manifest = cc_manifest_new();
	if (!manifest)
		return CMN_ERR_NOMEM;
	for (uint32_t i = 0; i < count && status == CMN_OK; i++)
		status = decode_dependency(&reader, manifest);
	if (status == CMN_OK && (reader.left || manifest->count != count))
		status = CMN_ERR_CORRUPT;
	if (status != CMN_OK) {
		cc_manifest_free(manifest);
		return status;
	}
	*ret = manifest;
	return CMN_OK;
}

char *cc_manifest_working_directory(void)
{
	return get_current_dir_name();
}

static bool file_holds(const struct dependency *item, struct cc_file_memo *memo)
{
	return cc_file_memo_holds(memo, item->path, item->size, &item->hash);
}

static bool absent_holds(const struct dependency *item)
{
	return cc_file_memo_stat(item->path) == CMN_MISS;
}

static bool directory_holds(const struct dependency *item)
{
	char *current = cc_manifest_working_directory();
	bool same = current && strcmp(current, item->path) == 0;

	free(current);
	return same;
}

static bool holds(const struct dependency *item, struct cc_file_memo *memo)
{
	switch (item->kind) {
	case CC_DEPENDENCY_FILE:
		return file_holds(item, memo);
	case CC_DEPENDENCY_ABSENT:
		return absent_holds(item);
	case CC_DEPENDENCY_DIRECTORY:
		return directory_holds(item);
	}
	return false;
}

/* The first one that does not hold, or NULL. */
static const struct dependency *find_change(const struct cc_manifest *manifest,
					    struct cc_file_memo *memo)
{
	for (size_t i = 0; i < cc_manifest_count(manifest); i++) {
		if (!holds(manifest->items[i], memo))
			return manifest->items[i];
	}
	return NULL;
}

enum cmn_status cc_manifest_verify(const struct cc_manifest *manifest, struct cc_file_memo *memo)
{
	return find_change(manifest, memo) ? CMN_STALE : CMN_OK;
}

enum cmn_status cc_manifest_compare(const struct cc_manifest *manifest, struct cc_file_memo *memo,
				    struct cc_manifest_change *ret)
{
	const struct dependency *item = find_change(manifest, memo);
	size_t len, size = sizeof(ret->path);

	ret->how = CC_MANIFEST_SAME;
	ret->path[0] = '\0';
	if (!item)
		return CMN_OK;
	if (item->kind == CC_DEPENDENCY_ABSENT)
		ret->how = CC_MANIFEST_APPEARED;
	else if (item->kind == CC_DEPENDENCY_DIRECTORY)
		ret->how = CC_MANIFEST_DIRECTORY;
	else
		ret->how = cc_file_memo_stat(item->path) == CMN_OK ? CC_MANIFEST_CHANGED
								   : CC_MANIFEST_VANISHED;
	len = strlen(item->path);
	memcpy(ret->path, item->path + (len < size ? 0 : len + 1 - size),
	       (len < size ? len : size - 1) + 1);
	return CMN_STALE;
}
