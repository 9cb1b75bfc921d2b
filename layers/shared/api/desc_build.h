/* SPDX-License-Identifier: MIT */
/*
 * desc_build: makes the objects of a description: from a storage, from the
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

/*
 * These are ckcache.h's functions of the two APIs, ckcache_*_build, ckcache_*_create_from_blob and
 * ckcache_*_get_blob. kind: of what desc has to be, which may be NULL. ret_objects: the
 * application's array of handles; untouched unless there are some for it. ret_origin may be NULL.
 */
enum ckcache_status api_desc_build(struct ckcache_desc *desc, const struct api_kind *kind,
				   const struct ckcache_storage *storage, void *ret_objects,
				   enum ckcache_origin *ret_origin);
enum ckcache_status api_desc_create(struct ckcache_desc *desc, const struct api_kind *kind, size_t size,
				    const uint8_t *blob, void *ret_objects);
enum ckcache_status api_desc_get_blob(struct ckcache_desc *desc, const struct api_kind *kind,
				      const void *objects, size_t *size, uint8_t *blob);

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
