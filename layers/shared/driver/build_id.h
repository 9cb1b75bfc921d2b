/* SPDX-License-Identifier: MIT */
/*
 * build_id: a note, such as the GNU build-id, among the notes of a segment, in memory or read from a
 * file, so that an object has the same name before and after it is loaded. Linux, ELF (gABI chapter 5,
 * "Note Section").
 */
#ifndef SHARED_DRIVER_BUILD_ID_H
#define SHARED_DRIVER_BUILD_ID_H

#include "common/bytes.h"

/*
 * notes: a PT_NOTE segment's bytes, at any address; alignment: its p_align. As linkers do it, a
 * note's value and the next note begin at multiples of 8 from the segment's start if that is 8, else
 * of 4. No size in the notes is trusted.
 * CMN_OK: *ret, borrowed from notes, is the value of the first note of that owner and type, which may
 * be empty. CMN_MISS: there is none before the end, or before the first truncated note. Thread-safe.
 */
CMN_CHECKED enum cmn_status drv_note_find(struct cmn_view notes, uint64_t alignment,
					  const char *owner, uint32_t type, struct cmn_view *ret);

#endif
