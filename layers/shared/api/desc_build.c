/* SPDX-License-Identifier: MIT */
/* desc_build: the storage first, then one item after the other. */
#include "layers/shared/api/desc_build.h"

#include <stdlib.h>
#include <string.h>

#include "common/cancel.h"
#include "common/clock.h"

void api_build_begin(struct ckcache_desc *desc, size_t i, struct drv_sequence *sequence)
{
	sequence->cache = desc->cache;
	sequence->key = &desc->items[i].key;
	drv_sequence_begin(sequence);
	/* What came since the keys were made is not in them. */
	sequence->epoch = api_desc_epoch(desc);
}

enum ckcache_origin api_build_one(struct drv_sequence *sequence, const struct api_order *order)
{
	if (!order->cached) {
		if (order->blob)
			drv_sequence_watch(sequence);
		sequence->build_start = cc_cache_start_build(sequence->cache);
		sequence->outcome = sequence->steps->call(sequence);
		sequence->build_ns = cc_cache_build_ns(sequence->cache, &sequence->build_start);
		return CKCACHE_ORIGIN_BUILT;
	}
	if (!drv_sequence_run(sequence))
		return CKCACHE_ORIGIN_BUILT;
	return sequence->origin == CC_ORIGIN_MEMORY ? CKCACHE_ORIGIN_MEMORY : CKCACHE_ORIGIN_DISK;
}

bool api_build_may_be_stored(struct drv_sequence *sequence)
{
	bool may = drv_sequence_see(sequence);

	if (!may && sequence->cache)
		drv_sequence_count(sequence);
	return may;
}

/* On failure objects has what the application is to get: nothing, or what failed to build. */
static enum ckcache_status build_all(struct ckcache_desc *desc, const struct api_build_steps *steps,
				     struct api_order *order, void **objects,
				     enum ckcache_origin *ret_origin)
{
	enum ckcache_origin origin = CKCACHE_ORIGIN_MEMORY, from;
	enum ckcache_status status;

	for (size_t i = 0; i < desc->count; i++) {
		status = steps->build(desc, i, order, &objects[i], &from);
		if (status != CKCACHE_OK) {
			void *failed = objects[i];

			objects[i] = NULL;
			steps->discard(desc, i, objects);
			objects[0] = failed;
			return status;
		}
		origin = api_origin_of_both(origin, from);
	}
	*ret_origin = origin;
	return CKCACHE_OK;
}

/* A storage that fails, or a driver without binaries, only means that it is built again. */
static enum ckcache_status build_and_store(struct ckcache_desc *desc,
					   const struct ckcache_storage *storage,
					   const struct api_build_steps *steps, void **objects,
					   enum ckcache_origin *ret_origin)
{
	struct cmn_buffer blob = { 0 };
	struct api_order order = { .blob = storage->store ? &blob : NULL };
	uint64_t begin = cmn_clock_monotonic();
	enum ckcache_status status;

	api_blob_begin(&blob, CKCACHE_KIND_PROGRAMS, &desc->id);
	status = build_all(desc, steps, &order, objects, ret_origin);
	api_storage_trace(storage, desc, CKCACHE_EVENT_BUILT, status, 0, cmn_clock_monotonic() - begin);
	if (status == CKCACHE_OK && order.blob && api_blob_end(&blob) == CMN_OK)
		(void)!api_storage_store(storage, desc, cmn_buffer_view(&blob));
	cmn_buffer_release(&blob);
	return status;
}

/* All objects of a blob that was checked, or none. */
static enum ckcache_status load_all(struct ckcache_desc *desc, struct cmn_view blob,
				    const struct api_build_steps *steps, void **objects)
{
	enum ckcache_status status = CKCACHE_OK;

	for (size_t i = 0; i < desc->count && status == CKCACHE_OK; i++)
		status = api_status_of_blob(api_desc_check_files(desc, i, blob));
	for (size_t i = 0; i < desc->count && status == CKCACHE_OK; i++) {
		struct cmn_view image;

		/* Without one it would be sound, and yet not this library's. */
		status = api_blob_find(blob, API_FIELD_IMAGE, (uint32_t)i, &image) == CMN_OK &&
					 image.len ? steps->load(desc, i, image, objects) :
						     CKCACHE_ERROR_DAMAGED;
	}
	if (status != CKCACHE_OK)
		steps->discard(desc, desc->count, objects);
	return status;
}

/* CKCACHE_OK: from the storage; else they are to be built. */
static enum ckcache_status load_blob(struct ckcache_desc *desc,
				     const struct ckcache_storage *storage,
				     const struct api_build_steps *steps, void **objects)
{
	struct cmn_buffer blob = { 0 };
	enum ckcache_status status;

	if (!steps->holds(desc) || api_storage_load(storage, desc, &blob) != CMN_OK)
		return CKCACHE_MISS;
	status = load_all(desc, cmn_buffer_view(&blob), steps, objects);
	if (status != CKCACHE_OK)
		api_storage_trace(storage, desc, CKCACHE_EVENT_UNUSABLE, status, blob.len, 0);
	if (status == CKCACHE_ERROR_REFUSED || status == CKCACHE_ERROR_DAMAGED ||
	    status == CKCACHE_ERROR_STALE)
		(void)!api_storage_evict(storage, desc);	/* another takes its place */
	cmn_buffer_release(&blob);
	return status;
}

static enum ckcache_status load_or_build(struct ckcache_desc *desc,
					 const struct ckcache_storage *storage,
					 const struct api_build_steps *steps, void **objects,
					 enum ckcache_origin *ret_origin)
{
	struct api_order order = { .cached = false };

	if (storage && api_desc_has_id(desc)) {
		if (load_blob(desc, storage, steps, objects) != CKCACHE_OK)
			return build_and_store(desc, storage, steps, objects, ret_origin);
		*ret_origin = CKCACHE_ORIGIN_STORAGE;
		return CKCACHE_OK;
	}
	order.cached = !storage && !desc->empty && desc->cache && steps->holds(desc);
	return build_all(desc, steps, &order, objects, ret_origin);
}

enum ckcache_status api_desc_build(struct ckcache_desc *desc, const struct ckcache_storage *storage,
				   const struct api_build_steps *steps, void *ret_objects,
				   enum ckcache_origin *ret_origin)
{
	CMN_NOT_CANCELLED;
	enum ckcache_origin origin = CKCACHE_ORIGIN_BUILT;
	enum ckcache_status status;
	void **objects;

	if (!desc || !api_storage_is_valid(storage) || !ret_objects)
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	objects = calloc(desc->count, sizeof(*objects));
	if (!objects)
		return CKCACHE_ERROR_OUT_OF_MEMORY;
	status = load_or_build(desc, storage, steps, objects, &origin);
	if (status == CKCACHE_OK || (status == CKCACHE_ERROR_BUILD && steps->gives_failed))
		memcpy(ret_objects, objects, desc->count * sizeof(*objects));
	if (status == CKCACHE_OK && ret_origin)
		*ret_origin = origin;
	free(objects);
	return status;
}

enum ckcache_status api_desc_create(struct ckcache_desc *desc, size_t size, const uint8_t *blob,
				    const struct api_build_steps *steps, void *ret_objects)
{
	CMN_NOT_CANCELLED;
	const struct cmn_view bytes = { blob, size };
	enum ckcache_status status;
	void **objects;

	if (!desc || !api_desc_has_id(desc) || !blob || !size || !ret_objects)
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	status = api_status_of_blob(api_blob_check(bytes, CKCACHE_KIND_PROGRAMS, &desc->id));
	if (status != CKCACHE_OK)
		return status;
	if (!steps->holds(desc))
		return CKCACHE_ERROR_CHANGED;
	objects = calloc(desc->count, sizeof(*objects));
	if (!objects)
		return CKCACHE_ERROR_OUT_OF_MEMORY;
	status = load_all(desc, bytes, steps, objects);
	if (status == CKCACHE_OK)
		memcpy(ret_objects, objects, desc->count * sizeof(*objects));
	free(objects);
	return status;
}

struct making {
	struct ckcache_desc *desc;
	const struct api_build_steps *steps;
	void *const *objects;
};

/* A whole blob in an empty buffer, or, where the driver has no binary, none. */
static enum ckcache_status make_blob(void *ctx, struct cmn_buffer *ret)
{
	const struct making *making = ctx;
	struct ckcache_desc *desc = making->desc;
	enum cmn_status status = CMN_OK;

	if (!making->steps->holds(desc))
		return CKCACHE_ERROR_CHANGED;
	api_blob_begin(ret, CKCACHE_KIND_PROGRAMS, &desc->id);
	for (size_t i = 0; i < desc->count && status == CMN_OK; i++)
		status = making->steps->add(desc, i, making->objects[i], ret);
	if (status == CMN_OK)
		status = api_blob_end(ret);
	if (status != CMN_OK)
		cmn_buffer_release(ret);
	return status == CMN_MISS ? CKCACHE_OK : api_status_of(status);
}

enum ckcache_status api_desc_get_blob(struct ckcache_desc *desc, const struct api_build_steps *steps,
				      const void *objects, size_t *size, uint8_t *blob)
{
	CMN_NOT_CANCELLED;
	struct making making = { desc, steps, objects };
	struct cmn_hash of;

	if (!desc || !objects || !size)
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	if (!api_desc_has_id(desc))
		return api_give((struct cmn_view){ NULL, 0 }, size, blob);
	of = cmn_hash_of(objects, desc->count * sizeof(void *));
	return api_desc_give_blob(desc, &of, make_blob, &making, size, blob);
}
