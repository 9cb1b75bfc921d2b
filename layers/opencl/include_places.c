/* SPDX-License-Identifier: MIT */
/*
 * include_places: what stands at each place is read once, at the first look,
 * so that one scan sees one state of every file.
 */
#include "layers/opencl/include_places.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

/* Beyond every real program: a header that writes such a tree is not worth following. */
#define MAX_FILES 20000
#define MAX_PLACES 200000
/*
 * Headers that include each other as "../x/a.h" have ever longer names, which
 * lead to the same files and directories as the first few.
 */
#define MAX_SPELLINGS 3

/* A path where a header was looked for. */
struct ocl_include_place {
	bool present;
	UT_hash_handle hh;
	char path[];
};

/* A file in its directory, however it is spelled. */
struct ocl_include_body {
	struct { uint64_t device, inode, directory_device, directory_inode; } id;	/* no padding */
	unsigned int spellings;
	UT_hash_handle hh;
};

static enum cmn_status refuse(struct ocl_include_places *places, const char *reason)
{
	places->reason = reason;
	return CMN_MISS;
}

static void file_free(struct ocl_include_file *file)
{
	ocl_source_text_release(&file->text);
	cmn_buffer_release(&file->bytes);
	free(file->directory);
	free(file->real_directory);
	free(file);
}

enum cmn_status ocl_include_places_init(struct ocl_include_places *ret,
					const struct ocl_build_options *options,
					struct cc_file_memo *memo)
{
	*ret = (struct ocl_include_places){ .options = options, .memo = memo };
	ret->manifest = cc_manifest_new();
	return ret->manifest ? CMN_OK : CMN_ERR_NOMEM;
}

void ocl_include_places_release(struct ocl_include_places *places)
{
	struct ocl_include_place *place, *next;
	struct ocl_include_body *body, *next_body;

	HASH_ITER(hh, places->places, place, next) {
		HASH_DEL(places->places, place); /* NOLINT(clang-analyzer-unix.Malloc): the analyzer loses track of uthash */
		free(place);
	}
	HASH_ITER(hh, places->bodies, body, next_body) {
		HASH_DEL(places->bodies, body); /* NOLINT(clang-analyzer-unix.Malloc): the analyzer loses track of uthash */
		free(body);
	}
	for (size_t i = 0; i < places->file_count; i++)
		file_free(places->files[i]);
	free(places->files);
	ocl_search_path_release(&places->search);
	cc_manifest_free(places->manifest);
	*places = (struct ocl_include_places){ 0 };
}

/* Takes file on success. */
static enum cmn_status add_file(struct ocl_include_places *places, struct ocl_include_file *file)
{
	if (places->file_count >= MAX_FILES)
		return refuse(places, "too-many-includes");
	if (places->file_count == places->file_cap) {
		size_t cap = places->file_cap ? 2 * places->file_cap : 16;
		struct ocl_include_file **files = realloc(places->files, cap * sizeof(*files));

		if (!files)
			return CMN_ERR_NOMEM;
		places->files = files;
		places->file_cap = cap;
	}
	places->files[places->file_count++] = file;
	return CMN_OK;
}

static enum cmn_status read_text(struct ocl_include_places *places, struct ocl_include_file *file,
				 struct cmn_view text)
{
	enum cmn_status status = ocl_source_text_init(&file->text, text,
						      places->options->cplusplus);

	return status == CMN_OK ? add_file(places, file) : status;
}

enum cmn_status ocl_include_places_add_text(struct ocl_include_places *places,
					    struct cmn_view text)
{
	struct ocl_include_file *file = calloc(1, sizeof(*file));
	enum cmn_status status;

	if (!file)
		return CMN_ERR_NOMEM;
	status = read_text(places, file, text);
	if (status != CMN_OK)
		file_free(file);
	return status;
}

enum cmn_status ocl_include_places_take_text(struct ocl_include_places *places,
					     struct cmn_buffer *text)
{
	struct ocl_include_file *file = calloc(1, sizeof(*file));
	enum cmn_status status = CMN_ERR_NOMEM;

	if (!file) {
		cmn_buffer_release(text);
		return CMN_ERR_NOMEM;
	}
	file->bytes = *text;
	*text = (struct cmn_buffer){ 0 };
	if (!file->bytes.failed)
		status = read_text(places, file, cmn_buffer_view(&file->bytes));
	if (status != CMN_OK)
		file_free(file);
	return status;
}

/* Some preprocessors may look beside the link's target. */
static enum cmn_status find_directories(struct ocl_include_places *places, const char *path,
					struct ocl_include_file *file)
{
	struct stat info;
	char *real;

	file->directory = ocl_search_path_parent(path);
	if (!file->directory)
		return CMN_ERR_NOMEM;
	if (lstat(path, &info) < 0)
		return refuse(places, "header-unreadable");
	if (!S_ISLNK(info.st_mode))
		return CMN_OK;
	real = realpath(path, NULL);
	if (!real)
		return refuse(places, "header-unreadable");
	file->real_directory = ocl_search_path_parent(real);
	free(real);
	return file->real_directory ? CMN_OK : CMN_ERR_NOMEM;
}

/* A place cannot be two things; where it is the working directory as well, nothing is certain. */
static enum cmn_status recorded(struct ocl_include_places *places, enum cmn_status status)
{
	return status == CMN_STALE ? refuse(places, "odd-name") : status;
}

/* CMN_BUSY: this file in this directory has been read under enough names. */
static enum cmn_status count_spelling(struct ocl_include_places *places, const char *path,
				      const struct ocl_include_file *file)
{
	struct stat info, directory;
	struct ocl_include_body *body, found = { 0 };

	if (stat(path, &info) < 0 || stat(*file->directory ? file->directory : ".", &directory) < 0)
		return refuse(places, "header-unreadable");
	found.id.device = info.st_dev;
	found.id.inode = info.st_ino;
	found.id.directory_device = directory.st_dev;
	found.id.directory_inode = directory.st_ino;
	/* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): no padding */
	HASH_FIND(hh, places->bodies, &found.id, sizeof(found.id), body);
	if (!body) {
		body = malloc(sizeof(*body));
		if (!body)
			return CMN_ERR_NOMEM;
		*body = found;
		HASH_ADD(hh, places->bodies, id, sizeof(body->id), body);
		if (!body->hh.tbl) {
			free(body);
			return CMN_ERR_NOMEM;
		}
	}
	return ++body->spellings > MAX_SPELLINGS ? CMN_BUSY : CMN_OK;
}

/* What is at a place seen for the first time; its bytes are read and hashed once. */
static enum cmn_status open_place(struct ocl_include_places *places, const char *path,
				  bool *ret_present)
{
	struct ocl_include_file *file = calloc(1, sizeof(*file));
	struct cmn_hash hash;
	enum cmn_status status;

	if (!file)
		return CMN_ERR_NOMEM;
	status = cc_file_memo_read(places->memo, path, &file->bytes, &hash);
	if (status == CMN_MISS) {
		file_free(file);
		return recorded(places, cc_manifest_add_absent(places->manifest, path));
	}
	if (status != CMN_OK && status != CMN_ERR_NOMEM)
		status = refuse(places, "header-unreadable");
	if (status == CMN_OK)
		status = recorded(places, cc_manifest_add_file(places->manifest, path,
							       file->bytes.len, &hash));
	if (status == CMN_OK)
		status = find_directories(places, path, file);
	if (status == CMN_OK)
		status = count_spelling(places, path, file);
	if (status == CMN_OK)
		status = read_text(places, file, cmn_buffer_view(&file->bytes));
	if (status != CMN_OK)
		file_free(file);
	*ret_present = status == CMN_OK || status == CMN_BUSY;
	return status == CMN_BUSY ? CMN_OK : status;
}

/* Records what is at directory/name; *ret_present is set to true if it is a header. */
static enum cmn_status try_place(struct ocl_include_places *places, const char *directory,
				 const char *name, bool *ret_present)
{
	char *path = ocl_search_path_join(directory, name);
	enum cmn_status status = CMN_OK;
	struct ocl_include_place *place;
	size_t len;

	if (!path)
		return CMN_ERR_NOMEM;
	len = strlen(path);
	HASH_FIND(hh, places->places, path, len, place);
	if (!place) {
		place = HASH_COUNT(places->places) < MAX_PLACES ?
				calloc(1, sizeof(*place) + len + 1) : NULL;
		if (!place) {
			status = HASH_COUNT(places->places) < MAX_PLACES ?
					 CMN_ERR_NOMEM : refuse(places, "too-many-includes");
			goto out;
		}
		memcpy(place->path, path, len);
		HASH_ADD_KEYPTR(hh, places->places, place->path, len, place);
		if (!place->hh.tbl) {
			free(place);
			status = CMN_ERR_NOMEM;
			goto out;
		}
		status = open_place(places, path, &place->present);
	}
	if (status == CMN_OK && place->present)
		*ret_present = true;
out:
	free(path);
	return status;
}

static enum cmn_status try_beside(struct ocl_include_places *places,
				  const struct ocl_include_file *includer, const char *name,
				  bool *ret_present)
{
	bool elsewhere = false;
	enum cmn_status status = CMN_OK;

	if (!includer->directory)
		return CMN_OK;
	if (includer->real_directory)
		status = try_place(places, includer->real_directory, name, &elsewhere);
	if (status == CMN_OK)
		status = try_place(places, includer->directory, name, ret_present);
	return status;
}

static enum cmn_status try_system(struct ocl_include_places *places, const char *name)
{
	enum cmn_status status = CMN_OK;
	bool present;

	if (!places->search_known) {
		status = ocl_search_path_init(&places->search);
		places->search_known = true;
	}
	for (size_t i = 0; i < places->search.count && status == CMN_OK; i++)
		status = try_place(places, places->search.directories[i], name, &present);
	return status;
}

/*
 * Every place where a driver may look for name, up to where all drivers have
 * found it: beside a header that includes it with quotes, then in the -I
 * directories in their order. The working directory's rank is the driver's.
 */
enum cmn_status ocl_include_places_resolve(struct ocl_include_places *places,
					   const struct ocl_include_file *includer,
					   const char *name, bool quoted)
{
	const struct ocl_build_options *options = places->options;
	bool present = false, here = false;
	enum cmn_status status = CMN_OK;

	if (name[0] == '/')
		return try_place(places, "", name, &present);
	if (quoted)
		status = try_beside(places, includer, name, &present);
	if (status != CMN_OK || present)
		return status;
	status = try_place(places, "", name, &here);
	for (size_t i = 0; i < options->directory_count && status == CMN_OK; i++) {
		status = try_place(places, options->directories[i], name, &present);
		if (present && options->ordered)
			return status;
	}
	return status == CMN_OK ? try_system(places, name) : status;
}

enum cmn_status ocl_include_places_add_directory(struct ocl_include_places *places)
{
	enum cmn_status status;
	char *path;

	if (places->has_directory)
		return CMN_OK;
	path = cc_manifest_working_directory();
	if (!path)
		return refuse(places, "working-directory");
	status = recorded(places, cc_manifest_add_directory(places->manifest, path));
	free(path);
	places->has_directory = status == CMN_OK;
	return status;
}
