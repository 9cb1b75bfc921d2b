/* SPDX-License-Identifier: MIT */
/* storage: calls of the application's callbacks. */
#include "layers/shared/api/storage.h"

/* How often a blob may change its size between two calls, by another thread's store. */
#define LOAD_TRIES 4
/* No blob is larger (cachecore/entry.h has the same bound for payloads). */
#define MAX_BLOB ((size_t)UINT32_MAX)

bool api_storage_is_valid(const struct ckcache_storage *storage)
{
	return !storage || (storage->struct_size >= sizeof(*storage) && storage->load);
}

/* The blob that the storage gives. CMN_STALE: it changed meanwhile. */
static enum cmn_status load_once(const struct ckcache_storage *storage, const struct api_id *id,
				 struct cmn_buffer *ret)
{
	enum ckcache_status status;
	size_t size = 0, room;

	status = storage->load(storage->ctx, API_ID_SIZE, id->bytes, &size, NULL);
	if (status != CKCACHE_OK || size == 0 || size > MAX_BLOB)
		return CMN_MISS;
	ret->len = 0;
	if (!cmn_buffer_reserve(ret, size))
		return CMN_ERR_NOMEM;
	room = size;
	status = storage->load(storage->ctx, API_ID_SIZE, id->bytes, &size, ret->data);
	if (status == CKCACHE_ERROR_BUFFER_TOO_SMALL)
		return CMN_STALE;
	if (status != CKCACHE_OK || size > room)
		return CMN_MISS;
	ret->len = size;
	return CMN_OK;
}

enum cmn_status api_storage_load(const struct ckcache_storage *storage, const struct api_id *id,
				 struct cmn_buffer *ret)
{
	enum cmn_status status = CMN_STALE;

	for (int i = 0; i < LOAD_TRIES && status == CMN_STALE; i++)
		status = load_once(storage, id, ret);
	if (status == CMN_OK && api_blob_check(cmn_buffer_view(ret), id) != CMN_OK) {
		(void)!api_storage_evict(storage, id);	/* whether it goes or not, it is not used */
		status = CMN_MISS;
	}
	if (status != CMN_OK)
		cmn_buffer_release(ret);
	return status == CMN_STALE ? CMN_MISS : status;
}

enum cmn_status api_storage_store(const struct ckcache_storage *storage, const struct api_id *id,
				  struct cmn_view blob)
{
	if (!storage->store)
		return CMN_MISS;
	return storage->store(storage->ctx, API_ID_SIZE, id->bytes, blob.len, blob.data) ==
	       CKCACHE_OK ? CMN_OK : CMN_ERR_IO;
}

enum cmn_status api_storage_evict(const struct ckcache_storage *storage, const struct api_id *id)
{
	enum ckcache_status status;

	if (!storage->evict)
		return CMN_MISS;
	status = storage->evict(storage->ctx, API_ID_SIZE, id->bytes);
	return status == CKCACHE_OK || status == CKCACHE_MISS ? CMN_OK : CMN_ERR_IO;
}
