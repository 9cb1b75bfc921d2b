/* SPDX-License-Identifier: MIT */
/*
 * entry: results in memory, and the encoding of both of an entry's files. An entry
 * owns one buffer: the payload that it was built from, or the whole file that it was
 * read from, of which the views handed out are parts; nothing is copied on a hit.
 */
#include "cachecore/entry.h"

#include <stdlib.h>
#include <string.h>

#include "cachecore/disk/compression.h"

/* The last byte is a control character, so that a text-mode transfer shows as damage. */
static const uint8_t bin_magic[8] = { 'c', 'k', 'c', 'b', 'i', 'n', '\r', '\n' };
static const uint8_t src_magic[8] = { 'c', 'k', 'c', 's', 'r', 'c', '\r', '\n' };

/* Where a file's hash stands in its header: of the header before it, and of the rest of the file. */
#define BIN_HASH_AT (CC_ENTRY_HEADER_SIZE - CMN_HASH_SIZE)
#define SRC_HASH_AT (CC_SRC_HEADER_SIZE - CMN_HASH_SIZE)
#define FIELD_HEAD_SIZE (4 + 4 + 8)

void *cc_fields_add_room(struct cmn_buffer *fields, uint32_t tag, uint32_t index, size_t len)
{
	void *room;

	/* Where the sum overflows, there is no room for len either. */
	if (!cmn_buffer_reserve(fields, len > SIZE_MAX - FIELD_HEAD_SIZE ? len : FIELD_HEAD_SIZE + len))
		return NULL;
	cmn_buffer_append_u32(fields, tag);
	cmn_buffer_append_u32(fields, index);
	cmn_buffer_append_u64(fields, len);
	room = fields->data + fields->len;
	fields->len += len;
	return room;
}

bool cc_fields_find(struct cmn_view fields, uint32_t tag, uint32_t index, struct cmn_view *ret)
{
	struct cmn_reader reader = cmn_reader_of(fields);

	/* A handful of fields: a walk beats any table. */
	while (reader.left && !reader.failed) {
		bool same_tag = cmn_reader_u32(&reader) == tag;
		bool same_index = cmn_reader_u32(&reader) == index;
		struct cmn_view value = cmn_reader_sized(&reader);

		if (same_tag && same_index && !reader.failed) {
			*ret = value;
			return true;
		}
	}
	return false;
}

struct cc_entry *cc_entry_new(uint64_t build_ns)
{
	struct cc_entry *entry = calloc(1, sizeof(*entry));

	if (entry) {
		atomic_init(&entry->refs, 1);
		entry->build_ns = build_ns;
	}
	return entry;
}

void *cc_entry_add_room(struct cc_entry *entry, uint32_t tag, uint32_t index, size_t len)
{
	struct cmn_buffer *bytes = &entry->bytes;
	void *room;

	if (len > CC_ENTRY_MAX_PAYLOAD || bytes->len > CC_ENTRY_MAX_PAYLOAD - len) {
		entry->too_large = true;
		return NULL;
	}
	room = cc_fields_add_room(bytes, tag, index, len);
	entry->image_size += room && tag == CC_TAG_IMAGE ? len : 0;
	return room;
}

void cc_entry_add(struct cc_entry *entry, uint32_t tag, uint32_t index, const void *data,
		  size_t len)
{
	void *room = cc_entry_add_room(entry, tag, index, len);

	if (room && len)
		memcpy(room, data, len);
}

enum cmn_status cc_entry_finish(struct cc_entry *entry, struct cc_manifest *manifest)
{
	enum cmn_status status = CMN_OK;

	if (entry->bytes.failed)
		status = CMN_ERR_NOMEM;
	else if (entry->too_large || entry->bytes.len > CC_ENTRY_MAX_PAYLOAD)
		status = CMN_ERR_TOO_LARGE;
	if (status == CMN_OK)
		entry->manifest = manifest;
	else
		cc_manifest_free(manifest);
	return status;
}

void cc_entry_set_failed(struct cc_entry *entry, bool in_memory_only, uint64_t began_ns)
{
	entry->failed = true;
	entry->began_ns = began_ns;
	entry->in_memory_only = in_memory_only;
}

/* What a failure's fields are but for the witnesses, which are the last. */
static struct cmn_view told(const struct cc_entry *entry)
{
	struct cmn_view payload = cc_entry_payload(entry), witnesses;

	if (payload.data && cc_entry_find(entry, CC_TAG_WITNESSES, 0, &witnesses))
		payload.len -= FIELD_HEAD_SIZE + witnesses.len;
	return payload;
}

bool cc_entry_take_manifest(struct cc_entry *entry, struct cc_entry *former)
{
	if (!former->failed || !cmn_view_equal(told(entry), told(former)))
		return false;
	entry->manifest = former->manifest;
	former->manifest = NULL;
	return true;
}

bool cc_entry_confirm(const struct cc_entry *entry, const struct cc_entry *former, struct cc_witnesses *ret)
{
	const struct cc_witnesses *seen = &former->witnesses;
	uint64_t own = entry->witnesses.last;

	if (!former->failed || !cmn_view_equal(told(entry), told(former)))
		return false;
	*ret = (struct cc_witnesses){ seen->last == own ? seen->former : seen->last, own };
	return true;
}

struct cc_entry *cc_entry_copy_small(struct cc_entry *entry)
{
	struct cmn_reader reader = cmn_reader_of(cc_entry_payload(entry));
	struct cc_entry *small = cc_entry_new(entry->build_ns);

	if (!small)
		return cc_entry_ref(entry);
	while (reader.left) {
		uint32_t tag = cmn_reader_u32(&reader), index = cmn_reader_u32(&reader);
		struct cmn_view value = cmn_reader_sized(&reader);

		if (tag != CC_TAG_IMAGE)
			cc_entry_add(small, tag, index, value.data, value.len);
	}
	if (cc_entry_finish(small, NULL) == CMN_OK)
		return small;
	cc_entry_unref(small);
	return cc_entry_ref(entry);
}

void cc_entry_free(struct cc_entry *entry)
{
	cc_manifest_free(entry->manifest);
	cmn_buffer_release(&entry->bytes);
	free(entry);
}

static void add_witnesses(struct cmn_view fields, const struct cc_witnesses *witnesses, struct cmn_buffer *ret)
{
	cmn_buffer_append(ret, fields.data, fields.len);
	cmn_buffer_append_u32(ret, CC_TAG_WITNESSES);
	cmn_buffer_append_u32(ret, 0);
	cmn_buffer_append_u64(ret, 2 * sizeof(uint64_t));
	cmn_buffer_append_u64(ret, witnesses->former);
	cmn_buffer_append_u64(ret, witnesses->last);
}

/* CMN_ERR_CORRUPT: a failure of which nobody is a witness. */
static enum cmn_status read_witnesses(struct cc_entry *entry)
{
	struct cmn_reader reader;
	struct cmn_view field;

	if (!cc_entry_find(entry, CC_TAG_WITNESSES, 0, &field))
		return CMN_ERR_CORRUPT;
	reader = cmn_reader_of(field);
	entry->witnesses.former = cmn_reader_u64(&reader);
	entry->witnesses.last = cmn_reader_u64(&reader);
	return reader.failed || reader.left ? CMN_ERR_CORRUPT : CMN_OK;
}

enum cmn_status cc_entry_encode(const struct cc_entry *entry, int level,
				const struct cmn_hash *key_hash, const struct cc_witnesses *witnesses,
				uint8_t ret_header[CC_ENTRY_HEADER_SIZE],
				struct cmn_buffer *ret_stored)
{
	struct cmn_view payload = cc_entry_payload(entry);
	struct cmn_hash payload_hash, stored_hash, file_hash;
	struct cmn_buffer stored = { 0 }, header = { 0 }, failure = { 0 };
	enum cmn_status status = CMN_OK;
	bool compressed;

	if (entry->failed) {
		add_witnesses(told(entry), witnesses ? witnesses : &entry->witnesses, &failure);
		payload = cmn_buffer_view(&failure);
	}
	payload_hash = stored_hash = cmn_hash_of(payload.data, payload.len);
	compressed = cc_compression_compress(payload, level, entry->load_rate, &stored);
	if (compressed)
		stored_hash = cmn_hash_of(stored.data, stored.len);
	cmn_buffer_append(&header, bin_magic, sizeof(bin_magic));
	cmn_buffer_append_u32(&header, entry->failed ? CC_ENTRY_VERSION_FAILED : CC_ENTRY_VERSION);
	cmn_buffer_append_u32(&header, compressed ? CC_CODEC_ZLIB : CC_CODEC_NONE);
	cmn_buffer_append_u64(&header, payload.len);
	cmn_buffer_append_u64(&header, stored.len ? stored.len : payload.len);
	cmn_buffer_append_u64(&header, entry->build_ns);
	cmn_buffer_append(&header, key_hash->bytes, CMN_HASH_SIZE);
	cmn_buffer_append(&header, payload_hash.bytes, CMN_HASH_SIZE);
	if (header.failed || failure.failed) {
		status = CMN_ERR_NOMEM;
		goto out;
	}
	/* The entry itself does not have these bytes. */
	if (entry->failed && !compressed) {
		stored = failure;
		failure = (struct cmn_buffer){ 0 };
	}
	file_hash = cmn_hash_fold(cmn_hash_of(header.data, BIN_HASH_AT), stored_hash);
	memcpy(ret_header, header.data, BIN_HASH_AT);
	memcpy(ret_header + BIN_HASH_AT, file_hash.bytes, CMN_HASH_SIZE);
	*ret_stored = stored;
	stored = (struct cmn_buffer){ 0 };
out:
	cmn_buffer_release(&header);
	cmn_buffer_release(&stored);
	cmn_buffer_release(&failure);
	return status;
}

enum cmn_status cc_entry_read_header(struct cmn_view file, struct cc_entry_header *ret)
{
	struct cmn_reader reader = cmn_reader_of(file);
	struct cmn_view mark = cmn_reader_bytes(&reader, sizeof(bin_magic));
	uint32_t version = cmn_reader_u32(&reader);
	struct cc_entry_header header;

	if (!mark.data || reader.failed || memcmp(mark.data, bin_magic, sizeof(bin_magic)) != 0)
		return CMN_ERR_CORRUPT;
	if (version != CC_ENTRY_VERSION && version != CC_ENTRY_VERSION_FAILED)
		return CMN_ERR_VERSION;
	header.failed = version == CC_ENTRY_VERSION_FAILED;
	header.codec = cmn_reader_u32(&reader);
	header.payload_len = cmn_reader_u64(&reader);
	header.stored_len = cmn_reader_u64(&reader);
	header.build_ns = cmn_reader_u64(&reader);
	header.key_hash = cmn_reader_hash(&reader);
	header.payload_hash = cmn_reader_hash(&reader);
	header.file_hash = cmn_reader_hash(&reader);
	if (reader.failed || header.codec > CC_CODEC_ZLIB ||
	    header.payload_len > CC_ENTRY_MAX_PAYLOAD || header.stored_len > header.payload_len)
		return CMN_ERR_CORRUPT;
	*ret = header;
	return CMN_OK;
}

/* In place of the stored payload, the decoded one. */
static enum cmn_status decompress(struct cc_entry *entry, const struct cc_entry_header *header,
				  const struct cmn_room *room)
{
	struct cmn_view stored = cc_entry_payload(entry);
	struct cmn_buffer payload = { 0 };
	struct cmn_hash hash;
	enum cmn_status status;

	if (room && header->payload_len >= room->from)
		(void)cmn_buffer_reserve_in(&payload, room->slabs,
					    (size_t)header->payload_len);	/* else malloc serves */
	status = cc_codec_decompress((enum cc_codec)header->codec, stored, header->payload_len,
				     &payload);
	cmn_buffer_release(&entry->bytes);
	entry->bytes = payload;
	entry->payload_at = 0;
	if (status != CMN_OK)
		return status;
	hash = cmn_hash_of(payload.data, payload.len);
	return cmn_hash_equal(&hash, &header->payload_hash) ? CMN_OK : CMN_ERR_CORRUPT;
}

/* Before anything is believed: the file is exactly what was written, and for that key. */
static enum cmn_status verify(struct cmn_view file, const struct cmn_hash *key_hash,
			      struct cc_entry_header *ret)
{
	enum cmn_status status = cc_entry_read_header(file, ret);
	struct cmn_hash stored_hash, file_hash;

	if (status != CMN_OK)
		return status;
	if (ret->stored_len != file.len - CC_ENTRY_HEADER_SIZE)
		return CMN_ERR_CORRUPT;
	stored_hash = cmn_hash_of((const uint8_t *)file.data + CC_ENTRY_HEADER_SIZE,
				  (size_t)ret->stored_len);
	file_hash = cmn_hash_fold(cmn_hash_of(file.data, BIN_HASH_AT), stored_hash);
	if (!cmn_hash_equal(&file_hash, &ret->file_hash))
		return CMN_ERR_CORRUPT;
	if (ret->codec == CC_CODEC_NONE && (ret->stored_len != ret->payload_len ||
					    !cmn_hash_equal(&stored_hash, &ret->payload_hash)))
		return CMN_ERR_CORRUPT;
	return cmn_hash_equal(&ret->key_hash, key_hash) ? CMN_OK : CMN_STALE;
}

enum cmn_status cc_entry_decode(struct cmn_buffer *file, const struct cmn_hash *key_hash,
				const struct cmn_room *room, struct cc_manifest *manifest, struct cc_entry **ret)
{
	struct cc_entry_header header;
	struct cc_entry *entry = NULL;
	struct cmn_reader reader;
	enum cmn_status status = verify(cmn_buffer_view(file), key_hash, &header);

	if (status == CMN_OK) {
		entry = malloc(sizeof(*entry));
		status = entry ? CMN_OK : CMN_ERR_NOMEM;
	}
	if (status != CMN_OK)
		goto out;
	*entry = (struct cc_entry){ .refs = 1, .bytes = *file, .payload_at = CC_ENTRY_HEADER_SIZE,
				    .build_ns = header.build_ns, .failed = header.failed };
	*file = (struct cmn_buffer){ 0 };
	if (header.codec != CC_CODEC_NONE)
		status = decompress(entry, &header, room);
	if (status != CMN_OK)
		goto out;
	/* Each field lies within the payload, which makes later walks safe. */
	reader = cmn_reader_of(cc_entry_payload(entry));
	while (reader.left && !reader.failed) {
		bool is_image = cmn_reader_u32(&reader) == CC_TAG_IMAGE;

		(void)cmn_reader_u32(&reader);
		entry->image_size += cmn_reader_sized(&reader).len * is_image;
	}
	if (reader.failed)
		status = CMN_ERR_CORRUPT;
	else if (entry->failed)
		status = read_witnesses(entry);
	if (status != CMN_OK)
		goto out;
	entry->manifest = manifest;
	*ret = entry;
	entry = NULL;
out:
	cc_entry_unref(entry);
	cmn_buffer_release(file);
	return status;
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
	cmn_buffer_append(&file, src_magic, sizeof(src_magic));
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
		hash = cmn_hash_fold(cmn_hash_of(file.data, SRC_HASH_AT),
				     cmn_hash_of(file.data + CC_SRC_HEADER_SIZE,
						 file.len - CC_SRC_HEADER_SIZE));
		memcpy(file.data + SRC_HASH_AT, hash.bytes, CMN_HASH_SIZE);
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
	struct cmn_view mark = cmn_reader_bytes(&reader, sizeof(src_magic));
	uint32_t version = cmn_reader_u32(&reader);
	struct cc_src_header header;

	if (!mark.data || reader.failed || memcmp(mark.data, src_magic, sizeof(src_magic)) != 0)
		return CMN_ERR_CORRUPT;
	if (version != CC_SRC_VERSION)
		return CMN_ERR_VERSION;
	(void)cmn_reader_u32(&reader);	/* zero; the hash covers it */
	header.key_len = cmn_reader_u64(&reader);
	header.manifest_len = cmn_reader_u64(&reader);
	header.hash = cmn_reader_hash(&reader);
	if (reader.failed || file_size < CC_SRC_HEADER_SIZE ||
	    header.key_len > file_size - CC_SRC_HEADER_SIZE ||
	    header.manifest_len != file_size - CC_SRC_HEADER_SIZE - header.key_len)
		return CMN_ERR_CORRUPT;
	*ret = header;
	return CMN_OK;
}

enum cmn_status cc_src_file_decode(struct cmn_view file, struct cc_src *ret)
{
	struct cc_src_header header;
	enum cmn_status status = cc_src_file_read_header(file, file.len, &header);
	const uint8_t *rest;
	struct cmn_hash hash;

	if (status != CMN_OK)
		return status;
	rest = (const uint8_t *)file.data + CC_SRC_HEADER_SIZE;
	hash = cmn_hash_fold(cmn_hash_of(file.data, SRC_HASH_AT),
			     cmn_hash_of(rest, file.len - CC_SRC_HEADER_SIZE));
	if (!cmn_hash_equal(&hash, &header.hash))
		return CMN_ERR_CORRUPT;
	*ret = (struct cc_src){
		.key = { rest, (size_t)header.key_len },
		.manifest = { rest + header.key_len, (size_t)header.manifest_len },
		.hash = hash,
	};
	return CMN_OK;
}

enum cmn_status cc_src_file_check(struct cmn_view header, struct cmn_view key,
				  struct cmn_view manifest, struct cc_src *ret)
{
	struct cmn_hasher *hasher = cmn_hasher_new();
	struct cmn_hash hash;

	if (!hasher)
		return CMN_ERR_NOMEM;
	cmn_hasher_update(hasher, key.data, key.len);
	if (manifest.len)
		cmn_hasher_update(hasher, manifest.data, manifest.len);
	hash = cmn_hash_fold(cmn_hash_of(header.data, SRC_HASH_AT), cmn_hasher_digest(hasher));
	cmn_hasher_free(hasher);
	if (memcmp(hash.bytes, (const uint8_t *)header.data + SRC_HASH_AT, CMN_HASH_SIZE) != 0)
		return CMN_ERR_CORRUPT;
	*ret = (struct cc_src){ .key = key, .manifest = manifest, .hash = hash };
	return CMN_OK;
}
