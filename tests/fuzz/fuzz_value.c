/* SPDX-License-Identifier: MIT */
/*
 * fuzz_value: a value of any content. Where the input's first byte is odd, the lengths
 * in the header are made right first; with its next bit the value says that a trusted
 * key has signed it, which is never true; with the next the two files' marks, lengths
 * and hashes are made right too, so that what lies behind them (key, manifest, payload)
 * is reached.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cachecore/entry.h"
#include "cachecore/remote/value.h"

#define SEAL_AT 12
#define SRC_LEN_AT 16
#define KEY_ID_AT 32

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One key, whose private half nobody has, and its id. */
static struct cc_trust *make_trust(uint8_t ret_id[CC_SODIUM_HASH_SIZE])
{
	struct cc_trust_key key = { .name = "x", .end = UINT64_MAX };
	struct cc_trust *trust;

	if (!cmn_base64_decode(cmn_view_of("3d+PfQ2vJzBFfnRFAgVCcS/kUnM0c2D8m3nzlBGdVaM="), key.key,
			       sizeof(key.key)) ||
	    cc_trust_of(&key, 1, &trust) != CMN_OK || cc_trust_key_id(key.key, ret_id) != CMN_OK)
		exit(2);
	return trust;
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

static void change(struct cmn_buffer *bytes, uint8_t how, const uint8_t id[CC_SODIUM_HASH_SIZE])
{
	uint64_t lengths[2], left = bytes->len - CC_SEAL_HEADER_SIZE;

	if (how & 1) {
		lengths[0] = left * (how >> 3) / 32;	/* little-endian hosts only */
		lengths[1] = left - lengths[0];
		memcpy(bytes->data + SRC_LEN_AT, lengths, sizeof(lengths));
	}
	if ((how & 5) == 5 && lengths[0] >= CC_SRC_HEADER_SIZE && lengths[1] >= CC_ENTRY_HEADER_SIZE) {
		uint8_t *src = bytes->data + CC_SEAL_HEADER_SIZE;
		struct cmn_hash hash;

		mend_src(src, lengths[0], &hash);
		mend_bin(src + lengths[0], lengths[1], &hash);
	}
	if (how & 2) {
		memcpy(bytes->data + SEAL_AT, "\1\0\0", 4);
		memcpy(bytes->data + KEY_ID_AT, id, CC_SODIUM_HASH_SIZE);
	}
}

static enum cmn_status take(const struct cc_remote_value *value, struct cmn_view key,
			    struct cc_entry **ret)
{
	struct cmn_buffer bin = { 0 };

	cmn_buffer_append(&bin, value->bin.data, value->bin.len);
	return cc_remote_value_take(value, &bin, key, ret);
}

static void open_value(const struct cc_remote_value *value)
{
	struct cc_entry *entry;
	struct cc_src src;

	if (cc_src_file_decode(value->src, &src) != CMN_OK)
		return;
	if (take(value, (struct cmn_view){ "no key", 6 }, &entry) == CMN_OK)
		abort();
	if (take(value, src.key, &entry) != CMN_OK)
		return;
	if (cc_entry_image_size(entry) > cc_entry_payload_size(entry))
		abort();
	cc_entry_unref(entry);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t id[CC_SODIUM_HASH_SIZE];
	static struct cc_trust *trust;
	struct cmn_buffer bytes = { 0 };
	struct cc_remote_value value;

	if (!trust)
		trust = make_trust(id);
	if (!size)
		return 0;
	cmn_buffer_append(&bytes, data + 1, size - 1);
	if (bytes.len >= CC_SEAL_HEADER_SIZE)
		change(&bytes, data[0], id);
	if (cc_remote_value_check(cmn_buffer_view(&bytes), trust, 0, &value) == CMN_OK)
		abort();
	if (cc_remote_value_check(cmn_buffer_view(&bytes), NULL, 0, &value) == CMN_OK) {
		if (value.src.len + value.bin.len + CC_SEAL_HEADER_SIZE != bytes.len)
			abort();
		open_value(&value);
	}
	cmn_buffer_release(&bytes);
	return 0;
}
