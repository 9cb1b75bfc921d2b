/* SPDX-License-Identifier: MIT */
/*
 * loaded: the shared objects that this process has loaded, as glibc's dl_iterate_phdr lists them:
 * their names, build-ids, and what each needs.
 * Linux, ELF (gABI chapter 5).
 */
#ifndef SHARED_DRIVER_LOADED_H
#define SHARED_DRIVER_LOADED_H

#include <link.h>
#include <stdbool.h>

#include "common/bytes.h"

#define DRV_LOADED_MAX 1024	/* further objects are not seen, which only loses sharing */

/* Valid as long as its list is. */
struct drv_loaded {
	const char *path;
	const char *name;	/* last part of path */
	ElfW(Addr) base;
	const ElfW(Phdr) *headers;
	unsigned int header_count;
	const char *soname;	/* NULL: none */
	const char *strings;	/* DT_STRTAB */
	const ElfW(Dyn) *dynamic;
	struct cmn_view build_id;	/* empty: the linker left none */
	bool chosen;		/* for the visitor's use; false at first */
	bool looked_through;	/* drv_loaded_choose_needed's */
};

/* In load order, with room for DRV_LOADED_MAX. */
struct drv_loaded_list {
	struct drv_loaded program;	/* itself, which has no name and is none of the items */
	struct drv_loaded *items;
	size_t count;
};

/*
 * dl_iterate_phdr, for all calls in this library that are not made inside such a call: it holds a lock
 * that glibc leaves locked in the child when another thread forks meanwhile, which then waits for ever
 * in dlopen. The fork waits instead, in drv_loaded_fork_prepare. callback must not open libraries, nor fork.
 * Thread-safe.
 */
int drv_loaded_iterate(int (*callback)(struct dl_phdr_info *info, size_t size, void *ctx), void *ctx);
/* For pthread_atfork: prepare waits for half a second at most. */
void drv_loaded_fork_prepare(void);
void drv_loaded_fork_parent(void);
void drv_loaded_fork_child(void);

/*
 * Calls visit once, while holding the dynamic linker's lock: visit must not open libraries. false:
 * out of memory, visit was not called. Thread-safe; about 10 µs.
 */
bool drv_loaded_visit(void (*visit)(void *ctx, struct drv_loaded_list *objects), void *ctx);

/* The value of the object's note of that name and type; empty: it has none. */
struct cmn_view drv_loaded_note(const struct drv_loaded *object, const char *owner, uint32_t type);
/* Where an address of the dynamic section is: some architectures leave them there as the file has them. */
static inline const void *drv_loaded_at(const struct drv_loaded *object, ElfW(Addr) address)
{
	return (const void *)(address < object->base ? address + object->base : address);
}
/* Whether the address is in one of the object's segments. */
bool drv_loaded_contains(const struct drv_loaded *object, const void *address);
/* The same for an object in a dl_iterate_phdr callback, which may be the program itself. */
bool drv_loaded_holds(const struct dl_phdr_info *info, const void *address);
/* The object that a DT_NEEDED entry of that name refers to, by soname or else by file name; NULL: none. */
struct drv_loaded *drv_loaded_find(struct drv_loaded_list *objects, const char *name);
/* Chooses also what the chosen objects need, the program among them, transitively. */
void drv_loaded_choose_needed(struct drv_loaded_list *objects);

#endif
