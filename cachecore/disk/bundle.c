/* SPDX-License-Identifier: MIT */
/*
 * bundle: the stream's writer and reader. Each part has a hash of its own, and
 * the end one of all parts in their order, so that what is flipped, cut out,
 * moved or repeated by accident is found.
 */
#include "cachecore/disk/bundle.h"

#include <string.h>

#include "cachecore/entry.h"

static const uint8_t magic[8] = { 'c', 'k', 'c', 'b', 'd', 'l', '\r', '\n' };

#define HEADER_SIZE 16
/* A record's or the end's, up to its hash and with it. */
#define HEAD_HASHED 24
#define HEAD_SIZE (HEAD_HASHED + CMN_HASH_SIZE)
#define SIGNATURE_HASHED (8 + sizeof(struct cc_bundle_signature))
#define SIGNATURE_SIZE (SIGNATURE_HASHED + CMN_HASH_SIZE)
_Static_assert(sizeof(struct cc_bundle_signature) == 96, "two arrays without padding");

enum kind {
	KIND_RECORD = 1,
	KIND_END = 2,
	KIND_SIGNATURE = 3,
};

static struct cmn_hash fold(const struct cmn_hash *a, const struct cmn_hash *b)
{
	const struct cmn_hash both[2] = { *a, *b };

	return cmn_hash_of(both, sizeof(both));
}

static struct cmn_hash hash_record(const uint8_t head[HEAD_HASHED], struct cmn_view src,
				   struct cmn_view bin)
{
	const struct cmn_hash parts[3] = {
		cmn_hash_of(head, HEAD_HASHED),
		cmn_hash_of(src.data, src.len),
		cmn_hash_of(bin.data, bin.len),
	};

	return cmn_hash_of(parts, sizeof(parts));
}

static struct cmn_hash hash_end(const uint8_t head[HEAD_HASHED], const struct cmn_hash *chain)
{
	const struct cmn_hash hash = cmn_hash_of(head, HEAD_HASHED);

	return fold(&hash, chain);
}

bool cc_bundle_lengths_possible(uint64_t src_len, uint64_t bin_len)
{
	return src_len >= CC_SRC_HEADER_SIZE && src_len <= CC_SRC_MAX_FILE &&
	       bin_len >= CC_ENTRY_HEADER_SIZE &&
	       bin_len <= CC_ENTRY_MAX_PAYLOAD + CC_ENTRY_HEADER_SIZE;
}

static enum cmn_status write_bytes(struct cc_bundle_writer *writer, const void *data, size_t len)
{
	enum cmn_status status = writer->write(writer->ctx, data, len);

	writer->bytes += len;	/* after a failure nobody goes on */
	return status;
}

static enum cmn_status write_buffer(struct cc_bundle_writer *writer, struct cmn_buffer *buf)
{
	enum cmn_status status = CMN_ERR_NOMEM;

	if (!buf->failed)
		status = write_bytes(writer, buf->data, buf->len);
	cmn_buffer_release(buf);
	return status;
}

enum cmn_status cc_bundle_writer_begin(struct cc_bundle_writer *writer, enum cc_bundle_seal seal,
				       cc_bundle_write_fn write, void *ctx)
{
	struct cmn_buffer header = { 0 };

	*writer = (struct cc_bundle_writer){ .write = write, .ctx = ctx };
	cmn_buffer_append(&header, magic, sizeof(magic));
	cmn_buffer_append_u32(&header, CC_BUNDLE_VERSION);
	cmn_buffer_append_u32(&header, seal);
	if (!header.failed)
		writer->chain = cmn_hash_of(header.data, header.len);
	return write_buffer(writer, &header);
}

static void append_head(struct cmn_buffer *buf, enum kind kind, uint64_t a, uint64_t b)
{
	cmn_buffer_append_u32(buf, kind);
	cmn_buffer_append_u32(buf, 0);
	cmn_buffer_append_u64(buf, a);
	cmn_buffer_append_u64(buf, b);
}

enum cmn_status cc_bundle_writer_add(struct cc_bundle_writer *writer, struct cmn_view src,
				     struct cmn_view bin)
{
	struct cmn_buffer head = { 0 };
	struct cmn_hash hash;
	enum cmn_status status;

	if (!cc_bundle_lengths_possible(src.len, bin.len))
		return CMN_ERR_INVALID;
	append_head(&head, KIND_RECORD, src.len, bin.len);
	if (!head.failed) {
		hash = hash_record(head.data, src, bin);
		cmn_buffer_append(&head, hash.bytes, CMN_HASH_SIZE);
		writer->chain = fold(&writer->chain, &hash);
	}
	status = write_buffer(writer, &head);
	if (status == CMN_OK)
		status = write_bytes(writer, src.data, src.len);
	if (status == CMN_OK)
		status = write_bytes(writer, bin.data, bin.len);
	writer->count++;
	return status;
}

enum cmn_status cc_bundle_writer_end(struct cc_bundle_writer *writer)
{
	struct cmn_buffer head = { 0 };
	struct cmn_hash hash;

	append_head(&head, KIND_END, writer->count, writer->bytes);
	if (!head.failed) {
		hash = hash_end(head.data, &writer->chain);
		cmn_buffer_append(&head, hash.bytes, CMN_HASH_SIZE);
	}
	return write_buffer(writer, &head);
}

enum cmn_status cc_bundle_writer_sign(struct cc_bundle_writer *writer,
				      const struct cc_bundle_signature *signature)
{
	struct cmn_buffer buf = { 0 };
	struct cmn_hash hash;

	cmn_buffer_append_u32(&buf, KIND_SIGNATURE);
	cmn_buffer_append_u32(&buf, 0);
	cmn_buffer_append(&buf, signature->key_hash, sizeof(signature->key_hash));
	cmn_buffer_append(&buf, signature->bytes, sizeof(signature->bytes));
	if (!buf.failed) {
		hash = cmn_hash_of(buf.data, buf.len);
		cmn_buffer_append(&buf, hash.bytes, CMN_HASH_SIZE);
	}
	return write_buffer(writer, &buf);
}

static enum cmn_status read_bytes(struct cc_bundle_reader *reader, void *data, size_t len)
{
	enum cmn_status status;

	if (len > reader->left)
		return CMN_ERR_CORRUPT;
	status = reader->read(reader->ctx, data, len);
	reader->left -= len;
	reader->bytes += len;
	return status;
}

enum cmn_status cc_bundle_reader_begin(struct cc_bundle_reader *reader, uint64_t size,
				       cc_bundle_read_fn read, void *ctx)
{
	uint8_t bytes[HEADER_SIZE];
	struct cmn_reader fields = cmn_reader_of((struct cmn_view){ bytes, sizeof(bytes) });
	enum cmn_status status;
	uint32_t seal;

	*reader = (struct cc_bundle_reader){ .read = read, .ctx = ctx, .left = size };
	status = read_bytes(reader, bytes, sizeof(bytes));
	if (status != CMN_OK)
		return status;
	if (memcmp(cmn_reader_bytes(&fields, sizeof(magic)).data, magic, sizeof(magic)) != 0)
		return CMN_ERR_CORRUPT;
	if (cmn_reader_u32(&fields) != CC_BUNDLE_VERSION)
		return CMN_ERR_VERSION;
	seal = cmn_reader_u32(&fields);
	/* Another kind of signature would be another version. */
	if (seal != CC_BUNDLE_UNSIGNED && seal != CC_BUNDLE_ED25519)
		return CMN_ERR_CORRUPT;
	reader->seal = (enum cc_bundle_seal)seal;
	reader->chain = cmn_hash_of(bytes, sizeof(bytes));
	return CMN_OK;
}

static enum cmn_status read_into(struct cc_bundle_reader *reader, uint64_t len,
				 struct cmn_buffer *buf)
{
	if (buf->cap < len)
		cmn_buffer_release(buf);	/* growing would copy what is not needed */
	buf->len = 0;
	if (!cmn_buffer_reserve(buf, (size_t)len))
		return CMN_ERR_NOMEM;
	buf->len = (size_t)len;
	return read_bytes(reader, buf->data, (size_t)len);
}

/* The end's head is right: what it says is what was read. */
static enum cmn_status check_end(const struct cc_bundle_reader *reader,
				 const uint8_t head[HEAD_SIZE], uint64_t count, uint64_t before)
{
	const struct cmn_hash hash = hash_end(head, &reader->chain);

	if (count != reader->count || before != reader->bytes - HEAD_SIZE ||
	    memcmp(hash.bytes, head + HEAD_HASHED, CMN_HASH_SIZE) != 0)
		return CMN_ERR_CORRUPT;
	return CMN_MISS;
}

enum cmn_status cc_bundle_reader_next(struct cc_bundle_reader *reader, struct cmn_buffer *src,
				      struct cmn_buffer *bin)
{
	uint8_t head[HEAD_SIZE];
	struct cmn_reader fields = cmn_reader_of((struct cmn_view){ head, sizeof(head) });
	enum cmn_status status = read_bytes(reader, head, sizeof(head));
	uint32_t kind, zero;
	uint64_t a, b;
	struct cmn_hash hash;

	if (status != CMN_OK)
		return status;
	kind = cmn_reader_u32(&fields);
	zero = cmn_reader_u32(&fields);
	a = cmn_reader_u64(&fields);
	b = cmn_reader_u64(&fields);
	if (zero)
		return CMN_ERR_CORRUPT;
	if (kind == KIND_END)
		return check_end(reader, head, a, b);
	/* Bounded first, so that the sum cannot overflow. */
	if (kind != KIND_RECORD || !cc_bundle_lengths_possible(a, b) || a + b > reader->left)
		return CMN_ERR_CORRUPT;
	status = read_into(reader, a, src);
	if (status == CMN_OK)
		status = read_into(reader, b, bin);
	if (status != CMN_OK)
		return status;
	hash = hash_record(head, cmn_buffer_view(src), cmn_buffer_view(bin));
	if (memcmp(hash.bytes, head + HEAD_HASHED, CMN_HASH_SIZE) != 0)
		return CMN_ERR_CORRUPT;
	reader->chain = fold(&reader->chain, &hash);
	reader->count++;
	return CMN_OK;
}

enum cmn_status cc_bundle_reader_finish(struct cc_bundle_reader *reader,
					struct cc_bundle_signature *ret)
{
	uint8_t bytes[SIGNATURE_SIZE];
	struct cmn_reader fields = cmn_reader_of((struct cmn_view){ bytes, sizeof(bytes) });
	enum cmn_status status;
	struct cmn_hash hash;

	if (reader->seal == CC_BUNDLE_UNSIGNED)
		return reader->left ? CMN_ERR_CORRUPT : CMN_MISS;
	status = read_bytes(reader, bytes, sizeof(bytes));
	if (status != CMN_OK)
		return status;
	hash = cmn_hash_of(bytes, SIGNATURE_HASHED);
	if (reader->left || cmn_reader_u32(&fields) != KIND_SIGNATURE ||
	    cmn_reader_u32(&fields) != 0 ||
	    memcmp(hash.bytes, bytes + SIGNATURE_HASHED, CMN_HASH_SIZE) != 0)
		return CMN_ERR_CORRUPT;
	cmn_reader_copy(&fields, ret->key_hash, sizeof(ret->key_hash));
	cmn_reader_copy(&fields, ret->bytes, sizeof(ret->bytes));
	return CMN_OK;
}

/* A look-up compares keys as bytes; what becomes a directory's name is read as fields. */
static enum cmn_status walk_key(struct cmn_view key)
{
	struct cc_key_field field;
	struct cmn_reader reader;
	enum cmn_status status = cc_key_read(key, &reader);

	while (status == CMN_OK)
		status = cc_key_next(&reader, &field);
	return status == CMN_MISS ? CMN_OK : status;
}

enum cmn_status cc_bundle_decode(struct cmn_view src, struct cmn_buffer *bin,
				 struct cc_key *ret_key, struct cc_entry **ret)
{
	struct cc_manifest *manifest = NULL;
	struct cmn_buffer encoded = { 0 };
	struct cc_entry *entry = NULL;
	struct cc_src parts;
	enum cmn_status status = cc_src_file_decode(src, &parts);

	if (status == CMN_OK)
		status = walk_key(parts.key);
	if (status == CMN_OK && parts.manifest.len)
		status = cc_manifest_decode(parts.manifest, &manifest);
	if (status == CMN_OK) {
		cmn_buffer_append(&encoded, parts.key.data, parts.key.len);
		status = encoded.failed ? CMN_ERR_NOMEM : CMN_OK;
	}
	if (status == CMN_OK)
		status = cc_entry_decode(bin, &parts.hash, NULL, manifest, &entry);
	cmn_buffer_release(bin);
	if (status != CMN_OK) {
		cc_manifest_free(manifest);
		cmn_buffer_release(&encoded);
		/* A .bin of another .src is no pair. */
		return status == CMN_STALE ? CMN_ERR_CORRUPT : status;
	}
	*ret_key = (struct cc_key){ .encoded = encoded };
	*ret = entry;
	return CMN_OK;
}

enum cmn_status cc_bundle_check(struct cmn_view src, struct cmn_view bin, struct cmn_hash *ret_key)
{
	struct cmn_buffer copy = { 0 };
	struct cc_entry *entry;
	struct cc_key key;
	enum cmn_status status = CMN_ERR_NOMEM;

	cmn_buffer_append(&copy, bin.data, bin.len);
	if (!copy.failed)
		status = cc_bundle_decode(src, &copy, &key, &entry);
	cmn_buffer_release(&copy);
	if (status != CMN_OK)
		return status;
	if (ret_key)
		*ret_key = cmn_hash_of(cc_key_view(&key).data, cc_key_view(&key).len);
	cc_entry_unref(entry);
	cc_key_release(&key);
	return CMN_OK;
}
