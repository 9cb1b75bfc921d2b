/* SPDX-License-Identifier: MIT */
/*
 * linker_search: dlinfo gives one list, without saying what comes from where;
 * the built-in directories are known by their names at its end, and the rest
 * by asking for an object that has no run path.
 */
#include "layers/shared/driver/linker_search.h"

#include <gnu/lib-names.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

/* What distributions build glibc with, the longer first. Debian's are told by their pattern. */
static const char *const built_in[][2] = {
	{ "/lib64", "/usr/lib64" },
	{ "/lib", "/usr/lib" },
	{ "/usr/lib64", NULL },
	{ "/usr/lib", NULL },
};
#define BUILT_IN_COUNT (sizeof(built_in) / sizeof(built_in[0]))

/* The i-th of the last count directories. */
static const char *from_end(const struct drv_linker_list *list, unsigned int count, unsigned int i)
{
	return list->info->dls_serpath[list->count - count + i].dls_name;
}

static bool ends_with(const struct drv_linker_list *list, const char *const names[2],
		      unsigned int count)
{
	if (list->count < count)
		return false;
	for (unsigned int i = 0; i < count; i++) {
		if (strcmp(from_end(list, count, i), names[i]) != 0)
			return false;
	}
	return true;
}

/* /lib/X /usr/lib/X /lib /usr/lib */
static bool ends_with_multiarch(const struct drv_linker_list *list)
{
	const char *first, *second;

	if (list->count < 4 || !ends_with(list, built_in[1], 2))
		return false;
	first = from_end(list, 4, 0);
	second = from_end(list, 4, 1);
	return strncmp(first, "/lib/", 5) == 0 && strncmp(second, "/usr", 4) == 0 &&
	       strcmp(first, second + 4) == 0;
}

static unsigned int count_built_in(const struct drv_linker_list *list)
{
	if (ends_with_multiarch(list))
		return 4;
	for (size_t i = 0; i < BUILT_IN_COUNT; i++) {
		unsigned int count = built_in[i][1] ? 2 : 1;

		if (ends_with(list, built_in[i], count))
			return count;
	}
	return 0;
}

static enum cmn_status read_list(void *handle, struct drv_linker_list *ret_list)
{
	struct drv_linker_list list = { 0 };
	enum cmn_status status = CMN_MISS;
	Dl_serinfo sizes;

	if (dlinfo(handle, RTLD_DI_SERINFOSIZE, &sizes) < 0)
		return CMN_MISS;
	list.info = malloc(sizes.dls_size);
	if (!list.info)
		return CMN_ERR_NOMEM;
	/* The list wants its own size and count in it. */
	list.info->dls_size = sizes.dls_size;
	list.info->dls_cnt = sizes.dls_cnt;
	if (dlinfo(handle, RTLD_DI_SERINFO, list.info) == 0) {
		unsigned int tail;

		list.count = list.info->dls_cnt;
		tail = count_built_in(&list);
		list.before = list.count - tail;
		status = tail ? CMN_OK : CMN_MISS;
	}
	if (status == CMN_OK)
		*ret_list = list;
	else
		free(list.info);
	return status;
}

struct tags {
	bool run_path, run_path_old, no_built_in;
};

static struct tags tags_of(const ElfW(Dyn) *entry)
{
	struct tags tags = { 0 };

	for (; entry && entry->d_tag != DT_NULL; entry++) {
		if (entry->d_tag == DT_RUNPATH)
			tags.run_path = true;
		if (entry->d_tag == DT_RPATH)
			tags.run_path_old = true;
		if (entry->d_tag == DT_FLAGS_1 && (entry->d_un.d_val & DF_1_NODEFLIB) != 0)
			tags.no_built_in = true;
	}
	/* As ld.so has it. */
	if (tags.run_path)
		tags.run_path_old = false;
	return tags;
}

/* Stops at the first object whose run path is inherited. */
static int has_run_path_old(struct dl_phdr_info *info, size_t size, void *ctx)
{
	(void)size;
	(void)ctx;
	for (unsigned int i = 0; i < info->dlpi_phnum; i++) {
		const void *dynamic = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);

		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC && tags_of(dynamic).run_path_old)
			return 1;
	}
	return 0;
}

/* The list of a loaded object and its tags. */
static enum cmn_status read_object(const char *path, struct drv_linker_list *ret_list,
				   struct tags *ret_tags)
{
	void *handle = dlopen(path, RTLD_NOLOAD | RTLD_LAZY);
	enum cmn_status status = CMN_MISS;
	struct link_map *map;

	if (!handle)
		return CMN_MISS;
	if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0) {
		*ret_tags = tags_of(map->l_ld);
		status = read_list(handle, ret_list);
	}
	(void)dlclose(handle);	/* the object stays: somebody else had it open */
	return status;
}

enum cmn_status drv_linker_search_gather(const char *asker, struct drv_linker_search *ret_places)
{
	struct drv_linker_search places = { 0 };
	struct tags tags = { 0 };
	enum cmn_status status;

	status = read_object(asker, &places.asker, &tags);
	places.asker_has_run_path = tags.run_path;
	if (status == CMN_OK && tags.no_built_in)
		status = CMN_MISS;
	places.inherits = dl_iterate_phdr(has_run_path_old, NULL) != 0;
	if (status == CMN_OK && !places.inherits) {
		status = read_object(LIBC_SO, &places.variable, &tags);
		if (status == CMN_OK && (tags.run_path || tags.no_built_in))
			status = CMN_MISS;
	}
	if (status == CMN_OK)
		*ret_places = places;
	else
		drv_linker_search_release(&places);
	return status;
}

void drv_linker_search_release(struct drv_linker_search *places)
{
	free(places->asker.info);
	free(places->variable.info);
	*places = (struct drv_linker_search){ 0 };
}
