/* SPDX-License-Identifier: MIT */
/* storage: calls of the application's callbacks; evicting, and loading many. */
#include "layers/shared/api/storage.h"

#include <stdlib.h>
#include <string.h>

#include "common/cancel.h"
#include "common/clock.h"

/* How often a blob may change its size between two calls, by another thread's store. */
#define LOAD_TRIES 4

/* What a caller of 1.0 fills. */
#define SIZE_1_0 offsetof(struct ckcache_storage, load_batch)

/* Whether the caller's structure goes as far as that member. */
#define HAS(storage, member) \
	((storage)->struct_size >= offsetof(struct ckcache_storage, member) + sizeof((storage)->member) && \
	 (storage)->member)

bool api_storage_is_valid(const struct ckcache_storage *storage)
{
	return !storage || (storage->struct_size >= SIZE_1_0 && storage->load);
}

void api_storage_trace(const struct ckcache_storage *storage, const struct ckcache_desc *desc,
		       enum ckcache_event event, enum ckcache_status status, size_t size, uint64_t ns)
{
	const struct ckcache_trace trace = {
		.struct_size = sizeof(trace), .event = event, .status = status,
		.id_size = API_ID_SIZE, .id = desc->id.bytes, .size = size, .ns = ns,
	};

	if (HAS(storage, trace))
		storage->trace(storage->ctx, &trace);
}

/* The blob that the storage gives. CMN_STALE: it changed meanwhile. *ret_status: as the storage said it. */
static enum cmn_status load_once(const struct ckcache_storage *storage, const struct api_id *id,
				 struct cmn_buffer *ret, enum ckcache_status *ret_status)
{
	size_t size = 0, room;

	*ret_status = storage->load(storage->ctx, API_ID_SIZE, id->bytes, &size, NULL);
	if (*ret_status != CKCACHE_OK || size == 0 || size > API_BLOB_MAX)
		return CMN_MISS;
	ret->len = 0;
	if (!cmn_buffer_reserve(ret, size))
		return CMN_ERR_NOMEM;
	room = size;
	*ret_status = storage->load(storage->ctx, API_ID_SIZE, id->bytes, &size, ret->data);
	if (*ret_status == CKCACHE_ERROR_BUFFER_TOO_SMALL)
		return CMN_STALE;
	if (*ret_status != CKCACHE_OK || size > room)
		return CMN_MISS;
	ret->len = size;
	return CMN_OK;
}

/* Takes what a batch gave, and puts in its place what another one gave, if it can; the caller releases the blob. */
static struct api_batch exchange_batch(struct ckcache_desc *desc, const struct api_batch *next)
{
	struct api_batch old = *next;

	if (api_desc_take(desc)) {
		old = desc->batch;
		desc->batch = *next;
		api_desc_drop(desc);
	}
	return old;
}

/* What an earlier batch gave is not what the storage has any more. */
static void forget_batch(struct ckcache_desc *desc)
{
	const struct api_batch none = { .state = API_BATCH_NONE };
	struct api_batch batch = exchange_batch(desc, &none);

	cmn_buffer_release(&batch.blob);
}

/* What an earlier batch gave; CMN_STALE: none was loaded from this storage. */
static enum cmn_status take_batch(const struct ckcache_storage *storage, struct ckcache_desc *desc,
				  struct cmn_buffer *ret)
{
	const struct api_batch none = { .state = API_BATCH_NONE };
	struct api_batch batch = exchange_batch(desc, &none);
	bool is_of_it = batch.ctx == storage->ctx && batch.load == storage->load;

	if (is_of_it && batch.state == API_BATCH_FOUND) {
		*ret = batch.blob;
		return CMN_OK;
	}
	cmn_buffer_release(&batch.blob);
	return is_of_it && batch.state == API_BATCH_ABSENT ? CMN_MISS : CMN_STALE;
}

enum cmn_status api_storage_load(const struct ckcache_storage *storage, struct ckcache_desc *desc,
				 struct cmn_buffer *ret)
{
	uint64_t begin = cmn_clock_monotonic(), ns = 0;
	enum ckcache_status said = CKCACHE_MISS;
	enum cmn_status status = take_batch(storage, desc, ret), sound;

	if (status == CMN_STALE) {
		for (int i = 0; i < LOAD_TRIES && status == CMN_STALE; i++)
			status = load_once(storage, &desc->id, ret, &said);
		ns = cmn_clock_monotonic() - begin;
	}
	if (status == CMN_OK) {
		sound = api_blob_check(cmn_buffer_view(ret), desc->kind->blob, &desc->id);
		api_storage_trace(storage, desc, sound == CMN_OK ? CKCACHE_EVENT_HIT : CKCACHE_EVENT_UNUSABLE,
				  api_status_of_blob(sound), ret->len, ns);
		if (sound != CMN_OK) {
			(void)!api_storage_evict(storage, desc);	/* whether it goes or not, it is not used */
			status = CMN_MISS;
		}
	} else {
		api_storage_trace(storage, desc, CKCACHE_EVENT_MISS, said, 0, ns);
	}
	if (status != CMN_OK)
		cmn_buffer_release(ret);
	return status == CMN_STALE ? CMN_MISS : status;
}

enum cmn_status api_storage_store(const struct ckcache_storage *storage, struct ckcache_desc *desc,
				  struct cmn_view blob)
{
	uint64_t begin = cmn_clock_monotonic();
	enum ckcache_status status;

	if (!storage->store)
		return CMN_MISS;
	forget_batch(desc);
	status = storage->store(storage->ctx, API_ID_SIZE, desc->id.bytes, blob.len, blob.data);
	api_storage_trace(storage, desc, status == CKCACHE_OK ? CKCACHE_EVENT_STORED :
			  CKCACHE_EVENT_NOT_STORED, status, blob.len, cmn_clock_monotonic() - begin);
	return status == CKCACHE_OK ? CMN_OK : CMN_ERR_IO;
}

enum cmn_status api_storage_evict(const struct ckcache_storage *storage, struct ckcache_desc *desc)
{
	uint64_t begin = cmn_clock_monotonic();
	enum ckcache_status status;

	if (!storage->evict)
		return CMN_MISS;
	forget_batch(desc);
	status = storage->evict(storage->ctx, API_ID_SIZE, desc->id.bytes);
	api_storage_trace(storage, desc, CKCACHE_EVENT_EVICTED, status, 0, cmn_clock_monotonic() - begin);
	return status == CKCACHE_OK || status == CKCACHE_MISS ? CMN_OK : CMN_ERR_IO;
}

enum ckcache_status ckcache_desc_evict(struct ckcache_desc *desc, const struct ckcache_storage *storage)
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
		enum cmn_status one = cc_cache_remove(desc->cache, &desc->keys[i]);

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
		next = exchange_batch(loading->descs[i], &next);
		cmn_buffer_release(&next.blob);
	}
}

enum ckcache_status ckcache_desc_load_batch(const struct ckcache_storage *storage, size_t count,
					struct ckcache_desc *const *descs)
{
	CMN_NOT_CANCELLED;
	enum ckcache_status status = CKCACHE_ERROR_OUT_OF_MEMORY;
	struct loading loading = { 0 };
	uint8_t *ids;

	if (!storage || !api_storage_is_valid(storage) || (count && !descs))
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	for (size_t i = 0; i < count; i++) {
		if (!descs[i])
			return CKCACHE_ERROR_INVALID_ARGUMENT;
	}
	if (!count || !HAS(storage, load_batch))
		return CKCACHE_OK;
	ids = calloc(count, API_ID_SIZE);
	loading.descs = calloc(count, sizeof(*loading.descs));
	loading.blobs = calloc(count, sizeof(*loading.blobs));
	if (!ids || !loading.descs || !loading.blobs)
		goto out;
	for (size_t i = 0; i < count; i++) {
		if (!api_desc_has_id(descs[i]))
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
