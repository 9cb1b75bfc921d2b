/* SPDX-License-Identifier: MIT */
/*
 * search_directories: dlinfo gives one list without saying which directory comes from where; the
 * built-in ones are recognized at its end.
 */
#include "layers/shared/driver/search_directories.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fnmatch.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include "common/bytes.h"
#include "layers/shared/driver/loaded.h"

#define MAX_DIRECTORIES 1024	/* a long LD_LIBRARY_PATH has 50 */

/* Patterns of what distributions build glibc with, on each architecture; no row is the end of a later one. */
static const char *const built_in[][5] = {
	{ "/lib/*-linux-gnu*", "/usr/lib/*-linux-gnu*", "/lib", "/usr/lib" },
	{ "/lib64", "/usr/lib64" },
	{ "/lib", "/usr/lib" },
	{ "/usr/lib64" },
	{ "/usr/lib" },
};

/* Takes the path; an empty one is the working directory. */
static enum cmn_status add(struct drv_search_directories *list, struct cmn_buffer *text)
{
	struct drv_search_directory *added = &list->items[list->count];
	char *path = cmn_buffer_take_string(text);
	struct stat info;
	bool known = false;
	size_t len;

	if (!path)
		return CMN_ERR_NOMEM;
	if (list->count == MAX_DIRECTORIES) {
		free(path);
		return CMN_MISS;
	}
	len = strlen(path);
	while (len > 1 && path[len - 1] == '/')
		path[--len] = '\0';
	/* What is no directory, or may not be looked at, ld.so passes over. */
	if (stat(len ? path : ".", &info) < 0 || !S_ISDIR(info.st_mode)) {
		free(path);
		return CMN_OK;
	}
	for (size_t i = 0; i < list->count; i++)
		known |= list->items[i].device == info.st_dev && list->items[i].inode == info.st_ino;
	if (!known) {
		*added = (struct drv_search_directory){ strdup(len ? path : "."), info.st_dev, info.st_ino };
		list->count += added->path != NULL;
	}
	free(path);
	return known || added->path ? CMN_OK : CMN_ERR_NOMEM;
}

static enum cmn_status add_inside(struct drv_search_directories *list, const char *directory,
				  const char *name)
{
	struct cmn_buffer path = { 0 };

	cmn_buffer_printf(&path, "%s/%s", directory, name);
	return add(list, &path);
}

/*
 * From a directory on, adds those in which ld.so looks on some processors: in glibc-hwcaps, and
 * before glibc 2.37 those with the other names, also below each other.
 */
static enum cmn_status add_variants(struct drv_search_directories *list, size_t from)
{
	const char *const names[] = { "glibc-hwcaps", "tls", "haswell", "xeon_phi", "avx512_1",
				      "atomics", (const char *)getauxval(AT_PLATFORM) };
	bool is_old = strverscmp(gnu_get_libc_version(), "2.37") < 0;
	size_t count = is_old ? sizeof(names) / sizeof(names[0]) : 1;
	enum cmn_status status = CMN_OK;

	for (size_t i = from; status == CMN_OK && i < list->count; i++) {
		const char *path = list->items[i].path, *slash = strrchr(path, '/');
		bool is_hwcaps = slash && strcmp(slash, "/glibc-hwcaps") == 0;
		const struct dirent *entry;
		DIR *directory;

		for (size_t j = 0; status == CMN_OK && j < count; j++) {
			if (names[j])
				status = add_inside(list, path, names[j]);
		}
		directory = is_hwcaps ? opendir(path) : NULL;
		if (is_hwcaps && !directory)
			status = CMN_MISS;
		while (directory && status == CMN_OK && (entry = readdir(directory))) {
			if (entry->d_name[0] != '.')
				status = add_inside(list, path, entry->d_name);
		}
		if (directory)
			(void)closedir(directory);	/* only read from */
	}
	return status;
}

/* How many of the directories are built in; 0: unknown. */
static unsigned int count_built_in(const Dl_serinfo *info)
{
	for (size_t row = 0; row < sizeof(built_in) / sizeof(built_in[0]); row++) {
		unsigned int count = 0, same = 0;

		while (built_in[row][count])
			count++;
		while (count <= info->dls_cnt && same < count &&
		       fnmatch(built_in[row][same], info->dls_serpath[info->dls_cnt - count + same].dls_name,
			       FNM_PATHNAME) == 0)
			same++;
		if (same == count)
			return count;
	}
	return 0;
}

static enum cmn_status add_all(struct drv_search_directories *list, const Dl_serinfo *info)
{
	unsigned int before_cache = info->dls_cnt - count_built_in(info);
	enum cmn_status status = before_cache < info->dls_cnt ? CMN_OK : CMN_MISS;
	struct cmn_buffer path = { 0 };

	for (unsigned int i = 0; status == CMN_OK && i < info->dls_cnt; i++) {
		if (i == before_cache)
			list->before_cache = list->count;
		cmn_buffer_append_text(&path, info->dls_serpath[i].dls_name);
		status = add(list, &path);
	}
	list->ordered = list->count;
	return status == CMN_OK ? add_variants(list, 0) : status;
}

static enum cmn_status read_list(void *handle, struct drv_search_directories *list)
{
	enum cmn_status status = CMN_MISS;
	Dl_serinfo sizes, *info;

	if (dlinfo(handle, RTLD_DI_SERINFOSIZE, &sizes) < 0)
		return CMN_MISS;
	list->items = calloc(MAX_DIRECTORIES, sizeof(list->items[0]));
	info = malloc(sizes.dls_size);
	if (!list->items || !info) {
		free(info);
		return CMN_ERR_NOMEM;
	}
	/* The list wants its own size and count in it. */
	info->dls_size = sizes.dls_size;
	info->dls_cnt = sizes.dls_cnt;
	if (dlinfo(handle, RTLD_DI_SERINFO, info) == 0)
		status = add_all(list, info);
	free(info);
	return status;
}

/* Whether a dynamic section has the tag, with one of the bits if there are any. */
static bool has_tag(const ElfW(Dyn) *entry, int64_t tag, uint64_t bits)
{
	for (; entry && entry->d_tag != DT_NULL; entry++) {
		if (entry->d_tag == tag && (!bits || (entry->d_un.d_val & bits) != 0))
			return true;
	}
	return false;
}

/* Stops at the first object whose run path applies to what it loads, too. */
static int has_inherited_run_path(struct dl_phdr_info *info, size_t size, void *ctx)
{
	(void)size;
	(void)ctx;
	for (unsigned int i = 0; i < info->dlpi_phnum; i++) {
		const void *dynamic = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);

		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC && has_tag(dynamic, DT_RPATH, 0) &&
		    !has_tag(dynamic, DT_RUNPATH, 0))
			return 1;
	}
	return 0;
}

enum cmn_status drv_search_directories_gather(const char *driver,
					      struct drv_search_directories *list)
{
	void *handle = dlopen(driver, RTLD_NOLOAD | RTLD_LAZY);
	enum cmn_status status = CMN_MISS;
	const struct link_map *map;

	if (!handle)
		return CMN_MISS;
	if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 &&
	    !has_tag(map->l_ld, DT_FLAGS_1, DF_1_NODEFLIB)) {
		status = read_list(handle, list);
		list->driver_has_run_path = has_tag(map->l_ld, DT_RUNPATH, 0);
	}
	(void)dlclose(handle);	/* the object stays: somebody else had it open */
	/* A driver with a run path of its own does not show what it inherits. */
	list->incomplete = list->driver_has_run_path &&
			   drv_loaded_iterate(has_inherited_run_path, NULL) != 0;
	return status;
}

enum cmn_status drv_search_directories_add_run_path(struct drv_search_directories *list,
						    const char *run_path, const char *file)
{
	static const char *const tokens[] = { "$ORIGIN", "${ORIGIN}" };
	const char *slash = strrchr(file, '/');
	enum cmn_status status = CMN_OK;
	size_t from = list->count;

	for (const char *end; run_path && status == CMN_OK; run_path = *end ? end + 1 : NULL) {
		const char *rest = run_path;
		struct cmn_buffer path = { 0 };
		size_t len = 0;		/* of the file's directory; the root keeps its slash */

		end = strchrnul(run_path, ':');
		for (size_t i = 0; i < 2; i++) {
			if (strncmp(run_path, tokens[i], strlen(tokens[i])) == 0)
				rest = run_path + strlen(tokens[i]);
		}
		if (rest > run_path) {
			/* Privileged programs heed it in some directories only. */
			if (file[0] != '/' || !strchr("/:", *rest) || getauxval(AT_SECURE))
				return CMN_MISS;
			len = slash == file ? 1 : (size_t)(slash - file);
		}
		/* Other tokens are ld.so's own. */
		if (memchr(rest, '$', (size_t)(end - rest)))
			return CMN_MISS;
		cmn_buffer_append(&path, file, len);
		cmn_buffer_append(&path, rest, (size_t)(end - rest));
		status = add(list, &path);
	}
	return status == CMN_OK ? add_variants(list, from) : status;
}

void drv_search_directories_release(struct drv_search_directories *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i].path);
	free(list->items);
	*list = (struct drv_search_directories){ 0 };
}

/* The walk below is over all entries. ld.so does a binary search, which finds the same in a file that ldconfig wrote. */
#define MAGIC "glibc-ld.so.cache1.1"
#define MAGIC_SIZE (sizeof(MAGIC) - 1)

/* Byte order is the host's: ldconfig writes what this machine reads. */
struct header {
	char magic[MAGIC_SIZE];
	uint32_t count, strings_size;
	uint32_t unused[5];
};

struct entry {
	uint32_t flags;		/* the lowest byte is the kind, the rest the architecture */
	uint32_t name, path;	/* offsets from the header */
	uint32_t oldest_kernel;
	uint64_t capabilities;
};
#define KIND_MASK 0xff
#define KIND_ELF_LIBC6 3

/* NULL: no terminated string lies there. */
static const char *string_at(struct cmn_view cache, uint32_t offset)
{
	const char *text = (const char *)cache.data + offset;

	if (offset >= cache.len || !memchr(text, '\0', cache.len - offset))
		return NULL;
	return text;
}

enum cmn_status drv_linker_cache_next(struct cmn_view cache, const char *name, uint32_t *position,
				      struct drv_linker_cache_entry *ret_entry)
{
	const char *start = cache.len ? memmem(cache.data, cache.len, MAGIC, MAGIC_SIZE) : NULL;
	struct header header;

	if (!start)
		return CMN_MISS;
	/* The older format may come first; offsets count from the new header. */
	cache.len -= (size_t)(start - (const char *)cache.data);
	cache.data = start;
	if (cache.len < sizeof(header))
		return CMN_MISS;
	memcpy(&header, start, sizeof(header));
	while (*position < header.count &&
	       *position < (cache.len - sizeof(header)) / sizeof(struct entry)) {
		struct entry entry;
		const char *found, *path;

		memcpy(&entry, start + sizeof(header) + (size_t)(*position)++ * sizeof(entry),
		       sizeof(entry));
		found = string_at(cache, entry.name);
		path = string_at(cache, entry.path);
		if ((entry.flags & KIND_MASK) != KIND_ELF_LIBC6 || !found || !path ||
		    strcmp(found, name) != 0)
			continue;
		*ret_entry = (struct drv_linker_cache_entry){
			path, entry.capabilities != 0 || strstr(path, "/glibc-hwcaps/") };
		return CMN_OK;
	}
	return CMN_MISS;
}
