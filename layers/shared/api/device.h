/* SPDX-License-Identifier: MIT */
/*
 * device: what a library learns about a device (ckcache.h), stored as a blob or
 * as an entry (cachecore/entry.h) with one field. Knows no API's types: the
 * fields of its identity identify the device.
 */
#ifndef SHARED_API_DEVICE_H
#define SHARED_API_DEVICE_H

#include "layers/shared/api/desc.h"

/* identity: fields of CC_PART_DEVICE, copied. cache: as in struct ckcache_desc. */
enum ckcache_status api_device_desc_new(struct cc_cache *cache, const struct cc_key *identity,
					const struct ckcache_library *library,
					struct ckcache_desc **ret_desc);

#endif
