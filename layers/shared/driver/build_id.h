/* SPDX-License-Identifier: MIT */
/*
 * build_id: the GNU build-id among the notes of a segment, whether they stand
 * in memory or were read from a file, so that an object is named alike before
 * and after it is loaded. Linux, ELF (gABI chapter 5, "Note Section").
 */
#ifndef SHARED_DRIVER_BUILD_ID_H
#define SHARED_DRIVER_BUILD_ID_H

#include "common/bytes.h"

/*
 * notes: a PT_NOTE segment's bytes, at any address; alignment: its p_align. As
 * linkers have it, a note's value and the next note begin at multiples of 8 from
 * the segment's start where that is 8, of 4 otherwise. No size in them is trusted.
 * CMN_OK: *ret_id, borrowed from notes, is the first build-id, which may be empty.
 * CMN_MISS: there is none before the end, or before the first note that is cut
 * short. Thread-safe.
 */
CMN_CHECKED enum cmn_status drv_build_id_find(struct cmn_view notes, uint64_t alignment,
					      struct cmn_view *ret_id);
/* The same of any note, by its name and type. */
CMN_CHECKED enum cmn_status drv_note_find(struct cmn_view notes, uint64_t alignment,
					  const char *owner, uint32_t type, struct cmn_view *ret);

#endif
