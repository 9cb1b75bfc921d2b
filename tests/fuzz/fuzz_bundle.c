/* SPDX-License-Identifier: MIT */
/*
 * fuzz_bundle: a bundle of any content, read to its end as ckcache import
 * reads it. Where the input's first byte is odd, the rest is the files of two
 * entries, and the bundle around them is made right first, so that what lies
 * behind its checksums (the two files, key, manifest, payload) is reached too.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cachecore/disk/bundle.h"
#include "cachecore/entry.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct stream {
	const uint8_t *data;
	size_t left;
};

static enum cmn_status read_stream(void *ctx, void *data, size_t len)
{
	struct stream *stream = ctx;

	if (len > stream->left)
		abort();	/* the reader knows how much there is */
	memcpy(data, stream->data, len);
	stream->data += len;
	stream->left -= len;
	return CMN_OK;
}

static enum cmn_status append(void *ctx, const void *data, size_t len)
{
	struct cmn_buffer *buf = ctx;

	cmn_buffer_append(buf, data, len);
	return buf->failed ? CMN_ERR_NOMEM : CMN_OK;
}

/* Where the fields of a .src are that the rest of it determines (entry.h). */
#define KEY_LEN_AT 16
#define MANIFEST_LEN_AT 24
#define SRC_HASH_AT (CC_SRC_HEADER_SIZE - CMN_HASH_SIZE)
/* And of a .bin (entry.h). */
#define CODEC_AT 12
#define PAYLOAD_LEN_AT 16
#define STORED_LEN_AT 24
#define KEY_HASH_AT 40
#define PAYLOAD_HASH_AT 56
#define FILE_HASH_AT (CC_ENTRY_HEADER_SIZE - CMN_HASH_SIZE)

static struct cmn_hash hash_two(const uint8_t *data, size_t first, size_t skip, size_t len)
{
	struct cmn_hash parts[2] = {
		cmn_hash_of(data, first),
		cmn_hash_of(data + skip, len - skip),
	};

	return cmn_hash_of(parts, sizeof(parts));
}

/* Marks, versions, lengths and hashes of both files; little-endian hosts only. */
static void mend_src(uint8_t *src, size_t src_len, struct cmn_hash *ret_hash)
{
	static const char start[] = "ckcsrc\r\n\1\0\0";	/* and its terminator */
	uint64_t body = src_len - CC_SRC_HEADER_SIZE, key_len;

	memcpy(src, start, sizeof(start));
	memcpy(&key_len, src + KEY_LEN_AT, sizeof(key_len));
	key_len = body ? key_len % (body + 1) : 0;
	body -= key_len;
	memcpy(src + KEY_LEN_AT, &key_len, sizeof(key_len));
	memcpy(src + MANIFEST_LEN_AT, &body, sizeof(body));
	*ret_hash = hash_two(src, SRC_HASH_AT, CC_SRC_HEADER_SIZE, src_len);
	memcpy(src + SRC_HASH_AT, ret_hash->bytes, CMN_HASH_SIZE);
}

static void mend_bin(uint8_t *bin, size_t bin_len, const struct cmn_hash *src_hash)
{
	static const char start[] = "ckcbin\r\n\1\0\0";
	const uint64_t stored_len = bin_len - CC_ENTRY_HEADER_SIZE;
	struct cmn_hash hash = cmn_hash_of(bin + CC_ENTRY_HEADER_SIZE, stored_len);

	memcpy(bin, start, sizeof(start));
	memcpy(bin + STORED_LEN_AT, &stored_len, sizeof(stored_len));
	memcpy(bin + KEY_HASH_AT, src_hash->bytes, CMN_HASH_SIZE);
	/* Of a raw payload; what a compressed one gives only the decoder knows. */
	if (bin[CODEC_AT] == 0) {
		memcpy(bin + PAYLOAD_LEN_AT, &stored_len, sizeof(stored_len));
		memcpy(bin + PAYLOAD_HASH_AT, hash.bytes, CMN_HASH_SIZE);
	}
	hash = hash_two(bin, FILE_HASH_AT, CC_ENTRY_HEADER_SIZE, bin_len);
	memcpy(bin + FILE_HASH_AT, hash.bytes, CMN_HASH_SIZE);
}

/* The files, twice, in a right bundle; false: they are too short for any. */
static bool wrap(const uint8_t *data, size_t size, struct cmn_buffer *ret)
{
	const size_t least = CC_SRC_HEADER_SIZE + CC_ENTRY_HEADER_SIZE;
	struct cc_bundle_signature signature = { { 1 }, { 2 } };
	struct cc_bundle_writer writer;
	struct cmn_buffer files = { 0 };
	struct cmn_hash hash;
	size_t src_len;
	bool made;

	if (size < least + 1)
		return false;
	src_len = CC_SRC_HEADER_SIZE + (size - 1 - least) * data[0] / 255;
	cmn_buffer_append(&files, data + 1, size - 1);
	made = !files.failed;
	if (made) {
		struct cmn_view src = { files.data, src_len };
		struct cmn_view bin = { files.data + src_len, files.len - src_len };

		if (data[0] & 2) {
			mend_src(files.data, src.len, &hash);
			mend_bin(files.data + src_len, bin.len, &hash);
		}
		made = cc_bundle_writer_begin(&writer, CC_BUNDLE_ED25519, append, ret) == CMN_OK &&
		       cc_bundle_writer_add(&writer, src, bin) == CMN_OK &&
		       cc_bundle_writer_add(&writer, src, bin) == CMN_OK &&
		       cc_bundle_writer_end(&writer) == CMN_OK &&
		       cc_bundle_writer_sign(&writer, &signature) == CMN_OK;
	}
	cmn_buffer_release(&files);
	return made;
}

/* The entries that were given, or SIZE_MAX: it is not a sound bundle. */
static size_t read_all(struct cmn_view bundle, size_t *ret_sound)
{
	struct stream stream = { bundle.data, bundle.len };
	struct cmn_buffer src = { 0 }, bin = { 0 };
	struct cc_bundle_signature signature;
	struct cc_bundle_reader reader;
	enum cmn_status status;
	size_t count = 0;

	status = cc_bundle_reader_begin(&reader, bundle.len, read_stream, &stream);
	while (status == CMN_OK) {
		struct cc_entry *entry;
		struct cc_key key;

		status = cc_bundle_reader_next(&reader, &src, &bin);
		if (status != CMN_OK)
			break;
		count++;
		if (cc_bundle_decode(cmn_buffer_view(&src), &bin, &key, &entry) != CMN_OK)
			continue;
		(*ret_sound)++;
		if (cc_key_status(&key) != CMN_OK ||
		    cc_entry_image_size(entry) > cc_entry_payload_size(entry))
			abort();
		cc_entry_unref(entry);
		cc_key_release(&key);
	}
	cmn_buffer_release(&src);
	cmn_buffer_release(&bin);
	if (status == CMN_MISS)
		status = cc_bundle_reader_finish(&reader, &signature);
	/* To the last byte. */
	if ((status == CMN_OK || status == CMN_MISS) && stream.left)
		abort();
	return status == CMN_OK || status == CMN_MISS ? count : SIZE_MAX;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cmn_buffer bundle = { 0 };
	size_t sound = 0;

	if (size == 0)
		return 0;
	if (!(data[0] & 1)) {
		(void)read_all((struct cmn_view){ data + 1, size - 1 }, &sound);	/* only that it is safe */
	} else if (wrap(data, size, &bundle)) {
		if (read_all(cmn_buffer_view(&bundle), &sound) != 2 || sound == 1)
			abort();
	}
	cmn_buffer_release(&bundle);
	return 0;
}
