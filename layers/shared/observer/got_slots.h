/* SPDX-License-Identifier: MIT */
/*
 * got_slots: the words through which a loaded object calls functions of others
 * (its global offset table, and pointers in its data), and other functions put
 * in them. An object's code is not touched, nor what it looks up by itself.
 *
 * A slot is changed only where it leads to the C library's function or to the one that
 * this library would call, or has not been bound yet; whoever else stands there
 * is left there. What is put in stays for as long as the object is loaded: no
 * object is unloaded with calls to what is not there any more, since whoever
 * puts functions in is never unloaded. A word is written at once, so that
 * threads that call meanwhile get the one or the other.
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
	void *stand_in;
	void *genuine;		/* what this library calls by that name; NULL: nothing can be linked with it */
};

/* Whether slots are known on this architecture. */
bool drv_slots_known(void);

/*
 * Leads the object's calls of the functions to their stand-ins; again does no
 * harm. To be called where no other thread can unload the object (in
 * dl_iterate_phdr). c_library: the loaded libc.
 * CMN_MISS: some calls go elsewhere, or cannot be led, or another thread is
 * still loading the object, which a later try shows. Takes up to a millisecond
 * for a library of 100 MB.
 */
CMN_CHECKED enum cmn_status drv_slots_lead(const struct drv_loaded *object,
					   const struct drv_loaded *c_library,
					   const struct drv_slot_function *functions,
					   size_t count);

#endif
