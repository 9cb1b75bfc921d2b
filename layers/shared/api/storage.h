/* SPDX-License-Identifier: MIT */
/*
 * storage: calls an application's own storage (struct ckcache_storage) as its
 * contract says, and trusts nothing that it returns. Thread-safe.
 */
#ifndef SHARED_API_STORAGE_H
#define SHARED_API_STORAGE_H

#include <stdbool.h>

#include "layers/shared/api/desc.h"

/* Whether the structure is one; NULL is (the machine's cache). */
bool api_storage_is_valid(const struct ckcache_storage *storage);

/*
 * CMN_OK: *ret, an empty buffer before, has the description's blob, from a batch that was loaded before
 * or from the storage now. CMN_MISS: there is none; one that is unusable was evicted.
 */
CMN_CHECKED enum cmn_status api_storage_load(const struct ckcache_storage *storage,
					     struct ckcache_desc *desc, struct cmn_buffer *ret);
/* Both forget what a batch gave. CMN_OK; else the storage would not, or said that it could not. */
CMN_CHECKED enum cmn_status api_storage_store(const struct ckcache_storage *storage,
					      struct ckcache_desc *desc, struct cmn_view blob);
CMN_CHECKED enum cmn_status api_storage_evict(const struct ckcache_storage *storage,
					      struct ckcache_desc *desc);
/* Tells the storage, if it wants to know. */
void api_storage_trace(const struct ckcache_storage *storage, const struct ckcache_desc *desc,
		       enum ckcache_event event, enum ckcache_status status, size_t size, uint64_t ns);

#endif
