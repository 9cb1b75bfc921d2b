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
#include "layers/shared/course/course.h"

struct api_order {
	bool cached;			/* through the machine's cache, else by the driver alone */
	struct cmn_buffer *blob;	/* begun; NULL: none is wanted, or there can be none */
};

struct api_build_steps {
	/* Whether environment and compiler are what they were when it was made. */
	bool (*holds)(struct ckcache_desc *desc);
	/* All objects, from a blob. Statuses as ckcache_*_create_from_blob's. */
	enum ckcache_status (*create)(struct ckcache_desc *desc, struct cmn_view blob,
				      void *objects);
	/*
	 * The i-th object, by api_build_one. order->blob becomes NULL where the
	 * blob cannot be completed. On failure objects has what the application is
	 * to get: nothing, or what failed to build.
	 */
	enum ckcache_status (*build)(struct ckcache_desc *desc, size_t i, struct api_order *order,
				     void *objects, enum ckcache_origin *ret_origin);
};

/* CKCACHE_OK: all objects. ret_origin is set then. */
enum ckcache_status api_desc_build(struct ckcache_desc *desc, const struct ckcache_storage *storage,
				   const struct api_build_steps *steps, void *objects,
				   enum ckcache_origin *ret_origin);

/* A course of the i-th item; begun. The caller releases it. */
void api_build_begin(struct ckcache_desc *desc, size_t i, struct drv_course *course);
/* Runs it as ordered; afterwards its owner has what the driver or the cache made. */
enum ckcache_origin api_build_one(struct drv_course *course, const struct api_order *order);
/*
 * After a build for a blob: whether keys and course->manifest (what the build read) cover
 * everything that the blob depends on. false: there can be no blob; counts that.
 */
bool api_build_may_be_stored(struct drv_course *course);

#endif
