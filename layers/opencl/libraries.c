/* SPDX-License-Identifier: MIT */
/* libraries: a walk over loaded ELF objects and their DT_NEEDED entries. */
#include "layers/opencl/libraries.h"

#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#define MAX_OBJECTS 1024	/* more loaded objects than that: the rest is not seen, which only loses sharing */

struct object {
	const char *path;
	const char *name;	/* last part of path */
	ElfW(Addr) base;
	const ElfW(Phdr) *headers;
	unsigned int header_count;
	const char *soname;	/* NULL: none */
	const char *strings;	/* DT_STRTAB */
	const ElfW(Dyn) *dynamic;
	bool chosen;
};

struct objects {
	struct object *items;
	size_t count;
};

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Some architectures leave DT_STRTAB unrelocated in memory. */
static void read_dynamic(struct object *object)
{
	ElfW(Addr) strings = 0;
	ElfW(Xword) soname = 0;
	bool has_soname = false;

	for (const ElfW(Dyn) *entry = object->dynamic; entry && entry->d_tag != DT_NULL; entry++) {
		if (entry->d_tag == DT_STRTAB)
			strings = entry->d_un.d_ptr;
		if (entry->d_tag == DT_SONAME) {
			soname = entry->d_un.d_val;
			has_soname = true;
		}
	}
	if (strings && strings < object->base)
		strings += object->base;
	object->strings = (const char *)strings;
	if (strings && has_soname)
		object->soname = object->strings + soname;
}

static int collect(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct objects *objects = ctx;
	struct object *object = &objects->items[objects->count];

	(void)size;
	if (objects->count == MAX_OBJECTS)
		return 1;
	/* The program itself has no name, and is no part of a driver. */
	if (!info->dlpi_name || !info->dlpi_name[0])
		return 0;
	*object = (struct object){
		.path = info->dlpi_name,
		.name = last_part(info->dlpi_name),
		.base = info->dlpi_addr,
		.headers = info->dlpi_phdr,
		.header_count = info->dlpi_phnum,
	};
	for (unsigned int i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			object->dynamic = (const void *)(info->dlpi_addr +
							 info->dlpi_phdr[i].p_vaddr);
	}
	/* The kernel's own object is no file, and is relocated in its own way. */
	if (info->dlpi_addr == getauxval(AT_SYSINFO_EHDR))
		return 0;
	read_dynamic(object);
	objects->count++;
	return 0;
}

static bool contains(const struct object *object, const void *address)
{
	ElfW(Addr) at = (ElfW(Addr))address;

	for (unsigned int i = 0; i < object->header_count; i++) {
		const ElfW(Phdr) *header = &object->headers[i];

		if (header->p_type == PT_LOAD && at >= object->base + header->p_vaddr &&
		    at < object->base + header->p_vaddr + header->p_memsz)
			return true;
	}
	return false;
}

static struct object *find_needed(struct objects *objects, const char *name)
{
	for (size_t i = 0; i < objects->count; i++) {
		struct object *object = &objects->items[i];

		if (strcmp(object->soname ? object->soname : object->name, name) == 0)
			return object;
	}
	return NULL;
}

/* Chooses what the chosen ones need, until nothing is added. */
static void choose_needed(struct objects *objects)
{
	bool added;

	do {
		added = false;
		for (size_t i = 0; i < objects->count; i++) {
			const struct object *object = &objects->items[i];

			if (!object->chosen || !object->strings)
				continue;
			for (const ElfW(Dyn) *entry = object->dynamic; entry->d_tag != DT_NULL;
			     entry++) {
				struct object *needed;

				if (entry->d_tag != DT_NEEDED)
					continue;
				needed = find_needed(objects, object->strings + entry->d_un.d_val);
				if (needed && !needed->chosen) {
					needed->chosen = true;
					added = true;
				}
			}
		}
	} while (added);
}

static void choose_compilers(struct objects *objects, const struct ocl_driver *driver)
{
	for (size_t i = 0; i < objects->count; i++) {
		for (size_t j = 0; j < OCL_DRIVER_LISTS && driver->compilers[j]; j++) {
			if (strncmp(objects->items[i].name, driver->compilers[j],
				    strlen(driver->compilers[j])) == 0)
				objects->items[i].chosen = true;
		}
	}
}

/* The build-id note's bytes; empty where the linker left none. */
static struct cmn_view build_id_of(const struct object *object)
{
	for (unsigned int i = 0; i < object->header_count; i++) {
		const ElfW(Phdr) *header = &object->headers[i];
		uint32_t padding = header->p_align == 8 ? 7 : 3;
		struct cmn_reader notes;

		if (header->p_type != PT_NOTE)
			continue;
		notes = cmn_reader_of((struct cmn_view){
			(const void *)(object->base + header->p_vaddr), header->p_memsz });
		while (notes.left >= sizeof(ElfW(Nhdr)) && !notes.failed) {
			const ElfW(Nhdr) *note = cmn_reader_bytes(&notes, sizeof(*note)).data;
			struct cmn_view name = cmn_reader_bytes(&notes, note->n_namesz);
			struct cmn_view value;

			(void)cmn_reader_bytes(&notes, -note->n_namesz & padding);	/* padding */
			value = cmn_reader_bytes(&notes, note->n_descsz);
			if (!notes.failed && note->n_type == NT_GNU_BUILD_ID && name.len == 4 &&
			    memcmp(name.data, "GNU", 4) == 0)
				return value;
			(void)cmn_reader_bytes(&notes, -note->n_descsz & padding);
		}
	}
	return (struct cmn_view){ 0 };
}

static void add_object(const struct object *object, struct cc_key *key)
{
	struct cmn_view build_id = build_id_of(object);
	struct cmn_buffer text = { 0 };
	struct cmn_buffer name = { 0 };
	struct stat info;
	char *field;

	cmn_buffer_printf(&name, "library.%.200s", object->name);
	for (size_t i = 0; i < build_id.len; i++)
		cmn_buffer_printf(&text, "%02x", ((const uint8_t *)build_id.data)[i]);
	if (!build_id.len) {
		cmn_buffer_append_text(&text, object->path);
		if (stat(object->path, &info) == 0)
			cmn_buffer_printf(&text, " %lld %lld.%09ld", (long long)info.st_size,
					  (long long)info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
	}
	field = cmn_buffer_take_string(&name);
	if (field && !text.failed)
		cc_key_add(key, CC_PART_DEVICE, field, text.data, text.len);
	else
		key->encoded.failed = true;
	free(field);
	cmn_buffer_release(&text);
}

static int compare_names(const void *a, const void *b)
{
	const struct object *left = a, *right = b;
	int order = strcmp(left->name, right->name);

	return order ? order : strcmp(left->path, right->path);
}

struct identification {
	const void *address;
	struct cc_key *key;
	const struct ocl_driver *driver;	/* NULL: not found */
	bool no_memory;
};

/*
 * Runs inside the loader's lock, which glibc lets one thread take again:
 * another thread cannot unload what is being looked at.
 */
static int identify(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct identification *wanted = ctx;
	struct objects objects = { calloc(MAX_OBJECTS, sizeof(struct object)), 0 };

	(void)info;
	(void)size;
	wanted->no_memory = !objects.items;
	if (!objects.items)
		return 1;
	(void)dl_iterate_phdr(collect, &objects);	/* gives what collect gave */
	for (size_t i = 0; i < objects.count && !wanted->driver; i++) {
		if (contains(&objects.items[i], wanted->address)) {
			objects.items[i].chosen = true;
			wanted->driver = ocl_driver_of(objects.items[i].name);
			cc_key_add_text(wanted->key, CC_PART_DEVICE, "driver.path",
					objects.items[i].path);
		}
	}
	if (wanted->driver) {
		choose_compilers(&objects, wanted->driver);
		choose_needed(&objects);
		qsort(objects.items, objects.count, sizeof(objects.items[0]), compare_names);
		for (size_t i = 0; i < objects.count; i++) {
			if (objects.items[i].chosen)
				add_object(&objects.items[i], wanted->key);
		}
	}
	free(objects.items);
	return 1;
}

enum cmn_status ocl_libraries_identify(const void *address, struct cc_key *key,
				       const struct ocl_driver **ret_driver)
{
	struct identification wanted = { .address = address, .key = key };

	(void)dl_iterate_phdr(identify, &wanted);	/* stops at the first object */
	if (wanted.no_memory)
		return CMN_ERR_NOMEM;
	if (!wanted.driver)
		return CMN_MISS;
	*ret_driver = wanted.driver;
	return CMN_OK;
}

static int read_epoch(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct ocl_library_epoch *epoch = ctx;

	(void)size;
	epoch->loaded = info->dlpi_adds;
	epoch->unloaded = info->dlpi_subs;
	return 1;
}

struct ocl_library_epoch ocl_libraries_epoch(void)
{
	struct ocl_library_epoch epoch = { 0 };

	(void)dl_iterate_phdr(read_epoch, &epoch);
	return epoch;
}
