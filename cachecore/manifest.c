/* SPDX-License-Identifier: MIT */
/*
 * manifest: dependencies in the order in which they were added, and an index
 * by path that notices contradictions.
 */
#include "cachecore/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/env.h"
#include "common/listing.h"
#include "common/hash.h"

/* kind, path_len, size, hash: what an encoded dependency takes beside its path. */
#define DEPENDENCY_FIXED (1 + 8 + 8 + CMN_HASH_SIZE)

struct dependency {
	enum cc_dependency kind;
	uint64_t size;
	struct cmn_hash hash;
	struct cmn_hash content;	/* of what was seen, where has_content */
	bool has_content;
	uint32_t same;			/* place of the first that is the same */
	uint64_t device, inode;		/* while a manifest is made; 0: unknown */
	char *path;
	size_t path_len;
	uint32_t include;		/* the number of the include path that it lies in; 0: none */
};

struct cc_manifest {
	struct dependency *items;
	size_t count, cap;
	char *decoded_paths;	/* of the first ones, in one block */
	size_t decoded;		/* so many */
	uint32_t *index;	/* by path, twice as many as cap: an item's place and 1, or 0 */
	bool identified;	/* same is known of each */
	uint32_t includes;	/* so many of the first items are include paths */
	struct cmn_buffer made;	/* paths, each with its terminator */
};

struct cc_manifest *cc_manifest_new(void)
{
	return calloc(1, sizeof(struct cc_manifest));
}

void cc_manifest_drop(struct cc_manifest *manifest)
{
	for (size_t i = manifest->decoded; i < manifest->count; i++)
		free(manifest->items[i].path);
	free(manifest->decoded_paths);
	cmn_buffer_release(&manifest->made);
	free(manifest->items);
	free(manifest->index);
	free(manifest);
}

size_t cc_manifest_count(const struct cc_manifest *manifest)
{
	return manifest ? manifest->count : 0;
}

/* The include path of an item that is one. */
static struct cmn_view include_path(const struct dependency *item)
{
	size_t mark = strcspn(item->path, "/");

	return (struct cmn_view){ item->path + mark, item->path_len - mark };
}

uint32_t cc_manifest_include_paths(const struct cc_manifest *manifest, struct cmn_view *ret)
{
	uint32_t count = manifest ? manifest->includes : 0;

	for (uint32_t i = 0; i < count; i++)
		ret[i] = include_path(&manifest->items[i]);
	return count;
}

bool cc_manifest_has_include_paths(const struct cc_manifest *manifest, const struct cc_include_paths *paths)
{
	struct cmn_view then[CC_INCLUDE_PATHS];
	uint32_t count = cc_manifest_include_paths(manifest, then);
	bool same = count == paths->count;

	for (uint32_t i = 0; i < count && same; i++)
		same = cmn_view_equal(then[i], cc_include_path(paths, i));
	return same;
}

bool cc_manifest_moves(const struct cc_manifest *manifest)
{
	return manifest && manifest->includes && manifest->items[0].size == 0;
}

/* The number of the include path that leads there; 0: none does. */
static uint32_t include_of(const struct cc_manifest *manifest, struct cmn_view path)
{
	for (uint32_t i = 0; i < manifest->includes; i++) {
		if (cc_include_path_leads_to(include_path(&manifest->items[i]), path))
			return i + 1;
	}
	return 0;
}

/* Where the index has the path's item, or is to have it: there is room. */
static uint32_t *find(const struct cc_manifest *manifest, struct cmn_view path)
{
	size_t mask = 2 * manifest->cap - 1, at = (size_t)cmn_quick_hash(path) & mask;
	const struct dependency *item;

	for (; manifest->index[at]; at = (at + 1) & mask) {
		item = &manifest->items[manifest->index[at] - 1];
		if (item->path_len == path.len && memcmp(item->path, path.data, path.len) == 0)
			break;
	}
	return &manifest->index[at];
}

/* Room for so many items at least, more than there was. NULL: out of memory. */
static struct dependency *reserve(struct cc_manifest *manifest, size_t count)
{
	size_t cap = manifest->cap ? manifest->cap : 16;
	struct dependency *items;
	uint32_t *index;

	while (cap < count)
		cap *= 2;
	items = realloc(manifest->items, cap * sizeof(*items));
	if (items)
		manifest->items = items;
	index = items ? calloc(2 * cap, sizeof(*index)) : NULL;
	if (!index)
		return NULL;
	free(manifest->index);
	manifest->index = index;
	manifest->cap = cap;
	for (uint32_t i = 0; i < manifest->count; i++)
		*find(manifest, (struct cmn_view){ items[i].path, items[i].path_len }) = i + 1;
	return items;
}

static enum cmn_status add(struct cc_manifest *manifest, enum cc_dependency kind,
			   struct cmn_view path, uint64_t size, const struct cmn_hash *hash)
{
	struct dependency *item;
	uint32_t *place;
	char *copy;

	if (path.len == 0)
		return CMN_ERR_INVALID;
	if (manifest->count == manifest->cap && !reserve(manifest, manifest->count + 1))
		return CMN_ERR_NOMEM;
	place = find(manifest, path);
	if (*place) {
		item = &manifest->items[*place - 1];
		return item->kind == kind && item->size == size &&
		       cmn_hash_equal(&item->hash, hash) ? CMN_OK : CMN_STALE;
	}
	copy = malloc(path.len + 1);
	if (!copy)
		return CMN_ERR_NOMEM;
	memcpy(copy, path.data, path.len);
	copy[path.len] = '\0';
	item = &manifest->items[manifest->count];
	*item = (struct dependency){ .kind = kind, .size = size, .hash = *hash,
				     .same = (uint32_t)manifest->count, .path = copy,
				     .path_len = path.len, .include = include_of(manifest, path) };
	*place = (uint32_t)++manifest->count;
	manifest->includes += kind == CC_DEPENDENCY_INCLUDE_PATH;
	return CMN_OK;
}

enum cmn_status cc_manifest_add_file(struct cc_manifest *manifest, const char *path, uint64_t size,
				     const struct cmn_hash *hash)
{
	return add(manifest, CC_DEPENDENCY_FILE, cmn_view_of(path), size, hash);
}

enum cmn_status cc_manifest_add_include_paths(struct cc_manifest *manifest, const struct cc_include_paths *paths,
					      bool named)
{
	struct cmn_buffer path = { 0 };
	enum cmn_status status = CMN_OK;

	for (uint32_t i = 0; i < paths->count && status == CMN_OK; i++) {
		path.len = 0;
		cmn_buffer_printf(&path, "<%u>", i + 1);
		cmn_buffer_append(&path, cc_include_path(paths, i).data, cc_include_path(paths, i).len);
		status = path.failed ? CMN_ERR_NOMEM :
			 add(manifest, CC_DEPENDENCY_INCLUDE_PATH, cmn_buffer_view(&path), named,
			     &(struct cmn_hash){ 0 });
	}
	cmn_buffer_release(&path);
	return status;
}

void cc_manifest_name_include_paths(struct cc_manifest *manifest)
{
	for (uint32_t i = 0; i < manifest->includes; i++)
		manifest->items[i].size = 1;
}

static struct cmn_hash times_of(uint64_t mtime_ns, uint64_t ctime_ns)
{
	struct cmn_hash hash;

	for (unsigned int i = 0; i < 8; i++) {
		hash.bytes[i] = (uint8_t)(mtime_ns >> (8 * i));
		hash.bytes[8 + i] = (uint8_t)(ctime_ns >> (8 * i));
	}
	return hash;
}

enum cmn_status cc_manifest_add_seen(struct cc_manifest *manifest, const char *path,
				     const struct cc_file_identity *identity, bool with_ctime)
{
	const struct cmn_hash hash = times_of(identity->mtime_ns,
					      with_ctime ? identity->ctime_ns : 0);

	return add(manifest, CC_DEPENDENCY_SEEN, cmn_view_of(path), identity->size, &hash);
}

enum cmn_status cc_manifest_add_but_drivers(struct cc_manifest *manifest,
					    const struct cc_manifest *from)
{
	static const uint8_t any_ctime[8];
	enum cmn_status status = CMN_OK;

	for (size_t i = 0; i < cc_manifest_count(from) && status == CMN_OK; i++) {
		struct cc_manifest_item item = cc_manifest_get(from, i);

		if (item.kind != CC_DEPENDENCY_SEEN ||
		    memcmp(item.hash.bytes + 8, any_ctime, sizeof(any_ctime)) == 0)
			status = add(manifest, item.kind, cmn_view_of(item.path), item.size,
				     &item.hash);
	}
	return status;
}

static void set_content(struct dependency *item, const struct cmn_hash *hash)
{
	item->content = *hash;
	item->has_content = true;
}

void cc_manifest_set_content(struct cc_manifest *manifest, const struct cmn_hash *hash)
{
	set_content(&manifest->items[manifest->count - 1], hash);
}

static bool seen_holds(const struct dependency *item, const char *path, struct stat *ret)
{
	struct cc_file_identity now;
	struct cmn_hash with, without;

	if (stat(path, ret) != 0 || !S_ISREG(ret->st_mode))
		return false;
	now = cc_file_identity_of(ret);
	with = times_of(now.mtime_ns, now.ctime_ns);
	without = times_of(now.mtime_ns, 0);
	return now.size == item->size &&
	       (cmn_hash_equal(&with, &item->hash) || cmn_hash_equal(&without, &item->hash));
}

enum cmn_status cc_manifest_add_place(struct cc_manifest *manifest, const char *path)
{
	return add(manifest, CC_DEPENDENCY_PLACE, cmn_view_of(path), 0, &(struct cmn_hash){ 0 });
}

void cc_manifest_identify(struct cc_manifest *manifest, const struct cc_file_identity *identity)
{
	struct dependency *item = &manifest->items[manifest->count - 1];

	manifest->identified = true;
	item->device = identity->device;
	item->inode = identity->inode;
	for (size_t i = 0; i + 1 < manifest->count; i++) {
		if (manifest->items[i].inode == item->inode &&
		    manifest->items[i].device == item->device) {
			item->same = manifest->items[i].same;
			return;
		}
	}
}

enum cmn_status cc_manifest_add_made(struct cc_manifest *manifest, const char *path)
{
	cmn_buffer_append(&manifest->made, path, strlen(path) + 1);
	return manifest->made.failed ? CMN_ERR_NOMEM : CMN_OK;
}

bool cc_manifest_was_made(const struct cc_manifest *manifest, const char *path)
{
	const char *made = (const char *)manifest->made.data;
	size_t left = manifest->made.len;

	while (left && strcmp(made, path) != 0) {
		left -= strlen(made) + 1;
		made += strlen(made) + 1;
	}
	return left;
}

enum cmn_status cc_manifest_add_all(struct cc_manifest *manifest, const struct cc_manifest *from)
{
	enum cmn_status status = CMN_OK;

	for (size_t i = 0; i < from->count && status == CMN_OK; i++) {
		const struct dependency *item = &from->items[i];
		const struct cc_file_identity identity = { .device = item->device, .inode = item->inode };
		size_t count = manifest->count;

		if (cc_manifest_was_made(manifest, item->path))
			continue;
		status = add(manifest, item->kind, (struct cmn_view){ item->path, item->path_len },
			     item->size, &item->hash);
		if (status != CMN_OK || manifest->count == count)
			continue;
		if (item->has_content)
			cc_manifest_set_content(manifest, &item->content);
		if (item->inode)
			cc_manifest_identify(manifest, &identity);
	}
	return status;
}

enum cmn_status cc_manifest_add_absent(struct cc_manifest *manifest, const char *path)
{
	return add(manifest, CC_DEPENDENCY_ABSENT, cmn_view_of(path), 0, &(struct cmn_hash){ 0 });
}

bool cc_manifest_read_names(const char *path, struct cc_manifest_names *ret)
{
	enum { MAX_NAMES = 1024 };
	const struct dirent64 *entry;
	struct cmn_listing listing;
	bool complete;

	*ret = (struct cc_manifest_names){ 0 };
	if (!cmn_listing_open(&listing, AT_FDCWD, path))
		return false;
	while ((entry = cmn_listing_next(&listing)) && ret->count < MAX_NAMES) {
		struct cmn_hash hash = cmn_hash_of(entry->d_name, strlen(entry->d_name) + 1);

		/* A sum, since the order is the file system's. */
		hash.bytes[0] ^= entry->d_type;
		for (size_t i = 0; i < CMN_HASH_SIZE; i++)
			ret->hash.bytes[i] = (uint8_t)(ret->hash.bytes[i] + hash.bytes[i]);
		ret->count++;
	}
	complete = !entry && listing.len == 0;
	cmn_listing_close(&listing);
	return complete;
}

bool cc_manifest_names_equal(const struct cc_manifest_names *a, const struct cc_manifest_names *b)
{
	return a->count == b->count && cmn_hash_equal(&a->hash, &b->hash);
}

enum cmn_status cc_manifest_add_names(struct cc_manifest *manifest, const char *path,
				      const struct cc_manifest_names *names)
{
	return add(manifest, CC_DEPENDENCY_NAMES, cmn_view_of(path), names->count, &names->hash);
}

static bool names_hold(const struct dependency *item, const char *path)
{
	const struct cc_manifest_names then = { item->size, item->hash };
	struct cc_manifest_names now;

	return cc_manifest_read_names(path, &now) && cc_manifest_names_equal(&now, &then);
}

static struct cmn_hash hash_of_value(const char *value)
{
	return value ? cmn_hash_of(value, strlen(value)) : (struct cmn_hash){ 0 };
}

enum cmn_status cc_manifest_add_variable(struct cc_manifest *manifest, const char *name,
					 const char *value)
{
	const struct cmn_hash hash = hash_of_value(value);
	struct cmn_buffer path = { 0 };
	enum cmn_status status = CMN_ERR_NOMEM;

	cmn_buffer_printf(&path, "$%s", name);
	if (!path.failed)
		status = add(manifest, CC_DEPENDENCY_VARIABLE, cmn_buffer_view(&path), value != NULL,
			     &hash);
	cmn_buffer_release(&path);
	return status;
}

enum cmn_status cc_manifest_add_directory(struct cc_manifest *manifest, const char *path)
{
	return add(manifest, CC_DEPENDENCY_DIRECTORY, cmn_view_of(path), 0,
		   &(struct cmn_hash){ 0 });
}

struct cc_manifest_item cc_manifest_get(const struct cc_manifest *manifest, size_t i)
{
	const struct dependency *item = &manifest->items[i];

	return (struct cc_manifest_item){ item->kind, item->path, item->size, item->hash,
					  item->same };
}

static void encode_one(struct cmn_buffer *ret, enum cc_dependency kind, const char *path,
		       uint64_t size, const struct cmn_hash *hash)
{
	cmn_buffer_append_u8(ret, (uint8_t)kind);
	cmn_buffer_append_sized(ret, path, strlen(path));
	cmn_buffer_append_u64(ret, size);
	cmn_buffer_append(ret, hash->bytes, CMN_HASH_SIZE);
}

void cc_manifest_encode(const struct cc_manifest *manifest, struct cmn_buffer *ret)
{
	size_t count = manifest->count + manifest->identified;

	for (size_t i = 0; i < manifest->count; i++)
		count += (manifest->items[i].same != i) + (size_t)manifest->items[i].has_content;
	cmn_buffer_append_u32(ret, manifest->includes ? CC_MANIFEST_VERSION_PATHS : CC_MANIFEST_VERSION);
	cmn_buffer_append_u32(ret, (uint32_t)count);
	for (size_t i = 0; i < manifest->count; i++) {
		const struct dependency *item = &manifest->items[i];

		encode_one(ret, item->kind, item->path, item->size, &item->hash);
	}
	for (size_t i = 0; i < manifest->count; i++) {
		const struct dependency *item = &manifest->items[i];

		if (item->has_content)
			encode_one(ret, CC_DEPENDENCY_CONTENT, item->path, item->size, &item->content);
	}
	if (manifest->identified)
		encode_one(ret, CC_DEPENDENCY_SAME, manifest->items[0].path, UINT64_MAX,
			   &(struct cmn_hash){ 0 });
	for (size_t i = 0; i < manifest->count; i++) {
		const struct dependency *item = &manifest->items[i];

		if (item->same != i)
			encode_one(ret, CC_DEPENDENCY_SAME, item->path, item->same,
				   &(struct cmn_hash){ 0 });
	}
}

/* Item (NULL: the path has none) is another name of what an earlier one leads to, which is the first of its names. */
static enum cmn_status decode_same(struct cc_manifest *manifest, struct dependency *item,
				   uint64_t first)
{
	if (item && first == UINT64_MAX) {
		manifest->identified = true;
		return CMN_OK;
	}
	if (!item || first >= manifest->count || first >= item->same ||
	    manifest->items[first].same != first)
		return CMN_ERR_CORRUPT;
	item->same = (uint32_t)first;
	return CMN_OK;
}

static enum cmn_status decode_content(struct dependency *item, uint64_t size,
				      const struct cmn_hash *hash)
{
	if (!item || item->kind != CC_DEPENDENCY_SEEN || item->size != size || item->has_content)
		return CMN_ERR_CORRUPT;
	set_content(item, hash);
	return CMN_OK;
}

static bool is_next_include(const struct cc_manifest *manifest, struct cmn_view path)
{
	const char *text = path.data;

	return manifest->includes == manifest->count && manifest->includes < CC_INCLUDE_PATHS && path.len > 4 &&
	       text[0] == '<' && text[1] == (char)('1' + manifest->includes) && text[2] == '>' && text[3] == '/';
}

enum cmn_status cc_manifest_decode(struct cmn_view encoded, struct cc_manifest **ret)
{
	struct cmn_reader reader = cmn_reader_of(encoded);
	uint32_t version = cmn_reader_u32(&reader);
	uint32_t count = cmn_reader_u32(&reader);
	struct dependency *items = NULL;
	struct cc_manifest *manifest;
	enum cmn_status status = CMN_OK;
	char *text;

	if (reader.failed)
		return CMN_ERR_CORRUPT;
	if (version != CC_MANIFEST_VERSION && version != CC_MANIFEST_VERSION_PATHS)
		return CMN_ERR_VERSION;
	if (count > reader.left / DEPENDENCY_FIXED)
		return CMN_ERR_CORRUPT;
	manifest = calloc(1, sizeof(*manifest));
	text = malloc(encoded.len);	/* more than all paths with their terminators */
	if (manifest && text)
		items = reserve(manifest, count);
	if (!items) {
		free(text);
		cc_manifest_free(manifest);
		return CMN_ERR_NOMEM;
	}
	manifest->decoded_paths = text;
	for (uint32_t i = 0; i < count && status == CMN_OK; i++) {
		uint8_t kind = cmn_reader_u8(&reader);
		struct cmn_view path = cmn_reader_sized(&reader);
		uint64_t size = cmn_reader_u64(&reader);
		struct cmn_hash hash = cmn_reader_hash(&reader);
		struct dependency *item;
		uint32_t *place;

		/* A path with a NUL would be checked as a shorter one. */
		if (reader.failed || kind < CC_DEPENDENCY_FILE ||
		    kind > (version == CC_MANIFEST_VERSION ? CC_DEPENDENCY_NAMES : CC_DEPENDENCY_INCLUDE_PATH) ||
		    path.len == 0 || memchr(path.data, '\0', path.len) ||
		    (kind == CC_DEPENDENCY_VARIABLE && *(const char *)path.data != '$') ||
		    (kind == CC_DEPENDENCY_INCLUDE_PATH && !is_next_include(manifest, path))) {
			status = CMN_ERR_CORRUPT;
			break;
		}
		place = find(manifest, path);
		item = *place ? &items[*place - 1] : NULL;
		if (kind == CC_DEPENDENCY_SAME) {
			status = decode_same(manifest, item, size);
		} else if (kind == CC_DEPENDENCY_CONTENT) {
			status = decode_content(item, size, &hash);
		} else if (item) {
			status = CMN_ERR_CORRUPT;
		} else {
			items[manifest->count] = (struct dependency){
				.kind = (enum cc_dependency)kind, .size = size, .hash = hash,
				.same = (uint32_t)manifest->count, .path = text,
				.path_len = path.len, .include = include_of(manifest, path),
			};
			manifest->includes += kind == CC_DEPENDENCY_INCLUDE_PATH;
			*place = (uint32_t)++manifest->count;
			memcpy(text, path.data, path.len);
			text[path.len] = '\0';
			text += path.len + 1;
		}
	}
	manifest->decoded = manifest->count;
	if (status == CMN_OK && reader.left)
		status = CMN_ERR_CORRUPT;
	if (status == CMN_OK)
		*ret = manifest;
	else
		cc_manifest_free(manifest);
	return status;
}

char *cc_manifest_working_directory(void)
{
	struct cmn_buffer environment = { 0 };
	const char *name = NULL;
	struct stat named, here;
	char *ret = NULL;

	/* get_current_dir_name takes any name that leads here, such as "."; compilers take none that is relative. */
	if (cmn_env_copy(&environment) == CMN_OK)
		name = cmn_env_find(&environment, "PWD");
	if (name && name[0] == '/' && stat(name, &named) == 0 && stat(".", &here) == 0 &&
	    named.st_dev == here.st_dev && named.st_ino == here.st_ino)
		ret = strdup(name);
	cmn_buffer_release(&environment);
	return ret ? ret : getcwd(NULL, 0);
}

static bool directory_holds(const struct dependency *item)
{
	char *current = cc_manifest_working_directory();
	bool same = current && strcmp(current, item->path) == 0;

	free(current);
	return same;
}

static bool variable_holds(const struct dependency *item)
{
	char *value;
	struct cmn_hash hash;
	bool same;

	if (cmn_env_get(item->path + 1, &value) != CMN_OK)
		return false;
	hash = hash_of_value(value);
	same = item->size == (value != NULL) && cmn_hash_equal(&hash, &item->hash);
	free(value);
	return same;
}

/* What the dependencies before lead to: a table by device and inode, without removals. */
struct seen {
	uint64_t device, inode;
	uint32_t place;
	bool used;
};

struct table {
	struct seen *seen;
	size_t mask;	/* of a size that is twice their number or more */
};

/* Whether what is at this place is the same as before it, as far as it was then. */
static bool sameness_holds(const struct table *table, const struct dependency *item, uint32_t place,
			   const struct stat *info)
{
	uint64_t spread = ((uint64_t)info->st_ino + (uint64_t)info->st_dev) * UINT64_C(0x9e3779b97f4a7c15);
	size_t at = (size_t)(spread >> 32) & table->mask;
	struct seen *seen;

	for (; table->seen[at].used; at = (at + 1) & table->mask) {
		seen = &table->seen[at];
		if (seen->device == info->st_dev && seen->inode == info->st_ino)
			return item->same == seen->place;
	}
	table->seen[at] = (struct seen){ info->st_dev, info->st_ino, place, true };
	return item->same == place;
}

const char *cc_manifest_path_now(const struct cc_manifest *manifest, size_t i, const struct cc_include_paths *paths,
				 char **room)
{
	const struct dependency *item = &manifest->items[i];
	struct cmn_view then, now;

	if (!item->include || !paths || item->include > paths->count)
		return item->path;
	then = include_path(&manifest->items[item->include - 1]);
	now = cc_include_path(paths, item->include - 1);
	if (cmn_view_equal(then, now))
		return item->path;
	if (now.len + item->path_len - then.len >= PATH_MAX || (!*room && !(*room = malloc(PATH_MAX))))
		return "";	/* nothing is, but what is absent */
	memcpy(*room, now.data, now.len);
	memcpy(*room + now.len, item->path + then.len, item->path_len - then.len + 1);
	return *room;
}

static bool include_path_holds(const struct dependency *item, const struct cc_include_paths *paths, uint32_t i)
{
	return !paths || (i < paths->count &&
			  (item->size == 0 || cmn_view_equal(include_path(item), cc_include_path(paths, i))));
}

/* ret->st_ino: 0, or of the file or directory that the path leads to. */
static bool holds(const struct dependency *item, const char *path, struct cc_file_memo *memo, struct stat *ret)
{
	ret->st_ino = 0;
	switch (item->kind) {
	case CC_DEPENDENCY_FILE:
		return cc_file_memo_holds(memo, path, item->size, &item->hash, ret);
	case CC_DEPENDENCY_ABSENT:
		return stat(path, ret) != 0 && (errno == ENOENT || errno == ENOTDIR);
	case CC_DEPENDENCY_DIRECTORY:
		return directory_holds(item);
	case CC_DEPENDENCY_VARIABLE:
		return variable_holds(item);
	case CC_DEPENDENCY_NAMES:
		return names_hold(item, path);
	case CC_DEPENDENCY_SAME:
	case CC_DEPENDENCY_CONTENT:
	case CC_DEPENDENCY_INCLUDE_PATH:
		break;
	case CC_DEPENDENCY_SEEN:
		return seen_holds(item, path, ret) ||
		       (item->has_content &&
			cc_file_memo_holds(memo, path, item->size, &item->content, ret));
	case CC_DEPENDENCY_PLACE:
		if (stat(path, ret) == 0)
			return S_ISDIR(ret->st_mode);
		ret->st_ino = 0;
		/* Nobody enters another user's home; what a compiler looked for there does not hold then. */
		return errno == ENOENT || errno == ENOTDIR || errno == EACCES;
	}
	return false;
}

static void describe(const struct dependency *item, const char *path, bool another,
		     struct cc_manifest_change *ret)
{
	size_t len = strlen(path), size = sizeof(ret->path);

	if (another)
		ret->how = CC_MANIFEST_ANOTHER;
	else if (item->kind == CC_DEPENDENCY_ABSENT)
		ret->how = CC_MANIFEST_APPEARED;
	else if (item->kind == CC_DEPENDENCY_DIRECTORY)
		ret->how = CC_MANIFEST_DIRECTORY;
	else if (item->kind == CC_DEPENDENCY_INCLUDE_PATH)
		ret->how = CC_MANIFEST_INCLUDE_PATH;
	else if (item->kind == CC_DEPENDENCY_VARIABLE)
		ret->how = CC_MANIFEST_CHANGED;
	else
		ret->how = access(path, F_OK) == 0 ? CC_MANIFEST_CHANGED :
							   CC_MANIFEST_VANISHED;
	memcpy(ret->path, path + (len < size ? 0 : len + 1 - size),
	       (len < size ? len : size - 1) + 1);
}

enum cmn_status cc_manifest_compare_at(const struct cc_manifest *manifest, const struct cc_include_paths *paths,
				       struct cc_file_memo *memo, struct cc_manifest_change *ret)
{
	enum { FEW = 32 };
	size_t count = manifest ? manifest->count : 0, room = FEW;
	const struct dependency *changed = NULL;
	struct seen few[FEW];
	struct table table = { few, 0 };
	bool another = false;	/* changed is the same as another now, or not any more */
	const char *path = "";
	char *moved = NULL;

	if (paths && paths->count != (manifest ? manifest->includes : 0)) {
		if (ret)
			*ret = (struct cc_manifest_change){ .how = CC_MANIFEST_INCLUDE_PATH };
		return CMN_STALE;	/* no entry of such a key */
	}
	if (count && manifest->identified) {
		while (room < 2 * count)
			room *= 2;
		table.mask = room - 1;
		if (room > FEW)
			table.seen = calloc(room, sizeof(*table.seen));	/* without memory nothing holds */
		else
			memset(few, 0, sizeof(few));
	}
	for (uint32_t i = 0; i < count && i < manifest->includes && !changed; i++) {
		path = include_path(&manifest->items[i]).data;
		if (!include_path_holds(&manifest->items[i], paths, i))
			changed = &manifest->items[i];
	}
	for (size_t i = manifest ? manifest->includes : 0; i < count && !changed; i++) {
		const struct dependency *item = &manifest->items[i];
		struct stat info;

		path = cc_manifest_path_now(manifest, i, paths, &moved);
		if (!table.seen || !*path || !holds(item, path, memo, &info))
			changed = item;
		else if (manifest->identified && info.st_ino)
			another = !sameness_holds(&table, item, (uint32_t)i, &info);
		else
			another = item->same != i;	/* a directory that is gone is another name of nothing */
		if (another)
			changed = item;
	}
	if (table.seen != few)
		free(table.seen);
	if (ret)
		*ret = (struct cc_manifest_change){ .how = CC_MANIFEST_SAME };
	if (ret && changed)
		describe(changed, path, another, ret);
	free(moved);
	return changed ? CMN_STALE : CMN_OK;
}
