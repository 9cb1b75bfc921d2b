/* SPDX-License-Identifier: MIT */
/* id: digests of keys. */
#include "layers/shared/api/id.h"

#include <endian.h>
#include <string.h>

static const uint8_t magic[4] = { 'C', 'K', 'I', 'D' };

enum {
	AT_VERSION = sizeof(magic),
	AT_PARTS = AT_VERSION + 4,
	AT_WHOLE = AT_PARTS + CC_PART_COUNT * CMN_HASH_SIZE,
};

/* Part by part: one hash for each key, and a hash of these. */
static bool add_parts(size_t count, const struct cc_key *const *keys, struct api_id *id)
{
	struct cmn_buffer hashes[CC_PART_COUNT] = { { 0 } };
	bool failed = false;

	for (size_t i = 0; i < count; i++) {
		struct cmn_hash parts[CC_PART_COUNT];

		cc_key_part_hashes(cc_key_view(keys[i]), parts);
		for (size_t part = 0; part < CC_PART_COUNT; part++)
			cmn_buffer_append(&hashes[part], parts[part].bytes, CMN_HASH_SIZE);
	}
	for (size_t part = 0; part < CC_PART_COUNT; part++) {
		struct cmn_hash hash = cmn_hash_of(hashes[part].data, hashes[part].len);

		memcpy(id->bytes + AT_PARTS + part * CMN_HASH_SIZE, hash.bytes, CMN_HASH_SIZE);
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

static bool add_whole(size_t count, const struct cc_key *const *keys, struct api_id *id)
{
	struct cmn_hasher *hasher = cmn_hasher_new();
	struct cmn_hash hash;

	if (!hasher)
		return false;
	/* Of the version and the parts too: the two digests of a byte are independent of each other. */
	cmn_hasher_update(hasher, id->bytes, AT_WHOLE);
	for (size_t i = 0; i < count; i++)
		update_sized(hasher, cc_key_view(keys[i]));
	hash = cmn_hasher_digest(hasher);
	memcpy(id->bytes + AT_WHOLE, hash.bytes, CMN_HASH_SIZE);
	cmn_hasher_free(hasher);
	return true;
}

enum cmn_status api_id_make(size_t count, const struct cc_key *const *keys, struct api_id *ret)
{
	const uint32_t version = htole32(API_ID_VERSION);
	struct api_id id = { { 0 } };

	for (size_t i = 0; i < count; i++) {
		enum cmn_status status = cc_key_status(keys[i]);

		if (status != CMN_OK)
			return status;
	}
	memcpy(id.bytes, magic, sizeof(magic));
	memcpy(id.bytes + AT_VERSION, &version, sizeof(version));
	if (!add_parts(count, keys, &id) || !add_whole(count, keys, &id))
		return CMN_ERR_NOMEM;
	*ret = id;
	return CMN_OK;
}

static bool same_part(const struct api_id *a, const struct api_id *b, enum cc_part part)
{
	size_t at = AT_PARTS + (size_t)part * CMN_HASH_SIZE;

	return memcmp(a->bytes + at, b->bytes + at, CMN_HASH_SIZE) == 0;
}

enum cmn_status api_id_compare(const struct api_id *wanted, const struct api_id *found)
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
