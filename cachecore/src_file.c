/* SPDX-License-Identifier: MIT */
/* src_file: writes and verifies .src files. */
#include "cachecore/src_file.h"

#include <string.h>

#include "cachecore/store.h"

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
	cmn_buffer_append_u32(&file, CC_STORE_SRC_VERSION);
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

enum cmn_status cc_src_file_decode(struct cmn_view file, struct cc_src *ret)
{
	struct cmn_reader reader = cmn_reader_of(file);
	struct cmn_view mark = cmn_reader_bytes(&reader, sizeof(magic));
	uint32_t version = cmn_reader_u32(&reader);
	uint64_t key_len, manifest_len;
	struct cmn_hash hash;
	struct cmn_view hash_view;
	struct cc_src src;

	if (reader.failed || memcmp(mark.data, magic, sizeof(magic)) != 0)
		return CMN_ERR_CORRUPT;
	if (version != CC_STORE_SRC_VERSION)
		return CMN_ERR_VERSION;
	(void)cmn_reader_u32(&reader);	/* zero; the hash covers it */
	key_len = cmn_reader_u64(&reader);
	manifest_len = cmn_reader_u64(&reader);
	hash_view = cmn_reader_bytes(&reader, CMN_HASH_SIZE);
	src.key = cmn_reader_bytes(&reader, key_len);
	src.manifest = cmn_reader_bytes(&reader, manifest_len);
	if (reader.failed || reader.left != 0)
		return CMN_ERR_CORRUPT;
	memcpy(src.hash.bytes, hash_view.data, CMN_HASH_SIZE);
	hash = hash_file(file.data, file.len);
	if (!cmn_hash_equal(&hash, &src.hash))
		return CMN_ERR_CORRUPT;
	*ret = src;
	return CMN_OK;
}
