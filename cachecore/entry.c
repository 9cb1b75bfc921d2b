/* SPDX-License-Identifier: MIT */
/*
 * entry: results in memory and their encoding. An entry owns one buffer: the
 * payload that it was built from, or the whole file that it was read from, of
 * which the views handed out are parts; nothing is copied on a hit.
 */
#include "cachecore/entry.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cachecore/disk/codec.h"
#include "cachecore/disk/compression.h"

/* The last byte is a control character, so that a text-mode transfer shows as damage. */
static const uint8_t magic[8] = { 'c', 'k', 'c', 'b', 'i', 'n', '\r', '\n' };

#define FILE_HASH_AT (CC_ENTRY_HEADER_SIZE - CMN_HASH_SIZE)
#define FIELD_HEAD_SIZE (4 + 4 + 8)
#define SMALL_IMAGE 4096	/* a page or so more or less is not worth a copy */

struct cc_entry {
	atomic_uint refs;
	struct cmn_buffer bytes;
	size_t payload_at;	/* in bytes */
	size_t image_size;
	uint64_t build_ns;
	unsigned int load_rate;
	struct cc_manifest *manifest;
	bool too_large;
	bool in_memory_only;
	bool remote, claimed;
};

struct field {
	uint32_t tag;
	uint32_t index;
	struct cmn_view value;
};

/* CMN_MISS at the end. */
static enum cmn_status read_field(struct cmn_reader *reader, struct field *ret)
{
	if (reader->left == 0)
		return CMN_MISS;
	ret->tag = cmn_reader_u32(reader);
	ret->index = cmn_reader_u32(reader);
	ret->value = cmn_reader_sized(reader);
	return reader->failed ? CMN_ERR_CORRUPT : CMN_OK;
}

/* Also what makes the later walks of cc_entry_find safe: each field lies within the payload. */
static enum cmn_status check_fields(struct cmn_view payload, size_t *ret_image_size)
{
	struct cmn_reader reader = cmn_reader_of(payload);
	enum cmn_status status;
	size_t image_size = 0;
	struct field field;

	while ((status = read_field(&reader, &field)) == CMN_OK) {
		if (field.tag == CC_TAG_IMAGE)
			image_size += field.value.len;
	}
	if (status != CMN_MISS)
		return status;
	*ret_image_size = image_size;
	return CMN_OK;
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
	if (!cmn_buffer_reserve(bytes, FIELD_HEAD_SIZE + len))
		return NULL;
	cmn_buffer_append_u32(bytes, tag);
	cmn_buffer_append_u32(bytes, index);
	cmn_buffer_append_u64(bytes, len);
	room = bytes->data + bytes->len;
	bytes->len += len;
	return room;
}

void cc_entry_add(struct cc_entry *entry, uint32_t tag, uint32_t index, const void *data,
		  size_t len)
{
	void *room = cc_entry_add_room(entry, tag, index, len);

	if (room && len)
		memcpy(room, data, len);
}

void cc_entry_fail(struct cc_entry *entry)
{
	entry->bytes.failed = true;
}

enum cmn_status cc_entry_finish(struct cc_entry *entry, struct cc_manifest *manifest)
{
	enum cmn_status status = CMN_OK;

	if (entry->bytes.failed)
		status = CMN_ERR_NOMEM;
	else if (entry->too_large || entry->bytes.len > CC_ENTRY_MAX_PAYLOAD)
		status = CMN_ERR_TOO_LARGE;
	else
		status = check_fields(cc_entry_payload(entry), &entry->image_size);
	if (status != CMN_OK) {
		cc_manifest_free(manifest);
		return status;
	}
	entry->manifest = manifest;
	return CMN_OK;
}

void cc_entry_keep_in_memory(struct cc_entry *entry)
{
	entry->in_memory_only = true;
}

bool cc_entry_in_memory_only(const struct cc_entry *entry)
{
	return entry->in_memory_only;
}

void cc_entry_set_remote(struct cc_entry *entry)
{
	entry->remote = true;
}

bool cc_entry_is_remote(const struct cc_entry *entry)
{
	return entry->remote;
}

void cc_entry_set_claimed(struct cc_entry *entry)
{
	entry->claimed = true;
}

bool cc_entry_is_claimed(const struct cc_entry *entry)
{
	return entry->claimed;
}

void cc_entry_set_load_rate(struct cc_entry *entry, unsigned int ns_per_byte)
{
	entry->load_rate = ns_per_byte;
}

struct cc_entry *cc_entry_ref(struct cc_entry *entry)
{
	/* Whoever takes a reference holds one already, so no order is needed. */
	(void)atomic_fetch_add_explicit(&entry->refs, 1, memory_order_relaxed);
	return entry;
}

struct cc_entry *cc_entry_without_images(struct cc_entry *entry)
{
	struct cmn_reader reader = cmn_reader_of(cc_entry_payload(entry));
	struct cc_entry *small = NULL;
	struct field field;

	if (entry->image_size >= SMALL_IMAGE)
		small = cc_entry_new(entry->build_ns);
	if (!small)
		return cc_entry_ref(entry);
	while (read_field(&reader, &field) == CMN_OK) {
		if (field.tag != CC_TAG_IMAGE)
			cc_entry_add(small, field.tag, field.index, field.value.data,
				     field.value.len);
	}
	if (cc_entry_finish(small, NULL) == CMN_OK)
		return small;
	cc_entry_unref(small);
	return cc_entry_ref(entry);
}

void cc_entry_unref(struct cc_entry *entry)
{
	/* The last one must see all that the others did. */
	if (!entry || atomic_fetch_sub_explicit(&entry->refs, 1, memory_order_acq_rel) != 1)
		return;
	cc_manifest_free(entry->manifest);
	cmn_buffer_release(&entry->bytes);
	free(entry);
}

bool cc_entry_find(const struct cc_entry *entry, uint32_t tag, uint32_t index,
		   struct cmn_view *ret)
{
	struct cmn_reader reader = cmn_reader_of(cc_entry_payload(entry));
	struct field field;

	/* A handful of fields: a walk beats any table. */
	while (read_field(&reader, &field) == CMN_OK) {
		if (field.tag == tag && field.index == index) {
			*ret = field.value;
			return true;
		}
	}
	return false;
}

uint64_t cc_entry_build_ns(const struct cc_entry *entry)
{
	return entry->build_ns;
}

const struct cc_manifest *cc_entry_manifest(const struct cc_entry *entry)
{
	return entry->manifest;
}

size_t cc_entry_payload_size(const struct cc_entry *entry)
{
	return entry->bytes.len - entry->payload_at;
}

size_t cc_entry_image_size(const struct cc_entry *entry)
{
	return entry->image_size;
}

struct cmn_view cc_entry_payload(const struct cc_entry *entry)
{
	/* An entry without fields has no buffer to point into. */
	if (!entry->bytes.data)
		return (struct cmn_view){ NULL, 0 };
	return (struct cmn_view){ entry->bytes.data + entry->payload_at,
				  cc_entry_payload_size(entry) };
}

static struct cmn_hash hash_file(const uint8_t *header, const struct cmn_hash *stored_hash)
{
	struct cmn_hash fold[2] = { cmn_hash_of(header, FILE_HASH_AT), *stored_hash };

	return cmn_hash_of(fold, sizeof(fold));
}

enum cmn_status cc_entry_encode(const struct cc_entry *entry, int level,
				const struct cmn_hash *key_hash,
				uint8_t ret_header[CC_ENTRY_HEADER_SIZE],
				struct cmn_buffer *ret_stored)
{
	struct cmn_view payload = cc_entry_payload(entry);
	struct cmn_hash payload_hash = cmn_hash_of(payload.data, payload.len);
	struct cmn_hash stored_hash = payload_hash, file_hash;
	struct cmn_buffer stored = { 0 }, header = { 0 };
	enum cmn_status status = CMN_OK;

	if (cc_compression_compress(payload, level, entry->load_rate, &stored))
		stored_hash = cmn_hash_of(stored.data, stored.len);
	cmn_buffer_append(&header, magic, sizeof(magic));
	cmn_buffer_append_u32(&header, CC_ENTRY_VERSION);
	cmn_buffer_append_u32(&header, stored.len ? CC_CODEC_ZLIB : CC_CODEC_NONE);
	cmn_buffer_append_u64(&header, payload.len);
	cmn_buffer_append_u64(&header, stored.len ? stored.len : payload.len);
	cmn_buffer_append_u64(&header, entry->build_ns);
	cmn_buffer_append(&header, key_hash->bytes, CMN_HASH_SIZE);
	cmn_buffer_append(&header, payload_hash.bytes, CMN_HASH_SIZE);
	if (header.failed) {
		status = CMN_ERR_NOMEM;
		goto out;
	}
	file_hash = hash_file(header.data, &stored_hash);
	memcpy(ret_header, header.data, FILE_HASH_AT);
	memcpy(ret_header + FILE_HASH_AT, file_hash.bytes, CMN_HASH_SIZE);
	*ret_stored = stored;
	stored = (struct cmn_buffer){ 0 };
out:
	cmn_buffer_release(&header);
	cmn_buffer_release(&stored);
	return status;
}

enum cmn_status cc_entry_read_header(struct cmn_view file, struct cc_entry_header *ret)
{
	struct cmn_reader reader = cmn_reader_of(file);
	struct cmn_view mark = cmn_reader_bytes(&reader, sizeof(magic));
	uint32_t version = cmn_reader_u32(&reader);
	struct cc_entry_header header;

	if (reader.failed || memcmp(mark.data, magic, sizeof(magic)) != 0)
		return CMN_ERR_CORRUPT;
	if (version != CC_ENTRY_VERSION)
		return CMN_ERR_VERSION;
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

/* Leaves the entry's buffer with the decoded payload at payload_at. */
static enum cmn_status decode_payload(struct cc_entry *entry, const struct cc_entry_header *header,
				      const struct cmn_room *room)
{
	struct cmn_view stored = { entry->bytes.data + CC_ENTRY_HEADER_SIZE,
				   entry->bytes.len - CC_ENTRY_HEADER_SIZE };
	struct cmn_buffer payload = { 0 };
	struct cmn_hash hash;
	enum cmn_status status;

	if (header->codec == CC_CODEC_NONE) {
		entry->payload_at = CC_ENTRY_HEADER_SIZE;
		return header->stored_len == header->payload_len ? CMN_OK : CMN_ERR_CORRUPT;
	}
	if (room && header->payload_len >= room->from)
		(void)cmn_buffer_reserve_in(&payload, room->slabs,
					    (size_t)header->payload_len);	/* else malloc serves */
	status = cc_codec_decompress((enum cc_codec)header->codec, stored, header->payload_len,
				     &payload);
	cmn_buffer_release(&entry->bytes);
	entry->bytes = payload;
	if (status != CMN_OK)
		return status;
	hash = cmn_hash_of(payload.data, payload.len);
	return cmn_hash_equal(&hash, &header->payload_hash) ? CMN_OK : CMN_ERR_CORRUPT;
}

/* Before anything is believed: the file is exactly what was written. */
static enum cmn_status verify_file(struct cmn_view file, const struct cmn_hash *key_hash,
				   struct cc_entry_header *ret)
{
	enum cmn_status status = cc_entry_read_header(file, ret);
	const uint8_t *bytes = file.data;
	struct cmn_hash stored_hash, file_hash;

	if (status != CMN_OK)
		return status;
	if (ret->stored_len != file.len - CC_ENTRY_HEADER_SIZE)
		return CMN_ERR_CORRUPT;
	stored_hash = cmn_hash_of(bytes + CC_ENTRY_HEADER_SIZE, file.len - CC_ENTRY_HEADER_SIZE);
	file_hash = hash_file(bytes, &stored_hash);
	if (!cmn_hash_equal(&file_hash, &ret->file_hash))
		return CMN_ERR_CORRUPT;
	if (ret->codec == CC_CODEC_NONE && !cmn_hash_equal(&stored_hash, &ret->payload_hash))
		return CMN_ERR_CORRUPT;
	return cmn_hash_equal(&ret->key_hash, key_hash) ? CMN_OK : CMN_STALE;
}

enum cmn_status cc_entry_decode(struct cmn_buffer *file, const struct cmn_hash *key_hash,
				const struct cmn_room *room, struct cc_manifest *manifest, struct cc_entry **ret)
{
	struct cc_entry_header header;
	struct cc_entry *entry = NULL;
	enum cmn_status status = verify_file(cmn_buffer_view(file), key_hash, &header);

	if (status != CMN_OK)
		goto out;
	entry = cc_entry_new(header.build_ns);
	if (!entry) {
		status = CMN_ERR_NOMEM;
		goto out;
	}
	entry->bytes = *file;
	*file = (struct cmn_buffer){ 0 };
	status = decode_payload(entry, &header, room);
	if (status == CMN_OK)
		status = check_fields(cc_entry_payload(entry), &entry->image_size);
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
