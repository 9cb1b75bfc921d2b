/* SPDX-License-Identifier: MIT */
/*
 * owner: which copy of a module holds the state of the process. Each layer contains a copy of the
 * observer and of the environment, and a process may have several layers but only one compiler. The
 * copies find each other by notes in their objects (ELF, gABI chapter 5). A note's type is the
 * module; its value is a version in 8 bytes, then in 8 more the distance from these to the shared
 * state. Of the copies of one version, the one whose object was loaded first is the owner: that
 * object is relocated, as objects that were loaded later may not be yet. Other namespaces (dlmopen)
 * are not searched, since they have their own drivers and variables. Objects with such notes are
 * never unloaded.
 */
#ifndef SHARED_DRIVER_OWNER_H
#define SHARED_DRIVER_OWNER_H

#include "layers/shared/driver/loaded.h"

#define DRV_OWNER_NAME "ckcache"
#define DRV_OWNER_OBSERVER 1
#define DRV_OWNER_ENVIRONMENT 2

#define DRV_OWNER_TEXT_OF(number) #number
#define DRV_OWNER_TEXT(number) DRV_OWNER_TEXT_OF(number)

/* Sizes of name and value, type; name; value. shared: a global symbol. */
#define DRV_OWNER_NOTE(type, version, shared) \
	__asm__(".pushsection .note.ckcache, \"a\", %note\n" \
		".balign 4\n" \
		".long 8, 16, " DRV_OWNER_TEXT(type) "\n" \
		".asciz \"" DRV_OWNER_NAME "\"\n" \
		".quad " DRV_OWNER_TEXT(version) "\n" \
		".quad " #shared " - .\n" \
		".popsection\n")

/* The shared state of the nth copy, from 0, in load order; NULL: there are no more. Thread-safe. */
void *drv_owner_copy(uint32_t type, size_t n, uint64_t *ret_version);
/* The owner's shared state; NULL: there is no copy of that version. */
void *drv_owner_of(uint32_t type, uint64_t version);

#endif
