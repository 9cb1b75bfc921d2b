/* SPDX-License-Identifier: MIT */
/* src_file: writes and verifies .src files. */
#include "cachecore/disk/src_file.h"

#include <string.h>

static const uint8_t magic[8] = { 'c', 'k', 'c', 's', 'r', 'c', '\r', '\n' };

#define HASH_AT (CC_SRC_HEADER_SIZE - CMN_HASH_SIZE)

static struct cmn_hash hash_file(const uint8_t *file, size_t len)
{
	struct cmn_hash fold[2] = {
		cmn_hash_of(file, HASH_AT),
		cmn_hash_of(file + CC_SRC_HEADER_SIZE, len - CC_SRC_HEADER_SIZE),
	};

	return cmn_hash_of(fold, sizeof(fold));
}

enum cmn_status cc_src_file_encode(struct cmn_view key, const struct cc_manifest *manifest,
				   struct cmn_buffer *ret, struct cmn_hash *ret_hash)
{
	static const struct cmn_hash no_hash;
	struct cmn_buffer file = { 0 }, tail = { 0 };
	enum cmn_status status = CMN_OK;
	struct cmn_hash hash;

	if (manifest && cc_manifest_count(manifest))
		cc_manifest_encode(manifest, &tail);
	(void)cmn_buffer_reserve(&file, CC_SRC_HEADER_SIZE + key.len + tail.len);
	cmn_buffer_append(&file, magic, sizeof(magic));
	cmn_buffer_append_u32(&file, CC_SRC_VERSION);
	cmn_buffer_append_u32(&file, 0);
	cmn_buffer_append_u64(&file, key.len);
	cmn_buffer_append_u64(&file, tail.len);
	cmn_buffer_append(&file, no_hash.bytes, CMN_HASH_SIZE);
	cmn_buffer_append(&file, key.data, key.len);
	cmn_buffer_append(&file, tail.data, tail.len);
	if (file.failed || tail.failed)
		status = CMN_ERR_NOMEM;
	else if (file.len > CC_SRC_MAX_FILE)
		status = CMN_ERR_TOO_LARGE;
	if (status == CMN_OK) {
		hash = hash_file(file.data, file.len);
		memcpy(file.data + HASH_AT, hash.bytes, CMN_HASH_SIZE);
		*ret = file;
		*ret_hash = hash;
		file = (struct cmn_buffer){ 0 };
	}
	cmn_buffer_release(&tail);
	cmn_buffer_release(&file);
	return status;
}

enum cmn_status cc_src_file_read_header(struct cmn_view bytes, uint64_t file_size,
					struct cc_src_header *ret)
{
	struct cmn_reader reader = cmn_reader_of(bytes);
	struct cmn_view mark = cmn_reader_bytes(&reader, sizeof(magic));
	uint32_t version = cmn_reader_u32(&reader);
	struct cc_src_header header;
	struct cmn_view hash;

	if (reader.failed || memcmp(mark.data, magic, sizeof(magic)) != 0)
		return CMN_ERR_CORRUPT;
	if (version != CC_SRC_VERSION)
		return CMN_ERR_VERSION;
	(void)cmn_reader_u32(&reader);	/* zero; the hash covers it */
	header.key_len = cmn_reader_u64(&reader);
	header.manifest_len = cmn_reader_u64(&reader);
	hash = cmn_reader_bytes(&reader, CMN_HASH_SIZE);
	if (reader.failed || file_size < CC_SRC_HEADER_SIZE ||
	    header.key_len > file_size - CC_SRC_HEADER_SIZE ||
	    header.manifest_len != file_size - CC_SRC_HEADER_SIZE - header.key_len)
		return CMN_ERR_CORRUPT;
	memcpy(header.hash.bytes, hash.data, CMN_HASH_SIZE);
	*ret = header;
	return CMN_OK;
}

enum cmn_status cc_src_file_decode(struct cmn_view file, struct cc_src *ret)
{
	struct cc_src_header header;
	struct cmn_reader reader = cmn_reader_of(file);
	enum cmn_status status = cc_src_file_read_header(file, file.len, &header);
	struct cmn_hash hash;

	if (status != CMN_OK)
		return status;
	hash = hash_file(file.data, file.len);
	if (!cmn_hash_equal(&hash, &header.hash))
		return CMN_ERR_CORRUPT;
	(void)cmn_reader_bytes(&reader, CC_SRC_HEADER_SIZE);
	ret->key = cmn_reader_bytes(&reader, header.key_len);
	ret->manifest = cmn_reader_bytes(&reader, header.manifest_len);
	ret->hash = header.hash;
	return CMN_OK;
}

enum cmn_status cc_src_file_check(struct cmn_view header, struct cmn_view key,
				  struct cmn_view manifest, struct cc_src *ret)
{
	struct cmn_hasher *hasher;
	struct cmn_hash fold[2], hash;

	fold[0] = cmn_hash_of(header.data, HASH_AT);
	if (manifest.len) {
		hasher = cmn_hasher_new();
		if (!hasher)
			return CMN_ERR_NOMEM;
		cmn_hasher_update(hasher, key.data, key.len);
		cmn_hasher_update(hasher, manifest.data, manifest.len);
		fold[1] = cmn_hasher_digest(hasher);
		cmn_hasher_free(hasher);
	} else {
		fold[1] = cmn_hash_of(key.data, key.len);
	}
	hash = cmn_hash_of(fold, sizeof(fold));
	if (memcmp(hash.bytes, (const uint8_t *)header.data + HASH_AT, CMN_HASH_SIZE) != 0)
		return CMN_ERR_CORRUPT;
	*ret = (struct cc_src){ .key = key, .manifest = manifest, .hash = hash };
	return CMN_OK;
}
