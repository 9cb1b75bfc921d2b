/* SPDX-License-Identifier: MIT */
/*
 * owner: which copy of a module has the state of the process. Each layer has a copy of the
 * observer and of the environment, and a process may have several layers, but one compiler. The
 * copies find each other by notes in the objects that have one (ELF, gABI chapter 5): by a type for
 * each module, and as value a version in 8 bytes, and in 8 more the distance from these to what is
 * shared. Of those of one version the copy in the object that was loaded first is the owner: it is
 * relocated, as what was loaded later may not be yet. Other namespaces (dlmopen) are not seen: their
 * drivers and variables are others, too. Objects with such notes are never unloaded.
 */
#ifndef SHARED_DRIVER_OWNER_H
#define SHARED_DRIVER_OWNER_H

#include "layers/shared/driver/loaded.h"

#define DRV_OWNER_NAME "ckcache"
#define DRV_OWNER_OBSERVER 1
#define DRV_OWNER_ENVIRONMENT 2
#define DRV_OWNER_EXIT_TIME 3

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

/* What the nth copy shares, from 0, as they were loaded; NULL: there are no more. Thread-safe. */
void *drv_owner_copy(uint32_t type, size_t n, uint64_t *ret_version);
/* What the owner shares; NULL: there is no copy of that version. */
void *drv_owner_of(uint32_t type, uint64_t version);

#endif
