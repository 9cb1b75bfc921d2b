/* SPDX-License-Identifier: MIT */
/*
 * storage: calls an application's own storage (struct ckcache_storage) as its
 * contract says, and trusts nothing that it returns. Thread-safe.
 */
#ifndef SHARED_API_STORAGE_H
#define SHARED_API_STORAGE_H

#include <stdbool.h>

#include "layers/shared/api/blob.h"
#include "layers/shared/api/ckcache.h"

/* Whether the structure is one; NULL is (the machine's cache). */
bool api_storage_is_valid(const struct ckcache_storage *storage);

/* CMN_OK: *ret, an empty buffer before, has a blob of that id. CMN_MISS: there is none; one that is unusable was evicted. */
CMN_CHECKED enum cmn_status api_storage_load(const struct ckcache_storage *storage,
					     const struct api_id *id, struct cmn_buffer *ret);
/* CMN_OK; else the storage would not, or said that it could not. */
CMN_CHECKED enum cmn_status api_storage_store(const struct ckcache_storage *storage,
					      const struct api_id *id, struct cmn_view blob);
CMN_CHECKED enum cmn_status api_storage_evict(const struct ckcache_storage *storage,
					      const struct api_id *id);

#endif
