/* SPDX-License-Identifier: MIT */
/*
 * desc_build: ckcache.h's ckcache_*_build, ckcache_*_create_from_blob and ckcache_*_get_blob of both APIs:
 * makes the objects of a description: from a storage, from the
 * machine's cache, or by the driver. If anything goes wrong with the caches, the
 * driver builds. Knows no API's types: objects are handles, one for each item of
 * the description, in an array of the caller that is zeroed at first.
 */
#ifndef SHARED_API_DESC_BUILD_H
#define SHARED_API_DESC_BUILD_H

#include "layers/shared/api/desc.h"
#include "layers/shared/api/storage.h"
#include "layers/shared/sequence/sequence.h"

struct api_order {
	bool cached;			/* through the machine's cache, else by the driver alone */
	struct cmn_buffer *blob;	/* begun; NULL: none is wanted, or there can be none */
};

/* A sequence of the i-th item; begun. The caller releases it. */
void api_build_begin(struct ckcache_desc *desc, size_t i, struct drv_sequence *sequence);
/* Runs it as ordered; afterwards its owner has what the driver or the cache made. */
enum ckcache_origin api_build_one(struct drv_sequence *sequence, const struct api_order *order);
/*
 * After a build: adds its object to the ordered blob, if keys and what it was seen to read cover
 * everything that it depends on; else there is no blob (NULL from then on), which is counted.
 */
void api_build_store(struct ckcache_desc *desc, size_t i, struct drv_sequence *sequence,
		     struct api_order *order, void *object);

#endif
