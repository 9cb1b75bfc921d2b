/* SPDX-License-Identifier: MIT */
/* blob: digests of keys; writing and checking. */
#include "layers/shared/api/blob.h"

#include <endian.h>
#include <string.h>

#include "cachecore/entry.h"

static const uint8_t id_magic[4] = { 'C', 'K', 'I', 'D' };

enum {
	ID_AT_VERSION = sizeof(id_magic),
	ID_AT_PARTS = ID_AT_VERSION + 4,
	ID_AT_WHOLE = ID_AT_PARTS + CC_PART_COUNT * CMN_HASH_SIZE,
};

/* Part by part: one hash for each key, and a hash of these. */
static bool add_parts(size_t count, const struct cc_key *keys, struct api_id *id)
{
	struct cmn_buffer hashes[CC_PART_COUNT] = { { 0 } };
	bool failed = false;

	for (size_t i = 0; i < count; i++) {
		struct cmn_hash parts[CC_PART_COUNT];

		cc_key_part_hashes(cc_key_view(&keys[i]), parts);
		for (size_t part = 0; part < CC_PART_COUNT; part++)
			cmn_buffer_append(&hashes[part], parts[part].bytes, CMN_HASH_SIZE);
	}
	for (size_t part = 0; part < CC_PART_COUNT; part++) {
		struct cmn_hash hash = cmn_hash_of(hashes[part].data, hashes[part].len);

		memcpy(id->bytes + ID_AT_PARTS + part * CMN_HASH_SIZE, hash.bytes, CMN_HASH_SIZE);
		failed = failed || hashes[part].failed;
		cmn_buffer_release(&hashes[part]);
	}
	return !failed;
}

static void update_sized(struct cmn_hasher *hasher, struct cmn_view bytes)
{
	const uint64_t len = htole64(bytes.len);

	cmn_hasher_update(hasher, &len, sizeof(len));
	cmn_hasher_update(hasher, bytes.data, bytes.len);
}

static bool add_whole(size_t count, const struct cc_key *keys, struct api_id *id)
{
	struct cmn_hasher *hasher = cmn_hasher_new();
	struct cmn_hash hash;

	if (!hasher)
		return false;
	/* Of the version and the parts too: the two digests of a byte are independent of each other. */
	cmn_hasher_update(hasher, id->bytes, ID_AT_WHOLE);
	for (size_t i = 0; i < count; i++)
		update_sized(hasher, cc_key_local_view(&keys[i]));	/* an image may name its include paths */
	hash = cmn_hasher_digest(hasher);
	memcpy(id->bytes + ID_AT_WHOLE, hash.bytes, CMN_HASH_SIZE);
	cmn_hasher_free(hasher);
	return true;
}

enum cmn_status api_id_make(size_t count, const struct cc_key *keys, struct api_id *ret)
{
	const uint32_t version = htole32(API_ID_VERSION);
	struct api_id id = { { 0 } };

	for (size_t i = 0; i < count; i++) {
		enum cmn_status status = cc_key_status(&keys[i]);

		if (status != CMN_OK)
			return status;
	}
	memcpy(id.bytes, id_magic, sizeof(id_magic));
	memcpy(id.bytes + ID_AT_VERSION, &version, sizeof(version));
	if (!add_parts(count, keys, &id) || !add_whole(count, keys, &id))
		return CMN_ERR_NOMEM;
	*ret = id;
	return CMN_OK;
}

static bool same_part(const struct api_id *a, const struct api_id *b, enum cc_part part)
{
	size_t at = ID_AT_PARTS + (size_t)part * CMN_HASH_SIZE;

	return memcmp(a->bytes + at, b->bytes + at, CMN_HASH_SIZE) == 0;
}

static enum cmn_status compare_ids(const struct api_id *wanted, const struct api_id *found)
{
	if (memcmp(wanted->bytes, found->bytes, API_ID_SIZE) == 0)
		return CMN_OK;
	if (!same_part(wanted, found, CC_PART_IMAGE) ||
	    !same_part(wanted, found, CC_PART_CONSTANTS))
		return CMN_MISS;
	if (!same_part(wanted, found, CC_PART_DEVICE))
		return CMN_STALE;
	return same_part(wanted, found, CC_PART_OPTIONS) ? CMN_STALE : CMN_MISS;
}

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
	return cmn_hash_fold(cmn_hash_of(blob, AT_HASH),
			     cmn_hash_of(blob + API_BLOB_HEADER_SIZE, len - API_BLOB_HEADER_SIZE));
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
	return status == CMN_OK ? compare_ids(id, &found) : status;
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
