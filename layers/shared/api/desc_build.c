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
	sequence->key = &desc->keys[i];
	drv_sequence_begin(sequence);
	/* What came since the keys were made is not in them. */
	sequence->epoch = api_desc_epoch(desc);
}

enum ckcache_origin api_build_one(struct drv_sequence *sequence, const struct api_order *order)
{
	if (!order->cached) {
		if (order->blob || (sequence->driver && !sequence->driver->library))
			drv_sequence_watch(sequence);
		else
			drv_observer_miss();
		sequence->build_start = cc_cache_start_build(sequence->cache);
		sequence->outcome = sequence->steps->call(sequence);
		sequence->build_ns = cc_cache_build_ns(sequence->cache, &sequence->build_start);
		return CKCACHE_ORIGIN_BUILT;
	}
	if (!drv_sequence_run(sequence))
		return CKCACHE_ORIGIN_BUILT;
	return sequence->origin == CC_ORIGIN_MEMORY ? CKCACHE_ORIGIN_MEMORY : CKCACHE_ORIGIN_DISK;
}

/* Which files a build read goes with its image, to be looked at when that is loaded. Out of memory: the blob fails. */
static void add_files(struct cmn_buffer *blob, size_t i, const struct cc_manifest *manifest)
{
	struct cmn_buffer encoded = { 0 };

	if (!manifest)
		return;
	cc_manifest_encode(manifest, &encoded);
	api_blob_add(blob, API_FIELD_MANIFEST, (uint32_t)i, cmn_buffer_view(&encoded));
	blob->failed |= encoded.failed;
	cmn_buffer_release(&encoded);
}

void api_build_store(struct ckcache_desc *desc, size_t i, struct drv_sequence *sequence,
		     struct api_order *order, void *object)
{
	bool known = order->blob && drv_sequence_see(sequence);

	if (order->blob && !known && sequence->cache)
		drv_sequence_count(sequence);
	if (known && desc->kind->add(desc, i, object, true, order->blob) == CMN_OK)
		add_files(order->blob, i, sequence->manifest);
	else
		order->blob = NULL;
}

/* Of two programs of one description: the farther one. Neither is from a storage. */
static enum ckcache_origin origin_of_both(enum ckcache_origin a, enum ckcache_origin b)
{
	if (a == CKCACHE_ORIGIN_BUILT || b == CKCACHE_ORIGIN_BUILT)
		return CKCACHE_ORIGIN_BUILT;
	return a == CKCACHE_ORIGIN_DISK || b == CKCACHE_ORIGIN_DISK ? CKCACHE_ORIGIN_DISK :
								      CKCACHE_ORIGIN_MEMORY;
}

/* On failure objects has what the application is to get: nothing, or what failed to build. */
static enum ckcache_status build_all(struct ckcache_desc *desc, struct api_order *order, void **objects,
				     enum ckcache_origin *ret_origin)
{
	enum ckcache_origin origin = CKCACHE_ORIGIN_MEMORY, from;
	enum ckcache_status status;

	for (size_t i = 0; i < desc->count; i++) {
		status = desc->kind->build(desc, i, order, &objects[i], &from);
		if (status != CKCACHE_OK) {
			void *failed = objects[i];

			objects[i] = NULL;
			desc->kind->discard(desc, i, objects);
			objects[0] = failed;
			return status;
		}
		origin = origin_of_both(origin, from);
	}
	*ret_origin = origin;
	return CKCACHE_OK;
}

/* A storage that fails, or a driver without binaries, only means that it is built again. */
static enum ckcache_status build_and_store(struct ckcache_desc *desc,
					   const struct ckcache_storage *storage, void **objects,
					   enum ckcache_origin *ret_origin)
{
	struct cmn_buffer blob = { 0 };
	struct api_order order = { .blob = storage->store ? &blob : NULL };
	uint64_t begin = cmn_clock_monotonic();
	enum ckcache_status status;

	api_blob_begin(&blob, CKCACHE_KIND_PROGRAMS, &desc->id);
	status = build_all(desc, &order, objects, ret_origin);
	api_storage_trace(storage, desc, CKCACHE_EVENT_BUILT, status, 0, cmn_clock_monotonic() - begin);
	if (status == CKCACHE_OK && order.blob && api_blob_end(&blob) == CMN_OK)
		(void)!api_storage_store(storage, desc, cmn_buffer_view(&blob));
	cmn_buffer_release(&blob);
	return status;
}

/* Whether the files that the build of an image read, if the blob has any, are unchanged. */
static enum cmn_status check_files(const struct ckcache_desc *desc, size_t i, struct cmn_view blob)
{
	struct cc_cache *cache = desc->cache;
	struct cc_manifest *manifest;
	struct cmn_view encoded;
	enum cmn_status status;

	if (api_blob_find(blob, API_FIELD_MANIFEST, (uint32_t)i, &encoded) != CMN_OK)
		return CMN_OK;
	status = cc_manifest_decode(encoded, &manifest);
	if (status != CMN_OK)
		return status;
	status = cc_manifest_compare_at(manifest, &desc->keys[i].include_paths,
					cache ? cc_cache_file_memo(cache) : NULL, NULL);
	cc_manifest_free(manifest);
	return status;
}

/* All objects of a blob that was checked, or none. */
static enum ckcache_status load_all(struct ckcache_desc *desc, struct cmn_view blob, void **objects)
{
	enum ckcache_status status = CKCACHE_OK;

	for (size_t i = 0; i < desc->count && status == CKCACHE_OK; i++)
		status = api_status_of_blob(check_files(desc, i, blob));
	for (size_t i = 0; i < desc->count && status == CKCACHE_OK; i++) {
		struct cmn_view image;

		/* Without one it would be sound, and yet not this library's. */
		status = api_blob_find(blob, API_FIELD_IMAGE, (uint32_t)i, &image) == CMN_OK &&
					 image.len ? desc->kind->load(desc, i, image, objects) :
						     CKCACHE_ERROR_DAMAGED;
	}
	if (status != CKCACHE_OK)
		desc->kind->discard(desc, desc->count, objects);
	return status;
}

/* CKCACHE_OK: from the storage; else they are to be built. */
static enum ckcache_status load_blob(struct ckcache_desc *desc,
				     const struct ckcache_storage *storage, void **objects)
{
	struct cmn_buffer blob = { 0 };
	enum ckcache_status status;

	if (!desc->kind->holds(desc) || api_storage_load(storage, desc, &blob) != CMN_OK)
		return CKCACHE_MISS;
	status = load_all(desc, cmn_buffer_view(&blob), objects);
	if (status != CKCACHE_OK)
		api_storage_trace(storage, desc, CKCACHE_EVENT_UNUSABLE, status, blob.len, 0);
	if (status == CKCACHE_ERROR_REFUSED || status == CKCACHE_ERROR_DAMAGED ||
	    status == CKCACHE_ERROR_STALE)
		(void)!api_storage_evict(storage, desc);	/* another takes its place */
	cmn_buffer_release(&blob);
	return status;
}

static enum ckcache_status load_or_build(struct ckcache_desc *desc,
					 const struct ckcache_storage *storage, void **objects,
					 enum ckcache_origin *ret_origin)
{
	struct api_order order = { .cached = false };

	if (storage && api_desc_has_id(desc)) {
		if (load_blob(desc, storage, objects) != CKCACHE_OK)
			return build_and_store(desc, storage, objects, ret_origin);
		*ret_origin = CKCACHE_ORIGIN_STORAGE;
		return CKCACHE_OK;
	}
	order.cached = !storage && !desc->empty && desc->cache && desc->kind->holds(desc);
	return build_all(desc, &order, objects, ret_origin);
}

static enum ckcache_status build(struct ckcache_desc *desc, enum ckcache_api api,
				 const struct ckcache_storage *storage, void *ret_objects,
				 enum ckcache_origin *ret_origin)
{
	CMN_NOT_CANCELLED;
	enum ckcache_origin origin = CKCACHE_ORIGIN_BUILT;
	enum ckcache_status status;
	void **objects;

	if (!desc || desc->kind->api != api || !api_storage_is_valid(storage) || !ret_objects)
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	objects = calloc(desc->count, sizeof(*objects));
	if (!objects)
		return CKCACHE_ERROR_OUT_OF_MEMORY;
	status = load_or_build(desc, storage, objects, &origin);
	if (status == CKCACHE_OK || (status == CKCACHE_ERROR_BUILD && desc->kind->gives_failed))
		memcpy(ret_objects, objects, desc->count * sizeof(*objects));
	if (status == CKCACHE_OK && ret_origin)
		*ret_origin = origin;
	free(objects);
	return status;
}

static enum ckcache_status create(struct ckcache_desc *desc, enum ckcache_api api, size_t size,
				  const uint8_t *blob, void *ret_objects)
{
	CMN_NOT_CANCELLED;
	const struct cmn_view bytes = { blob, size };
	enum ckcache_status status;
	void **objects;

	if (!desc || desc->kind->api != api || !api_desc_has_id(desc) || !blob || !size || !ret_objects)
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	status = api_status_of_blob(api_blob_check(bytes, CKCACHE_KIND_PROGRAMS, &desc->id));
	if (status != CKCACHE_OK)
		return status;
	if (!desc->kind->holds(desc))
		return CKCACHE_ERROR_CHANGED;
	objects = calloc(desc->count, sizeof(*objects));
	if (!objects)
		return CKCACHE_ERROR_OUT_OF_MEMORY;
	status = load_all(desc, bytes, objects);
	if (status == CKCACHE_OK)
		memcpy(ret_objects, objects, desc->count * sizeof(*objects));
	free(objects);
	return status;
}

/* Takes the blob kept for this; an empty buffer: there is none. */
static struct cmn_buffer take_kept(struct ckcache_desc *desc, const struct cmn_hash *of)
{
	struct cmn_buffer blob = { 0 };

	if (!api_desc_take(desc))
		return blob;
	if (desc->blob.len && cmn_hash_equal(&desc->blob_of, of)) {
		blob = desc->blob;
		desc->blob = (struct cmn_buffer){ 0 };
	}
	api_desc_drop(desc);
	return blob;
}

/* Takes the buffer. */
static void keep(struct ckcache_desc *desc, const struct cmn_hash *of, struct cmn_buffer *blob)
{
	struct cmn_buffer old = *blob;

	if (api_desc_take(desc)) {
		old = desc->blob;
		desc->blob = *blob;
		desc->blob_of = *of;
		api_desc_drop(desc);
	}
	cmn_buffer_release(&old);
}

/* A whole blob in an empty buffer, or, where the driver has no binary, none. */
static enum ckcache_status make_blob(struct ckcache_desc *desc, void *const *objects, struct cmn_buffer *ret)
{
	enum cmn_status status = CMN_OK;

	if (!desc->kind->holds(desc))
		return CKCACHE_ERROR_CHANGED;
	api_blob_begin(ret, CKCACHE_KIND_PROGRAMS, &desc->id);
	for (size_t i = 0; i < desc->count && status == CMN_OK; i++)
		status = desc->kind->add(desc, i, objects[i], false, ret);
	if (status == CMN_OK)
		status = api_blob_end(ret);
	if (status != CMN_OK)
		cmn_buffer_release(ret);
	return status == CMN_MISS ? CKCACHE_OK : api_status_of(status);
}

static enum ckcache_status get_blob(struct ckcache_desc *desc, enum ckcache_api api, const void *objects,
				    size_t *size, uint8_t *place)
{
	CMN_NOT_CANCELLED;
	enum ckcache_status status = CKCACHE_OK;
	struct cmn_buffer blob;
	struct cmn_hash of;

	if (!desc || desc->kind->api != api || !objects || !size)
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	if (!api_desc_has_id(desc))
		return api_give((struct cmn_view){ NULL, 0 }, size, place);
	/* Making it may take long: the one that was made to report its size is kept until it is fetched. */
	of = cmn_hash_of(objects, desc->count * sizeof(void *));
	blob = take_kept(desc, &of);
	if (!blob.len)
		status = make_blob(desc, objects, &blob);
	if (status == CKCACHE_OK)
		status = api_give(cmn_buffer_view(&blob), size, place);
	if (blob.len && (status == CKCACHE_ERROR_BUFFER_TOO_SMALL || (status == CKCACHE_OK && !place)))
		keep(desc, &of, &blob);
	else
		cmn_buffer_release(&blob);
	return status;
}

enum ckcache_status ckcache_opencl_build(struct ckcache_desc *desc, const struct ckcache_storage *storage,
					 struct _cl_program **ret_programs, enum ckcache_origin *ret_origin)
{
	return build(desc, CKCACHE_API_OPENCL, storage, ret_programs, ret_origin);
}

enum ckcache_status ckcache_level_zero_build(struct ckcache_desc *desc, const struct ckcache_storage *storage,
					     struct _ze_module_handle_t **ret_modules,
					     enum ckcache_origin *ret_origin)
{
	return build(desc, CKCACHE_API_LEVEL_ZERO, storage, ret_modules, ret_origin);
}

enum ckcache_status ckcache_opencl_create_from_blob(struct ckcache_desc *desc, size_t size, const uint8_t *blob,
						    struct _cl_program **ret_programs)
{
	return create(desc, CKCACHE_API_OPENCL, size, blob, ret_programs);
}

enum ckcache_status ckcache_level_zero_create_from_blob(struct ckcache_desc *desc, size_t size,
							const uint8_t *blob,
							struct _ze_module_handle_t **ret_modules)
{
	return create(desc, CKCACHE_API_LEVEL_ZERO, size, blob, ret_modules);
}

enum ckcache_status ckcache_opencl_get_blob(struct ckcache_desc *desc, struct _cl_program *const *programs,
					    size_t *size, uint8_t *blob)
{
	return get_blob(desc, CKCACHE_API_OPENCL, programs, size, blob);
}

enum ckcache_status ckcache_level_zero_get_blob(struct ckcache_desc *desc,
						struct _ze_module_handle_t *const *modules, size_t *size,
						uint8_t *blob)
{
	return get_blob(desc, CKCACHE_API_LEVEL_ZERO, modules, size, blob);
}
