/* SPDX-License-Identifier: MIT */
/*
 * library_files: a walk over names, breadth first. ld.so searches the directories before its cache,
 * then takes the first entry of its cache, then searches its built-in directories
 * (search_directories.h). The run path of a library changes that order for what it needs, so all
 * that is certain once one was seen is what every search gives alike.
 */
#include "layers/shared/driver/library_files.h"

#include <fcntl.h>
#include <gnu/lib-names.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/file.h"
#include "layers/shared/driver/elf_file.h"
#include "layers/shared/driver/search_directories.h"

#define MAX_FILES 256			/* a compiler brings about 20 */
#define MAX_CACHE_SIZE (16 << 20)	/* of ld.so.cache; a large desktop's has 300 kB */

/* A name, and the first file of that name. */
struct file {
	const char *name;	/* borrowed from whose needs it is */
	char *path;		/* NULL: none was found */
	struct drv_elf_file elf;
	size_t searched;	/* how many of the directories */
	bool for_library;	/* some library needs it */
	bool placed;		/* its place in ld.so's order is certain */
	bool first_of_several;	/* which differ, and come later in that order */
	bool uncertain;		/* ld.so may take another library, or fail */
};

struct search {
	struct drv_search_directories directories;
	struct cmn_buffer cache;
	bool has_run_paths;	/* some file that was found */
	struct file *files;	/* MAX_FILES */
	size_t count;
	bool too_many;
	drv_library_loaded_fn loaded;	/* NULL: whatever is loaded here */
	void *ctx;
};

/* Whether these are paths or copies of one library, so that ld.so may take either. */
static bool is_same(const struct drv_elf_file *a, const struct drv_elf_file *b)
{
	if (a->device == b->device && a->inode == b->inode)
		return true;
	return a->build_id.len &&
	       cmn_view_equal(cmn_buffer_view(&a->build_id), cmn_buffer_view(&b->build_id)) &&
	       cmn_view_equal(cmn_buffer_view(&a->needed), cmn_buffer_view(&b->needed));
}

/* Takes over the first file of a name; compares others with it. */
static enum cmn_status add_candidate(struct file *file, const char *path, bool placed,
				     struct drv_elf_file *elf)
{
	if (!file->path) {
		file->path = strdup(path);
		if (!file->path)
			return CMN_ERR_NOMEM;
		file->elf = *elf;
		file->placed = placed;
		*elf = (struct drv_elf_file){ 0 };
	} else if (!is_same(&file->elf, elf)) {
		file->first_of_several = true;
		file->uncertain |= !placed || !file->placed;
	}
	return CMN_OK;
}

/* placed: where ld.so's search comes past this path is certain. CMN_OK or CMN_ERR_NOMEM. */
static enum cmn_status consider(struct search *search, struct file *file, const char *path,
				bool placed)
{
	struct drv_elf_file elf = { 0 };
	enum cmn_status status;

	if (file->path && strcmp(file->path, path) == 0)
		return CMN_OK;
	status = drv_elf_file_read(path, &elf);
	if (status == CMN_MISS)
		return CMN_OK;		/* as for ld.so, which looks on */
	if (status == CMN_OK && elf.run_path) {
		search->has_run_paths = true;
		status = drv_search_directories_add_run_path(&search->directories, elf.run_path, path);
	}
	if (status == CMN_OK && !elf.unusual)
		status = add_candidate(file, path, placed, &elf);
	else if (status != CMN_ERR_NOMEM)
		file->uncertain = true;
	drv_elf_file_release(&elf);
	return status == CMN_ERR_NOMEM ? status : CMN_OK;
}

static enum cmn_status consider_directories(struct search *search, struct file *file, size_t end,
					    bool placed)
{
	enum cmn_status status = CMN_OK;

	while (status == CMN_OK && file->searched < end) {
		const char *directory = search->directories.items[file->searched++].path;
		struct cmn_buffer buffer = { 0 };
		char *path;

		cmn_buffer_printf(&buffer, "%s%s%s", directory, strcmp(directory, "/") ? "/" : "",
				  file->name);
		path = cmn_buffer_take_string(&buffer);
		status = path ? consider(search, file, path, placed) : CMN_ERR_NOMEM;
		free(path);
	}
	return status;
}

static enum cmn_status consider_cache(struct search *search, struct file *file)
{
	struct drv_linker_cache_entry entry;
	enum cmn_status status = CMN_OK;
	const char *previous = NULL;
	uint32_t position = 0;
	bool placed = true;

	while (status == CMN_OK && drv_linker_cache_next(cmn_buffer_view(&search->cache), file->name,
							 &position, &entry) == CMN_OK) {
		/* Where the first entry's file is gone, ld.so does not try a second one. */
		placed &= !entry.depends_on_processor && (!previous || access(previous, R_OK) == 0);
		status = consider(search, file, entry.path, placed);
		previous = entry.path;
	}
	return status;
}

static enum cmn_status find(struct search *search, struct file *file)
{
	enum cmn_status status;

	if (strchr(file->name, '$')) {
		file->uncertain = true;
		return CMN_OK;
	}
	if (strchr(file->name, '/')) {
		file->searched = SIZE_MAX;
		return consider(search, file, file->name, true);
	}
	status = consider_directories(search, file, search->directories.before_cache, true);
	if (status == CMN_OK)
		status = consider_cache(search, file);
	if (status == CMN_OK)
		status = consider_directories(search, file, search->directories.ordered, true);
	return status;
}

static enum cmn_status add(struct search *search, const char *name, bool for_library)
{
	struct file *file = search->files;

	while (file < search->files + search->count && strcmp(file->name, name) != 0)
		file++;
	if (file < search->files + search->count) {
		file->for_library |= for_library;
		return CMN_OK;
	}
	if (search->loaded && search->loaded(search->ctx, name))
		return CMN_OK;
	search->too_many |= search->count == MAX_FILES;
	if (search->count == MAX_FILES)
		return CMN_OK;
	search->count++;
	*file = (struct file){ .name = name, .for_library = for_library };
	return find(search, file);
}

/* For what else is found in a later round, this only adds what is new. */
static enum cmn_status add_needed(struct search *search)
{
	enum cmn_status status = CMN_OK;

	for (size_t i = 0; status == CMN_OK && i < search->count; i++) {
		struct cmn_view needed = cmn_buffer_view(&search->files[i].elf.needed);
		const char *name = needed.data;

		for (size_t at = 0; status == CMN_OK && at < needed.len; at += strlen(name + at) + 1)
			status = add(search, name + at, true);
	}
	return status;
}

/* Run paths add directories, in which ld.so looks for some names; here all are looked for. */
static enum cmn_status walk(struct search *search)
{
	enum cmn_status status = CMN_OK;
	size_t before;

	do {
		before = search->count + search->directories.count;
		for (size_t i = 0; status == CMN_OK && i < search->count; i++)
			status = consider_directories(search, &search->files[i],
						      search->directories.count, false);
		if (status == CMN_OK)
			status = add_needed(search);
	} while (status == CMN_OK && search->count + search->directories.count != before);
	return status;
}

static bool is_certain(const struct search *search, const struct file *file)
{
	bool other_orders = search->has_run_paths || search->directories.driver_has_run_path;

	return file->path && !file->uncertain &&
	       !(file->for_library && search->directories.incomplete) &&
	       !(file->for_library && file->first_of_several && other_orders);
}

/* A second name of a file is the same object for ld.so. */
static bool is_visited(const struct search *search, const struct file *file)
{
	for (const struct file *other = search->files; other < file; other++) {
		if (is_certain(search, other) && other->elf.device == file->elf.device &&
		    other->elf.inode == file->elf.inode)
			return true;
	}
	return false;
}

static enum cmn_status visit_all(const struct search *search, drv_library_file_fn visit)
{
	enum cmn_status status = CMN_OK;
	bool left_out = search->too_many;

	for (size_t i = 0; status == CMN_OK && i < search->count; i++) {
		const struct file *file = &search->files[i];

		if (!is_certain(search, file))
			left_out = true;
		else if (!is_visited(search, file))
			status = visit(search->ctx, &(struct drv_library_file){
							    .name = basename(file->path),
							    .path = file->path,
							    .build_id = cmn_buffer_view(&file->elf.build_id),
						    });
	}
	return status == CMN_OK && left_out ? CMN_MISS : status;
}

/* What cannot be read counts as absent, as for ld.so. */
static enum cmn_status begin(struct search *search, const char *driver)
{
	enum cmn_status status;

	search->files = calloc(MAX_FILES, sizeof(search->files[0]));
	status = search->files ? drv_search_directories_gather(driver, &search->directories) :
				 CMN_ERR_NOMEM;
	if (status != CMN_OK)
		return status;
	status = cmn_file_read(AT_FDCWD, DRV_LINKER_CACHE_PATH, MAX_CACHE_SIZE, true, &search->cache);
	return status == CMN_ERR_NOMEM ? status : CMN_OK;
}

static void release(struct search *search)
{
	for (size_t i = 0; i < search->count; i++) {
		free(search->files[i].path);
		drv_elf_file_release(&search->files[i].elf);
	}
	free(search->files);
	cmn_buffer_release(&search->cache);
	drv_search_directories_release(&search->directories);
}

enum cmn_status drv_library_files(const char *driver, const char *const *sonames, size_t count,
				  drv_library_loaded_fn loaded, drv_library_file_fn visit,
				  void *ctx)
{
	struct search search = { .loaded = loaded, .ctx = ctx };
	enum cmn_status status = CMN_OK;
	bool begun = false;

	for (size_t i = 0; status == CMN_OK && i < count && sonames[i]; i++) {
		if (!begun && !loaded(ctx, sonames[i])) {
			status = begin(&search, driver);
			begun = true;
		}
		if (status == CMN_OK && begun)
			status = add(&search, sonames[i], false);
	}
	if (status == CMN_OK)
		status = walk(&search);
	if (status == CMN_OK)
		status = visit_all(&search, visit);
	release(&search);
	return status;
}

enum cmn_status drv_library_files_of_program(const char *program, const char *library_path,
					     drv_library_file_fn visit, void *ctx)
{
	/* libc has no run path, so its directories are those of every program, with what this one may add. */
	struct search search = { .ctx = ctx, .has_run_paths = true };
	enum cmn_status status = begin(&search, LIBC_SO);

	/* This process may have been started with another value. */
	if (status == CMN_OK && library_path)
		status = strchr(library_path, ';') ? CMN_MISS :
			 drv_search_directories_add_run_path(&search.directories, library_path, "");
	if (status == CMN_OK)
		status = add(&search, program, false);
	if (status == CMN_OK)
		status = walk(&search);
	if (status == CMN_OK)
		status = visit_all(&search, visit);
	release(&search);
	return status;
}
