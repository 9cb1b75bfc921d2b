/* SPDX-License-Identifier: MIT */
/*
 * got_slots: the slots through which a loaded object calls functions of others (its global offset
 * table, and pointers in its data), and how a hook is put in them. An object's code is not touched,
 * nor what it looks up by itself.
 *
 * A slot is changed only where it holds the C library's function or the one that this library would
 * call, or has not been bound yet; any other value stays. A hook stays for as long as the object is
 * loaded, so whoever puts hooks in must never be unloaded. A slot is written at once: threads that
 * call meanwhile get the function or the hook.
 *
 * Linux, ELF (gABI chapter 5; the supplements for x86-64 and aarch64).
 */
#ifndef SHARED_OBSERVER_GOT_SLOTS_H
#define SHARED_OBSERVER_GOT_SLOTS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/status.h"
#include "layers/shared/driver/loaded.h"

struct drv_slot_function {
	const char *name;
	void *hook;
	void *genuine;		/* what this library calls by that name; NULL: nothing can be linked with it */
};

/* Whether slots are known on this architecture. */
bool drv_slots_known(void);

/*
 * Makes the object's calls of the functions go to their hooks; doing so again is harmless. Must be
 * called where no other thread can unload the object (in dl_iterate_phdr). c_library: the loaded libc.
 * CMN_BUSY: now they do, but a thread that had called one before, for the first time, may yet put the
 * function back, which a later try shows.
 * CMN_MISS: some calls go elsewhere, or cannot be hooked, or another thread is still loading the
 * object, which a later try shows. Takes up to a millisecond for a library of 100 MB.
 */
CMN_CHECKED enum cmn_status drv_slots_hook(const struct drv_loaded *object,
					   const struct drv_loaded *c_library,
					   const struct drv_slot_function *functions,
					   size_t count);

/* The functions of libc by which a program looks for files, each with its hook. (libc_hooks.c) */
const struct drv_slot_function *drv_libc_hooks(size_t *ret_count);

#endif
