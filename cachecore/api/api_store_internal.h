/* SPDX-License-Identifier: MIT */
/* api_store_internal: what the public store's files share. */
#ifndef CACHECORE_API_API_STORE_INTERNAL_H
#define CACHECORE_API_API_STORE_INTERNAL_H

#include <stdatomic.h>

#include "cachecore/api/cachecore.h"
#include "cachecore/cache.h"

struct cachecore_store {
	struct cc_cache *cache;
	char *runtime;
	atomic_uint_least64_t hits, misses, rejected, build_ns_saved, build_ns_spent;
};

bool api_store_key_valid(const struct cachecore_store_key *key);
/* Of a valid one. The caller releases *ret, whatever the status. CMN_ERR_NOMEM. */
CMN_CHECKED enum cmn_status api_store_key(const struct cachecore_store *store,
					  const struct cachecore_store_key *key,
					  struct cc_key *ret);
bool api_value_valid(const struct cachecore_store_value *value);
/* A copy of a valid value, one reference. CMN_ERR_NOMEM, CMN_ERR_TOO_LARGE. */
CMN_CHECKED enum cmn_status api_blob_new(const struct cachecore_store_value *value,
					 uint64_t build_ns, struct cc_entry **ret);

void api_store_count_hit(struct cachecore_store *store, const struct cc_key *key,
			 const struct cc_entry *entry, uint64_t took_ns);
void api_store_count_miss(struct cachecore_store *store, const struct cc_key *key,
			  uint64_t build_ns);

#endif
