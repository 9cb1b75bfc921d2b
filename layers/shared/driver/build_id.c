/* SPDX-License-Identifier: MIT */
/* build_id: the walk over notes. */
#include "layers/shared/driver/build_id.h"

#include <link.h>
#include <string.h>

enum cmn_status drv_note_find(struct cmn_view notes, uint64_t alignment, const char *owner,
			      uint32_t type, struct cmn_view *ret)
{
	size_t owner_size = strlen(owner) + 1;	/* a note's name has its terminator */
	/* Sizes that wrap around pad alike: it is a power of two. */
	uint32_t padding = alignment == 8 ? 7 : 3, header_size = sizeof(ElfW(Nhdr));
	struct cmn_reader reader = cmn_reader_of(notes);

	while (reader.left >= sizeof(ElfW(Nhdr)) && !reader.failed) {
		struct cmn_view name, value;
		ElfW(Nhdr) note;

		cmn_reader_copy(&reader, &note, sizeof(note));
		name = cmn_reader_bytes(&reader, note.n_namesz);
		(void)cmn_reader_bytes(&reader, -(header_size + note.n_namesz) & padding);
		value = cmn_reader_bytes(&reader, note.n_descsz);
		if (!reader.failed && note.n_type == type && name.len == owner_size &&
		    memcmp(name.data, owner, owner_size) == 0) {
			*ret = value;
			return CMN_OK;
		}
		(void)cmn_reader_bytes(&reader, -note.n_descsz & padding);
	}
	return CMN_MISS;
}
