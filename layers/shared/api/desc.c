/* SPDX-License-Identifier: MIT */
/* desc: life, identity and sizes. */
#include "layers/shared/api/desc.h"

#include <stdlib.h>
#include <string.h>

#include "common/cancel.h"
#include "common/mutex.h"

enum cmn_status api_desc_init(struct ckcache_desc *desc, size_t count)
{
	desc->epoch = drv_libraries_epoch();
	desc->items = calloc(count, sizeof(*desc->items));
	if (!desc->items)
		return CMN_ERR_NOMEM;
	desc->count = count;
	if (pthread_mutex_init(&desc->lock, NULL) == 0)
		return CMN_OK;
	free(desc->items);
	return CMN_ERR_NOMEM;
}

void api_desc_release(struct ckcache_desc *desc)
{
	for (size_t i = 0; i < desc->count; i++)
		cc_key_release(&desc->items[i].key);
	free(desc->items);
	cmn_buffer_release(&desc->blob);
	cmn_buffer_release(&desc->batch.blob);
	(void)pthread_mutex_destroy(&desc->lock);	/* nobody holds it */
}

struct drv_library_epoch api_desc_epoch(struct ckcache_desc *desc)
{
	struct drv_library_epoch epoch;

	cmn_mutex_lock(&desc->lock);
	epoch = desc->epoch;
	cmn_mutex_unlock(&desc->lock);
	return epoch;
}

bool api_desc_keys_hold(struct ckcache_desc *desc, bool (*key_holds)(const struct ckcache_desc *desc))
{
	const struct drv_library_epoch now = drv_libraries_epoch(), before = api_desc_epoch(desc);

	if (!drv_libraries_came(&before))
		return true;
	if (!key_holds(desc))
		return false;
	/* What came before is known to change nothing. */
	cmn_mutex_lock(&desc->lock);
	desc->epoch = now;
	cmn_mutex_unlock(&desc->lock);
	return true;
}

bool api_desc_has_id(const struct ckcache_desc *desc)
{
	return !desc->empty && !desc->nameless;
}

enum ckcache_kind api_desc_kind(const struct ckcache_desc *desc)
{
	return desc->device ? CKCACHE_KIND_DEVICE : CKCACHE_KIND_PROGRAMS;
}

struct api_batch api_desc_exchange_batch(struct ckcache_desc *desc, const struct api_batch *next)
{
	struct api_batch old;

	cmn_mutex_lock(&desc->lock);
	old = desc->batch;
	desc->batch = *next;
	cmn_mutex_unlock(&desc->lock);
	return old;
}

enum cmn_status api_desc_identify(struct ckcache_desc *desc)
{
	const struct cc_key **keys;
	enum cmn_status status;

	if (!api_desc_has_id(desc))
		return CMN_OK;
	keys = calloc(desc->count, sizeof(*keys));
	if (!keys)
		return CMN_ERR_NOMEM;
	for (size_t i = 0; i < desc->count; i++)
		keys[i] = &desc->items[i].key;
	status = api_id_make(desc->count, keys, &desc->id);
	free(keys);
	return status;
}

enum ckcache_origin api_origin_of_both(enum ckcache_origin a, enum ckcache_origin b)
{
	if (a == CKCACHE_ORIGIN_BUILT || b == CKCACHE_ORIGIN_BUILT)
		return CKCACHE_ORIGIN_BUILT;
	return a == CKCACHE_ORIGIN_DISK || b == CKCACHE_ORIGIN_DISK ? CKCACHE_ORIGIN_DISK :
								      CKCACHE_ORIGIN_MEMORY;
}

enum ckcache_status api_give(struct cmn_view bytes, size_t *size, void *place)
{
	size_t room = place ? *size : 0;

	*size = bytes.len;
	if (!place)
		return CKCACHE_OK;
	if (room < bytes.len)
		return CKCACHE_ERROR_BUFFER_TOO_SMALL;
	if (bytes.len)
		memcpy(place, bytes.data, bytes.len);
	return CKCACHE_OK;
}

/* Takes the blob kept for this; an empty buffer: there is none. */
static struct cmn_buffer take_kept(struct ckcache_desc *desc, const struct cmn_hash *of)
{
	struct cmn_buffer blob = { 0 };

	cmn_mutex_lock(&desc->lock);
	if (desc->blob.len && cmn_hash_equal(&desc->blob_of, of)) {
		blob = desc->blob;
		desc->blob = (struct cmn_buffer){ 0 };
	}
	cmn_mutex_unlock(&desc->lock);
	return blob;
}

/* Takes the buffer. */
static void keep(struct ckcache_desc *desc, const struct cmn_hash *of, struct cmn_buffer *blob)
{
	struct cmn_buffer old;

	cmn_mutex_lock(&desc->lock);
	old = desc->blob;
	desc->blob = *blob;
	desc->blob_of = *of;
	cmn_mutex_unlock(&desc->lock);
	cmn_buffer_release(&old);
}

enum ckcache_status api_desc_give_blob(struct ckcache_desc *desc, const struct cmn_hash *of,
				       enum ckcache_status (*make)(void *ctx, struct cmn_buffer *ret),
				       void *ctx, size_t *size, uint8_t *place)
{
	struct cmn_buffer blob = take_kept(desc, of);
	enum ckcache_status status = CKCACHE_OK;

	if (!blob.len)
		status = make(ctx, &blob);
	if (status == CKCACHE_OK)
		status = api_give(cmn_buffer_view(&blob), size, place);
	if (blob.len && (status == CKCACHE_ERROR_BUFFER_TOO_SMALL ||
			 (status == CKCACHE_OK && !place)))
		keep(desc, of, &blob);
	else
		cmn_buffer_release(&blob);
	return status;
}

void api_desc_free(struct ckcache_desc *desc)
{
	if (desc)
		desc->destroy(desc);
}

enum ckcache_status api_desc_get_id(const struct ckcache_desc *desc, size_t *size, uint8_t *id)
{
	struct cmn_view bytes = { NULL, 0 };

	if (!desc || !size)
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	if (api_desc_has_id(desc))
		bytes = (struct cmn_view){ desc->id.bytes, API_ID_SIZE };
	return api_give(bytes, size, id);
}

void api_desc_add_files(struct cmn_buffer *blob, size_t i, const struct cc_manifest *manifest)
{
	struct cmn_buffer encoded = { 0 };

	if (!manifest)
		return;
	cc_manifest_encode(manifest, &encoded);
	api_blob_add(blob, API_FIELD_MANIFEST, (uint32_t)i, cmn_buffer_view(&encoded));
	blob->failed |= encoded.failed;
	cmn_buffer_release(&encoded);
}

enum cmn_status api_desc_check_files(const struct ckcache_desc *desc, size_t i,
				     struct cmn_view blob)
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
	status = cc_manifest_verify(manifest, cache ? cc_cache_file_memo(cache) : NULL);
	cc_manifest_free(manifest);
	return status;
}
