/* SPDX-License-Identifier: MIT */
/* loaded: dl_iterate_phdr, DT_NEEDED, notes. */
#include "layers/shared/driver/loaded.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>

#include "common/clock.h"
#include "layers/shared/driver/elf_file.h"

/* For others' looks, some of which take a millisecond, on a busy machine more; a look's, a fork's. */
#define PATIENCE_NS UINT64_C(50000000)
#define FORK_PATIENCE_NS UINT64_C(500000000)
#define FIRST_PAUSE_NS 20000

static void read_dynamic(struct drv_loaded *object)
{
	ElfW(Xword) soname = 0;
	bool has_soname = false;

	for (const ElfW(Dyn) *entry = object->dynamic; entry && entry->d_tag != DT_NULL; entry++) {
		if (entry->d_tag == DT_STRTAB)
			object->strings = drv_loaded_at(object, entry->d_un.d_ptr);
		if (entry->d_tag == DT_SONAME) {
			soname = entry->d_un.d_val;
			has_soname = true;
		}
	}
	if (object->strings && has_soname)
		object->soname = object->strings + soname;
}

/* The first one counts, even an empty one, as in elf_file; empty where there is none. */
struct cmn_view drv_loaded_note(const struct drv_loaded *object, const char *owner, uint32_t type)
{
	struct cmn_view value = { 0 };

	for (unsigned int i = 0; i < object->header_count; i++) {
		const ElfW(Phdr) *header = &object->headers[i];
		const void *notes = (const void *)(object->base + header->p_vaddr);

		if (header->p_type == PT_NOTE &&
		    drv_note_find((struct cmn_view){ notes, header->p_memsz }, header->p_align,
				  owner, type, &value) == CMN_OK)
			break;
	}
	return value;
}

static int collect(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct drv_loaded_list *objects = ctx;
	bool is_program = !info->dlpi_name || !info->dlpi_name[0];
	struct drv_loaded *object = is_program ? &objects->program : &objects->items[objects->count];

	(void)size;
	if (objects->count == DRV_LOADED_MAX)
		return 1;
	*object = (struct drv_loaded){
		.path = info->dlpi_name,
		.name = is_program ? "" : basename(info->dlpi_name),
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
	if (!is_program) {
		object->build_id = drv_loaded_note(object, "GNU", NT_GNU_BUILD_ID);
		objects->count++;
	}
	return 0;
}

static bool in_segments(ElfW(Addr) base, const ElfW(Phdr) *headers, size_t count, const void *address)
{
	ElfW(Addr) at = (ElfW(Addr))address;

	for (size_t i = 0; i < count; i++) {
		ElfW(Addr) start = base + headers[i].p_vaddr;

		if (headers[i].p_type == PT_LOAD && at >= start && at - start < headers[i].p_memsz)
			return true;
	}
	return false;
}

bool drv_loaded_contains(const struct drv_loaded *object, const void *address)
{
	return in_segments(object->base, object->headers, object->header_count, address);
}

bool drv_loaded_holds(const struct dl_phdr_info *info, const void *address)
{
	return in_segments(info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum, address);
}

struct drv_loaded *drv_loaded_find(struct drv_loaded_list *objects, const char *name)
{
	struct drv_loaded *by_file_name = NULL;

	for (size_t i = 0; i < objects->count; i++) {
		struct drv_loaded *object = &objects->items[i];

		if (object->soname && strcmp(object->soname, name) == 0)
			return object;
		if (!by_file_name && strcmp(object->name, name) == 0)
			by_file_name = object;
	}
	return by_file_name;
}

/* Whether that added one. Each is looked through once. */
static bool choose_needed_by(struct drv_loaded_list *objects, struct drv_loaded *object)
{
	bool looks = object->chosen && object->strings && !object->looked_through, added = false;
	const ElfW(Dyn) *entry = looks ? object->dynamic : NULL;

	object->looked_through = object->chosen;
	for (; entry && entry->d_tag != DT_NULL; entry++) {
		struct drv_loaded *needed = entry->d_tag == DT_NEEDED ?
			drv_loaded_find(objects, object->strings + entry->d_un.d_val) : NULL;

		if (needed && !needed->chosen)
			needed->chosen = added = true;
	}
	return added;
}

void drv_loaded_choose_needed(struct drv_loaded_list *objects)
{
	bool added;

	objects->program.looked_through = false;
	for (size_t i = 0; i < objects->count; i++)
		objects->items[i].looked_through = false;
	do {
		added = choose_needed_by(objects, &objects->program);
		for (size_t i = 0; i < objects->count; i++)
			added = choose_needed_by(objects, &objects->items[i]) || added;
	} while (added);
}

/*
 * Taken for a look, and by a fork. Neither waits for long: a driver's fork handler may wait for a thread
 * that is about to look, and a look may read files.
 */
static atomic_flag looking = ATOMIC_FLAG_INIT;
static _Atomic(pthread_t) forker;	/* who took it for a fork; 0: nobody */
static atomic_uint forks;		/* that want it: they go first */

static bool take_look(bool for_fork)
{
	struct timespec pause = { 0, FIRST_PAUSE_NS };
	uint64_t until = 0;

	while ((!for_fork && atomic_load(&forks)) || atomic_flag_test_and_set(&looking)) {
		until = until ? until : cmn_clock_deadline(for_fork ? FORK_PATIENCE_NS : PATIENCE_NS);
		if (cmn_clock_monotonic() >= until)
			return false;
		(void)nanosleep(&pause, NULL);	/* a signal only makes it shorter */
		pause.tv_nsec += pause.tv_nsec / 2;
	}
	return true;
}

void drv_loaded_fork_prepare(void)
{
	atomic_fetch_add(&forks, 1);
	if (take_look(true))
		atomic_store(&forker, pthread_self());
	atomic_fetch_sub(&forks, 1);
}

void drv_loaded_fork_parent(void)
{
	if (atomic_load(&forker) != pthread_self())
		return;
	atomic_store(&forker, 0);
	atomic_flag_clear(&looking);
}

/* Whoever had it, is not here. */
void drv_loaded_fork_child(void)
{
	atomic_store(&forker, 0);
	atomic_store(&forks, 0);
	atomic_flag_clear(&looking);
}

int drv_loaded_iterate(int (*callback)(struct dl_phdr_info *info, size_t size, void *ctx), void *ctx)
{
	bool taken = take_look(false);
	int result = dl_iterate_phdr(callback, ctx);

	if (taken)
		atomic_flag_clear(&looking);
	return result;
}

struct visit {
	void (*visit)(void *ctx, struct drv_loaded_list *objects);
	void *ctx;
	bool no_memory;
};

/*
 * Inside the loader's lock, which glibc lets one thread take again: another
 * thread cannot unload what is being looked at.
 */
static int visit_all(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct drv_loaded_list objects = { .items = malloc(DRV_LOADED_MAX * sizeof(*objects.items)) };	/* few are used */
	struct visit *visit = ctx;

	(void)info;
	(void)size;
	visit->no_memory = !objects.items;
	if (!objects.items)
		return 1;
	(void)dl_iterate_phdr(collect, &objects);	/* gives what collect gave */
	visit->visit(visit->ctx, &objects);
	free(objects.items);
	return 1;
}

bool drv_loaded_visit(void (*visit)(void *ctx, struct drv_loaded_list *objects), void *ctx)
{
	struct visit all = { .visit = visit, .ctx = ctx };

	(void)drv_loaded_iterate(visit_all, &all);	/* stops at the first object */
	return !all.no_memory;
}
