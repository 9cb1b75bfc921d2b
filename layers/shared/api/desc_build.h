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

struct api_build_steps {
	/* Whether environment and compiler are what they were when it was made. */
	bool (*holds)(struct ckcache_desc *desc);
	/* The i-th object, from a binary. CKCACHE_ERROR_REFUSED, OUT_OF_MEMORY or DRIVER. */
	enum ckcache_status (*load)(struct ckcache_desc *desc, size_t i, struct cmn_view image,
				    void *objects);
	/* Destroys the first objects, of which any may be NULL, and leaves NULLs. */
	void (*discard)(struct ckcache_desc *desc, size_t count, void *objects);
	/*
	 * The i-th object, by api_build_one, to *ret_object. order->blob becomes NULL where the
	 * blob cannot be completed. On failure *ret_object is NULL, or what failed to build.
	 */
	enum ckcache_status (*build)(struct ckcache_desc *desc, size_t i, struct api_order *order,
				     void **ret_object, enum ckcache_origin *ret_origin);
	/*
	 * Adds the binary of an object, which the application says is the i-th, to a blob. CMN_MISS:
	 * the driver has none; CMN_ERR_INVALID: it is another; CMN_ERR_NOMEM.
	 */
	enum cmn_status (*add)(struct ckcache_desc *desc, size_t i, void *object, struct cmn_buffer *blob);
	bool gives_failed;	/* the application gets what failed to build */
};

/*
 * These are ckcache.h's functions of the two APIs, ckcache_*_build, ckcache_*_create_from_blob and
 * ckcache_*_get_blob. The caller has checked that desc is of its API, or passes NULL. ret_objects: the
 * application's array of handles; untouched unless there are some for it. ret_origin may be NULL.
 */
enum ckcache_status api_desc_build(struct ckcache_desc *desc, const struct ckcache_storage *storage,
				   const struct api_build_steps *steps, void *ret_objects,
				   enum ckcache_origin *ret_origin);
enum ckcache_status api_desc_create(struct ckcache_desc *desc, size_t size, const uint8_t *blob,
				    const struct api_build_steps *steps, void *ret_objects);
enum ckcache_status api_desc_get_blob(struct ckcache_desc *desc, const struct api_build_steps *steps,
				      const void *objects, size_t *size, uint8_t *blob);

/* A sequence of the i-th item; begun. The caller releases it. */
void api_build_begin(struct ckcache_desc *desc, size_t i, struct drv_sequence *sequence);
/* Runs it as ordered; afterwards its owner has what the driver or the cache made. */
enum ckcache_origin api_build_one(struct drv_sequence *sequence, const struct api_order *order);
/*
 * After a build for a blob: whether keys and sequence->manifest (what the build read) cover
 * everything that the blob depends on. false: there can be no blob; counts that.
 */
bool api_build_may_be_stored(struct drv_sequence *sequence);

#endif
