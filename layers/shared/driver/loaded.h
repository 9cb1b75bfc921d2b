/* SPDX-License-Identifier: MIT */
/*
 * loaded: the shared objects that this process has loaded, as glibc's
 * dl_iterate_phdr shows them: their names, build-ids, and what each needs.
 * Linux, ELF (gABI chapter 5).
 */
#ifndef SHARED_DRIVER_LOADED_H
#define SHARED_DRIVER_LOADED_H

#include <link.h>
#include <stdbool.h>

#include "common/bytes.h"

#define DRV_LOADED_MAX 1024	/* more objects than that: the rest is not seen, which only loses sharing */

/* Valid as long as its list. */
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
	bool chosen;		/* the visitor's; false at first */
};

/* In the order in which they were loaded; with room for DRV_LOADED_MAX. */
struct drv_loaded_list {
	struct drv_loaded *items;
	size_t count;
};

/*
 * Calls visit once, inside the dynamic linker's lock: it must not open
 * libraries. false: out of memory, it was not called. Thread-safe; about 10 µs.
 */
bool drv_loaded_visit(void (*visit)(void *ctx, struct drv_loaded_list *objects), void *ctx);

/* The value of its note by that name and type; empty: it has none. */
struct cmn_view drv_loaded_note(const struct drv_loaded *object, const char *owner, uint32_t type);
bool drv_loaded_contains(const struct drv_loaded *object, const void *address);
/* The same of what dl_iterate_phdr shows, the program itself among it. */
bool drv_loaded_holds(const struct dl_phdr_info *info, const void *address);
/* The object that a DT_NEEDED entry of that name means, by its soname or else by its file's name; NULL: none. */
struct drv_loaded *drv_loaded_find(struct drv_loaded_list *objects, const char *name);
/* Chooses what the chosen ones need, transitively. */
void drv_loaded_choose_needed(struct drv_loaded_list *objects);

#endif
