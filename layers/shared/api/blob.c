/* SPDX-License-Identifier: MIT */
/* blob: writing and checking. */
#include "layers/shared/api/blob.h"

#include <string.h>

#include "cachecore/entry.h"

static const uint8_t magic[8] = { 'C', 'K', 'C', 'B', 'L', 'O', 'B', '\n' };

enum {
	AT_VERSION = sizeof(magic),
	AT_KIND = AT_VERSION + 4,
	AT_ID = AT_KIND + 4,
	AT_LEN = AT_ID + API_ID_SIZE,
	AT_HASH = AT_LEN + 8,
};
_Static_assert(AT_HASH + CMN_HASH_SIZE == API_BLOB_HEADER_SIZE, "the header is as its grammar says");

static struct cmn_hash hash_of_blob(const uint8_t *blob, size_t len)
{
	const struct cmn_hash both[2] = {
		cmn_hash_of(blob, AT_HASH),
		cmn_hash_of(blob + API_BLOB_HEADER_SIZE, len - API_BLOB_HEADER_SIZE),
	};

	return cmn_hash_of(both, sizeof(both));
}

void api_blob_begin(struct cmn_buffer *blob, enum ckcache_kind kind, const struct api_id *id)
{
	static const uint8_t later[8 + CMN_HASH_SIZE];

	cmn_buffer_append(blob, magic, sizeof(magic));
	cmn_buffer_append_u32(blob, API_BLOB_VERSION);
	cmn_buffer_append_u32(blob, (uint32_t)kind);
	cmn_buffer_append(blob, id->bytes, API_ID_SIZE);
	cmn_buffer_append(blob, later, sizeof(later));
}

void *api_blob_add_room(struct cmn_buffer *blob, uint32_t tag, uint32_t index, size_t len)
{
	void *room = cc_fields_add_room(blob, tag, index, len);

	return room ? memset(room, 0, len) : NULL;
}

void api_blob_add(struct cmn_buffer *blob, uint32_t tag, uint32_t index, struct cmn_view bytes)
{
	void *room = cc_fields_add_room(blob, tag, index, bytes.len);

	if (room && bytes.len)
		memcpy(room, bytes.data, bytes.len);
}

enum cmn_status api_blob_end(struct cmn_buffer *blob)
{
	uint64_t len = blob->len - API_BLOB_HEADER_SIZE;
	struct cmn_hash hash;

	if (blob->failed)
		return CMN_ERR_NOMEM;
	for (unsigned int i = 0; i < 8; i++)
		blob->data[AT_LEN + i] = (uint8_t)(len >> (8 * i));
	hash = hash_of_blob(blob->data, blob->len);
	memcpy(blob->data + AT_HASH, hash.bytes, CMN_HASH_SIZE);
	return CMN_OK;
}

/* What a sound blob's header says. CMN_ERR_CORRUPT, CMN_ERR_VERSION. */
static enum cmn_status read_header(struct cmn_view blob, uint32_t *ret_kind, struct api_id *ret_id)
{
	const uint8_t *bytes = blob.data;
	struct cmn_reader reader = cmn_reader_of(blob);
	struct cmn_hash hash;

	if (blob.len < API_BLOB_HEADER_SIZE || memcmp(bytes, magic, sizeof(magic)) != 0)
		return CMN_ERR_CORRUPT;
	(void)cmn_reader_bytes(&reader, sizeof(magic));	/* compared above */
	/* What follows is only what this version says. */
	if (cmn_reader_u32(&reader) != API_BLOB_VERSION)
		return CMN_ERR_VERSION;
	*ret_kind = cmn_reader_u32(&reader);
	cmn_reader_copy(&reader, ret_id->bytes, API_ID_SIZE);
	if (cmn_reader_u64(&reader) != blob.len - API_BLOB_HEADER_SIZE)
		return CMN_ERR_CORRUPT;
	hash = hash_of_blob(bytes, blob.len);
	return memcmp(bytes + AT_HASH, hash.bytes, CMN_HASH_SIZE) == 0 ? CMN_OK : CMN_ERR_CORRUPT;
}

enum cmn_status api_blob_check(struct cmn_view blob, enum ckcache_kind kind, const struct api_id *id)
{
	enum cmn_status status;
	struct api_id found;
	uint32_t found_kind;

	status = read_header(blob, &found_kind, &found);
	if (status == CMN_OK && found_kind != (uint32_t)kind)
		status = CMN_MISS;
	return status == CMN_OK ? api_id_compare(id, &found) : status;
}

enum ckcache_status ckcache_blob_get_kind(size_t size, const uint8_t *blob, enum ckcache_kind *ret_kind)
{
	struct api_id id;
	uint32_t kind;

	if (!size || !blob || !ret_kind)
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	switch (read_header((struct cmn_view){ blob, size }, &kind, &id)) {
	case CMN_OK:
		*ret_kind = (enum ckcache_kind)kind;
		return CKCACHE_OK;
	case CMN_ERR_VERSION:
		return CKCACHE_ERROR_VERSION;
	default:
		return CKCACHE_ERROR_DAMAGED;
	}
}

enum cmn_status api_blob_find(struct cmn_view blob, uint32_t tag, uint32_t index,
			      struct cmn_view *ret)
{
	struct cmn_reader reader = cmn_reader_of(blob);

	(void)cmn_reader_bytes(&reader, API_BLOB_HEADER_SIZE);	/* checked before */
	return cc_fields_find(cmn_reader_bytes(&reader, reader.left), tag, index, ret) ? CMN_OK : CMN_MISS;
}
