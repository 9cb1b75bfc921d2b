/* SPDX-License-Identifier: MIT */
/* entry_label: what an entry is called where people read of it. */
#ifndef TOOLS_ENTRIES_ENTRY_LABEL_H
#define TOOLS_ENTRIES_ENTRY_LABEL_H

#include "common/bytes.h"

/*
 * Appends the first kernels of a key's image, with ", " between, and "…" where there are more than
 * those (if they are several); a link is called by the number of its inputs; what has no kernel by the first line that says
 * something, what is no text by its hash. Of a key that has none of these, nothing is appended. Text
 * may be any bytes of the key's. first: comes before a kernel's name, as "kernel ".
 */
void entry_label_append(struct cmn_buffer *text, struct cmn_view key, const char *first,
			unsigned int kernels);

#endif
