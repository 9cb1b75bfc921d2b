/* SPDX-License-Identifier: MIT */
/* desc_storage: what ckcache.h does with descriptions and a storage besides building: evicting, and loading many. */
#include <stdlib.h>
#include <string.h>

#include "common/cancel.h"
#include "layers/shared/api/storage.h"

enum ckcache_status api_desc_evict(struct ckcache_desc *desc, const struct ckcache_storage *storage)
{
	CMN_NOT_CANCELLED;
	enum cmn_status status = CMN_OK;

	if (!desc || !api_storage_is_valid(storage))
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	if (desc->empty || (storage && !api_desc_has_id(desc)))
		return CKCACHE_OK;
	if (storage)
		return storage->evict ? api_status_of(api_storage_evict(storage, desc)) :
					CKCACHE_ERROR_UNAVAILABLE;
	for (size_t i = 0; desc->cache && i < desc->count; i++) {
		enum cmn_status one = cc_cache_remove(desc->cache, &desc->items[i].key);

		status = one == CMN_OK ? status : one;
	}
	return api_status_of(status);
}

/* A batch that is being loaded: the descriptions that were asked for, and what came. */
struct loading {
	struct ckcache_desc **descs;
	struct cmn_buffer *blobs;
	size_t count;
};

static void give(void *ctx, size_t i, size_t size, const uint8_t *blob)
{
	struct loading *loading = ctx;

	if (i >= loading->count || !blob || !size || size > API_BLOB_MAX)
		return;
	cmn_buffer_release(&loading->blobs[i]);	/* the last one counts */
	cmn_buffer_append(&loading->blobs[i], blob, size);
}

/* Hands to each description what came for it, or that nothing did. */
static void hand_out(const struct ckcache_storage *storage, struct loading *loading, bool complete)
{
	for (size_t i = 0; i < loading->count; i++) {
		struct api_batch next = { .ctx = storage->ctx, .load = storage->load };

		if (loading->blobs[i].len) {
			next.state = API_BATCH_FOUND;
			next.blob = loading->blobs[i];
		} else {
			/* What there was no memory for is loaded alone, later. */
			next.state = complete && !loading->blobs[i].failed ? API_BATCH_ABSENT : API_BATCH_NONE;
		}
		next = api_desc_exchange_batch(loading->descs[i], &next);
		cmn_buffer_release(&next.blob);
	}
}

enum ckcache_status api_desc_load_batch(const struct ckcache_storage *storage, size_t count,
					struct ckcache_desc *const *descs)
{
	CMN_NOT_CANCELLED;
	enum ckcache_status status = CKCACHE_ERROR_OUT_OF_MEMORY;
	struct loading loading = { 0 };
	uint8_t *ids;

	if (!storage || !api_storage_is_valid(storage) || (count && !descs))
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	if (!count || !api_storage_has_batch(storage))
		return CKCACHE_OK;
	ids = calloc(count, API_ID_SIZE);
	loading.descs = calloc(count, sizeof(*loading.descs));
	loading.blobs = calloc(count, sizeof(*loading.blobs));
	if (!ids || !loading.descs || !loading.blobs)
		goto out;
	for (size_t i = 0; i < count; i++) {
		if (!descs[i] || !api_desc_has_id(descs[i]))
			continue;
		memcpy(ids + loading.count * API_ID_SIZE, descs[i]->id.bytes, API_ID_SIZE);
		loading.descs[loading.count++] = descs[i];
	}
	status = CKCACHE_OK;
	if (loading.count)
		hand_out(storage, &loading,
			 storage->load_batch(storage->ctx, loading.count, API_ID_SIZE, ids, give,
					     &loading) == CKCACHE_OK);
out:
	free(loading.blobs);
	free(loading.descs);
	free(ids);
	return status;
}
