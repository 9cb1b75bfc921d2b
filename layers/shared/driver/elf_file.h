/* SPDX-License-Identifier: MIT */
/*
 * elf_file: what an ELF shared object says about itself, read from its file without loading it:
 * which libraries it needs, its run path, and its GNU build-id. Nothing is mapped, so that a file
 * that is truncated while it is read cannot kill the process, and no count or offset in it is trusted.
 * Linux, ELF (gABI chapters 4 and 5). Thread-safe; about 5 µs a file.
 */
#ifndef SHARED_DRIVER_ELF_FILE_H
#define SHARED_DRIVER_ELF_FILE_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/bytes.h"
#include "common/status.h"

/* {0} is a valid empty one. */
struct drv_elf_file {
	dev_t device;			/* with inode: two paths of one file */
	ino_t inode;
	struct cmn_buffer build_id;	/* empty: none */
	struct cmn_buffer needed;	/* DT_NEEDED in their order, each with its terminator */
	char *run_path;			/* DT_RUNPATH, else DT_RPATH, as ld.so has it; NULL: none */
	/* It changes how libraries are looked for: DF_1_NODEFLIB, filters, auditors. */
	bool unusual;
};

/*
 * CMN_MISS: ld.so would pass over this path: it is not there or not readable,
 * or is of another class or machine than this library. CMN_ERR_CORRUPT: no
 * shared object, cut short, or its parts do not fit together.
 * CMN_ERR_TOO_LARGE: over this reader's bounds, which no real library nears.
 * CMN_ERR_ACCESS: not a regular file. CMN_ERR_IO, CMN_ERR_NOMEM.
 * *ret_file is the caller's to release; untouched on failure.
 */
CMN_CHECKED enum cmn_status drv_elf_file_read(const char *path, struct drv_elf_file *ret_file);
void drv_elf_file_release(struct drv_elf_file *file);	/* leaves {0} */

/*
 * A note, such as the GNU build-id, among the notes of a segment, in memory or read from a file, so that an
 * object has the same name before and after it is loaded (gABI chapter 5, "Note Section").
 * notes: a PT_NOTE segment's bytes, at any address; alignment: its p_align. As linkers do it, a
 * note's value and the next note begin at multiples of 8 from the segment's start if that is 8, else
 * of 4. No size in the notes is trusted.
 * CMN_OK: *ret, borrowed from notes, is the value of the first note of that owner and type, which may
 * be empty. CMN_MISS: there is none before the end, or before the first truncated note. Thread-safe.
 */
CMN_CHECKED enum cmn_status drv_note_find(struct cmn_view notes, uint64_t alignment,
					  const char *owner, uint32_t type, struct cmn_view *ret);

#endif
