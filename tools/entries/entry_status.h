/* SPDX-License-Identifier: MIT */
/* entry_status: what is wrong with an entry, for people; of one that is not trusted, why. */
#ifndef TOOLS_ENTRIES_ENTRY_STATUS_H
#define TOOLS_ENTRIES_ENTRY_STATUS_H

#include <stdbool.h>

#include "cachecore/disk/store.h"

/*
 * Of the status that a walk or cc_store_judge gave. *ret_unsafe: its bytes may be what was written,
 * but another user may have written them. Static.
 */
const char *entry_status_text(struct cc_store *store, const struct cc_store_place *place,
			      enum cmn_status status, bool *ret_unsafe);

#endif
