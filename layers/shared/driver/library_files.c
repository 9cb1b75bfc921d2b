/* SPDX-License-Identifier: MIT */
/*
 * library_files: glibc's _dl_map_object over files instead of mappings,
 * breadth first as dlopen itself, so that names resolve against the same
 * objects in the same order.
 */
#include "layers/shared/driver/library_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "common/file.h"
#include "layers/shared/driver/elf_file.h"
#include "layers/shared/driver/linker_cache.h"
#include "layers/shared/driver/linker_search.h"

#define MAX_FILES 256			/* a compiler brings about 20 */
#define MAX_CACHE_SIZE (16 << 20)	/* of ld.so.cache; a large desktop's has 300 kB */
#define NO_FILE SIZE_MAX

/* Which file it is cannot be told here. */
#define UNSURE CMN_ERR_INVALID

struct found {
	const char *name;	/* as it was asked for; borrowed from whose needs it is */
	char *path;		/* NULL: another name of a file that was found before */
	struct drv_elf_file elf;
	size_t asker;		/* who needs it: an index, or NO_FILE for the driver */
};

struct search {
	struct drv_linker_search places;
	bool cache_read;
	struct cmn_buffer cache_bytes;
	struct drv_linker_cache cache;
	struct found *files;	/* MAX_FILES */
	size_t count;
	drv_library_loaded_fn loaded;
	drv_library_file_fn visit;
	void *ctx;
};

static enum cmn_status try_path(const char *path, struct found *found)
{
	enum cmn_status status = drv_elf_file_read(path, &found->elf);

	if (status != CMN_OK)
		return status;
	found->path = strdup(path);
	if (found->path)
		return CMN_OK;
	drv_elf_file_release(&found->elf);
	return CMN_ERR_NOMEM;
}

/* Whether a directory below glibc-hwcaps/ has it: which of them count, the processor decides. */
static enum cmn_status check_variants(int directory_fd, const char *name)
{
	int fd = openat(directory_fd, "glibc-hwcaps", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	enum cmn_status status = CMN_OK;
	const struct dirent *entry;
	DIR *variants;

	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? CMN_OK : UNSURE;
	variants = fdopendir(fd);
	if (!variants) {
		(void)close(fd);	/* only read from */
		return CMN_ERR_NOMEM;
	}
	while (status == CMN_OK && (entry = readdir(variants))) {
		struct cmn_buffer path = { 0 };
		char *text;

		if (entry->d_name[0] == '.')
			continue;
		cmn_buffer_printf(&path, "%s/%s", entry->d_name, name);
		text = cmn_buffer_take_string(&path);
		if (!text)
			status = CMN_ERR_NOMEM;
		else if (faccessat(fd, text, F_OK, 0) == 0)
			status = UNSURE;
		free(text);
	}
	(void)closedir(variants);	/* only read from */
	return status;
}

/* Up to 2.36, glibc looked in directories with these names, and in each other's below, too. */
static enum cmn_status check_old_variants(int directory_fd)
{
	static const char *const names[] = { "tls", "haswell", "xeon_phi", "avx512_1", "atomics" };
	const char *version = gnu_get_libc_version();
	const char *minor = strchr(version, '.');
	const char *platform = (const char *)getauxval(AT_PLATFORM);

	if (strtoul(version, NULL, 10) > 2 || (minor && strtoul(minor + 1, NULL, 10) > 36))
		return CMN_OK;
	if (platform && faccessat(directory_fd, platform, F_OK, 0) == 0)
		return UNSURE;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (faccessat(directory_fd, names[i], F_OK, 0) == 0)
			return UNSURE;
	}
	return CMN_OK;
}

static enum cmn_status try_directory(struct cmn_view directory, const char *name,
				     struct found *found)
{
	struct cmn_buffer buffer = { 0 };
	enum cmn_status status;
	char *path;
	int fd;

	/* An empty place is the working directory. */
	if (directory.len)
		cmn_buffer_append(&buffer, directory.data, directory.len);
	else
		cmn_buffer_append_text(&buffer, ".");
	while (!buffer.failed && buffer.len > 1 && buffer.data[buffer.len - 1] == '/')
		buffer.len--;
	path = cmn_buffer_take_string(&buffer);
	if (!path)
		return CMN_ERR_NOMEM;
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		status = errno == ENOENT || errno == ENOTDIR || errno == EACCES ? CMN_MISS : UNSURE;
		free(path);
		return status;
	}
	status = check_variants(fd, name);
	if (status == CMN_OK)
		status = check_old_variants(fd);
	(void)close(fd);	/* only looked through */
	if (status == CMN_OK) {
		cmn_buffer_append_text(&buffer, path);
		cmn_buffer_append_text(&buffer, path[strlen(path) - 1] == '/' ? "" : "/");
		cmn_buffer_append_text(&buffer, name);
		free(path);
		path = cmn_buffer_take_string(&buffer);
		status = path ? try_path(path, found) : CMN_ERR_NOMEM;
	}
	free(path);
	return status;
}

/* certain: whether ld.so looks there in any case; if not, nothing may be there. */
static enum cmn_status try_list(const struct drv_linker_list *list, bool built_in, bool certain,
				const char *name, struct found *found)
{
	unsigned int end = built_in ? list->count : list->before;
	enum cmn_status status = CMN_MISS;

	for (unsigned int i = built_in ? list->before : 0; status == CMN_MISS && i < end; i++)
		status = try_directory(cmn_view_of(list->info->dls_serpath[i].dls_name), name,
				       found);
	if (status == CMN_OK && !certain) {
		free(found->path);
		found->path = NULL;
		drv_elf_file_release(&found->elf);
		return UNSURE;
	}
	return status;
}

/* One place of a file's run path: $ORIGIN is known, other tokens are ld.so's own. */
static enum cmn_status try_place(struct cmn_view place, const char *of, const char *name,
				 struct found *found)
{
	static const char *const tokens[] = { "$ORIGIN", "${ORIGIN}" };
	const char *slash = strrchr(of, '/');
	struct cmn_buffer path = { 0 };
	enum cmn_status status;
	size_t len = 0;

	for (size_t i = 0; i < 2; i++) {
		if (place.len >= strlen(tokens[i]) &&
		    memcmp(place.data, tokens[i], strlen(tokens[i])) == 0)
			len = strlen(tokens[i]);
	}
	if (place.len > len && len && ((const char *)place.data)[len] != '/')
		return UNSURE;
	if (memchr((const char *)place.data + len, '$', place.len - len))
		return UNSURE;
	if (!len)
		return try_directory(place, name, found);
	/* Privileged programs heed it in some places only. */
	if (of[0] != '/' || !slash || getauxval(AT_SECURE))
		return UNSURE;
	/* The root keeps its slash. */
	cmn_buffer_append(&path, of, slash == of ? 1 : (size_t)(slash - of));
	cmn_buffer_append(&path, (const char *)place.data + len, place.len - len);
	status = path.failed ? CMN_ERR_NOMEM :
			       try_directory(cmn_buffer_view(&path), name, found);
	cmn_buffer_release(&path);
	return status;
}

static enum cmn_status try_run_path(const char *run_path, const char *of, const char *name,
				    struct found *found)
{
	enum cmn_status status = CMN_MISS;

	while (run_path && status == CMN_MISS) {
		const char *end = strchrnul(run_path, ':');

		status = try_place((struct cmn_view){ run_path, (size_t)(end - run_path) }, of,
				   name, found);
		run_path = *end ? end + 1 : NULL;
	}
	return status;
}

/* What cannot be read counts as absent, as for ld.so. */
static enum cmn_status read_cache(struct search *search)
{
	enum cmn_status status;

	if (search->cache_read)
		return CMN_OK;
	search->cache_read = true;
	status = cmn_file_read(AT_FDCWD, DRV_LINKER_CACHE_PATH, MAX_CACHE_SIZE, true,
			       &search->cache_bytes);
	if (status == CMN_OK)
		(void)!drv_linker_cache_open(cmn_buffer_view(&search->cache_bytes), &search->cache);
	return status == CMN_ERR_NOMEM ? status : CMN_OK;
}

static enum cmn_status try_cache(struct search *search, const char *name, struct found *found)
{
	struct drv_linker_cache_entry entry;
	enum cmn_status status = read_cache(search);

	if (status != CMN_OK)
		return status;
	for (uint32_t at = 0; drv_linker_cache_next(&search->cache, name, &at, &entry) == CMN_OK;) {
		if (entry.depends_on_processor)
			return UNSURE;
	}
	for (uint32_t at = 0; drv_linker_cache_next(&search->cache, name, &at, &entry) == CMN_OK;) {
		status = try_path(entry.path, found);
		if (status != CMN_MISS)
			return status;
		/* Of another machine, or gone: then ld.so does not take a second one of its machine. */
		if (access(entry.path, R_OK) < 0)
			return UNSURE;
	}
	return CMN_MISS;
}

/* Run paths that are inherited: the file's own, and those of the files that brought it. */
static enum cmn_status try_inherited(const struct search *search, size_t from, const char *name,
				     struct found *found)
{
	enum cmn_status status = CMN_MISS;

	if (from == NO_FILE || search->files[from].elf.run_path)
		return CMN_MISS;
	for (; status == CMN_MISS && from != NO_FILE; from = search->files[from].asker)
		status = try_run_path(search->files[from].elf.run_path_old,
				      search->files[from].path, name, found);
	return status;
}

/* What the process has: see linker_search.h for which list is what. */
static enum cmn_status try_process(const struct search *search, size_t from, const char *name,
				   struct found *found)
{
	const struct drv_linker_search *places = &search->places;
	bool from_has_run_path = from != NO_FILE && search->files[from].elf.run_path;

	if (from == NO_FILE || (!from_has_run_path && !places->asker_has_run_path))
		return try_list(&places->asker, false, true, name, found);
	if (!places->inherits)
		return try_list(&places->variable, false, true, name, found);
	if (places->asker_has_run_path)
		return UNSURE;
	/* The variable's directories are among these, beside run paths that do not count. */
	return try_list(&places->asker, false, false, name, found);
}

/* ld.so(8), "the search": see the header for what is left out. */
static enum cmn_status find(struct search *search, size_t from, const char *name,
			    struct found *found)
{
	enum cmn_status status;

	if (!name[0] || strchr(name, '$'))
		return UNSURE;
	if (strchr(name, '/'))
		return try_path(name, found);
	status = try_inherited(search, from, name, found);
	if (status == CMN_MISS)
		status = try_process(search, from, name, found);
	if (status == CMN_MISS && from != NO_FILE)
		status = try_run_path(search->files[from].elf.run_path, search->files[from].path,
				      name, found);
	if (status == CMN_MISS)
		status = try_cache(search, name, found);
	if (status == CMN_MISS)
		status = try_list(&search->places.asker, true, true, name, found);
	return status;
}

static bool is_known(const struct search *search, const char *name)
{
	for (size_t i = 0; i < search->count; i++) {
		const struct found *file = &search->files[i];

		if (strcmp(file->name, name) == 0 ||
		    (file->path && strcmp(file->path, name) == 0) ||
		    (file->elf.soname && strcmp(file->elf.soname, name) == 0))
			return true;
	}
	return false;
}

/* A second path of a file is the same object for ld.so; its name is known from then on. */
static bool is_same_file(const struct search *search, const struct found *found)
{
	for (size_t i = 0; i < search->count; i++) {
		const struct found *file = &search->files[i];

		if (file->path && file->elf.device == found->elf.device &&
		    file->elf.inode == found->elf.inode)
			return true;
	}
	return false;
}

static void release_found(struct found *found)
{
	free(found->path);
	drv_elf_file_release(&found->elf);
	found->path = NULL;
}

static enum cmn_status report(const struct search *search, const struct found *found)
{
	const char *slash = strrchr(found->path, '/');

	return search->visit(search->ctx, &(struct drv_library_file){
						  .name = slash ? slash + 1 : found->path,
						  .path = found->path,
						  .build_id = cmn_buffer_view(&found->elf.build_id),
					  });
}

/* What the walk's caller is told of a search that gave no file. */
static enum cmn_status outcome_of(enum cmn_status status)
{
	return status == CMN_ERR_NOMEM ? status : CMN_MISS;
}

static enum cmn_status add(struct search *search, size_t from, const char *name)
{
	struct found found = { .name = name, .asker = from };
	enum cmn_status status;

	if (is_known(search, name) || search->loaded(search->ctx, name))
		return CMN_OK;
	if (search->count == MAX_FILES)
		return CMN_MISS;
	status = find(search, from, name, &found);
	if (status != CMN_OK)
		return outcome_of(status);
	if (found.elf.unusual) {
		release_found(&found);
		return CMN_MISS;
	}
	if (is_same_file(search, &found)) {
		release_found(&found);
		search->files[search->count++] = found;
		return CMN_OK;
	}
	search->files[search->count++] = found;
	return report(search, &found);
}

static enum cmn_status walk(struct search *search, const char *soname)
{
	enum cmn_status status = add(search, NO_FILE, soname);

	for (size_t i = 0; status == CMN_OK && i < search->count; i++) {
		struct cmn_view needed = cmn_buffer_view(&search->files[i].elf.needed);
		const char *name = needed.data;

		for (size_t at = 0; status == CMN_OK && at < needed.len;
		     at += strlen(name + at) + 1)
			status = add(search, i, name + at);
	}
	return status;
}

enum cmn_status drv_library_files(const char *asker, const char *soname,
				  drv_library_loaded_fn loaded, drv_library_file_fn visit,
				  void *ctx)
{
	struct search search = { .loaded = loaded, .visit = visit, .ctx = ctx };
	enum cmn_status status;

	if (loaded(ctx, soname))
		return CMN_OK;
	search.files = calloc(MAX_FILES, sizeof(search.files[0]));
	status = search.files ? drv_linker_search_gather(asker, &search.places) : CMN_ERR_NOMEM;
	if (status == CMN_OK)
		status = walk(&search, soname);
	for (size_t i = 0; i < search.count; i++)
		release_found(&search.files[i]);
	free(search.files);
	cmn_buffer_release(&search.cache_bytes);
	drv_linker_search_release(&search.places);
	return status;
}
