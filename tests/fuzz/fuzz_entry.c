/* SPDX-License-Identifier: MIT */
/*
 * fuzz_entry: a .bin file of any content. Where the input's first byte is
 * odd, lengths and checksums are made right first (entry.h has the grammar), so that
 * what lies behind them (the decoder, the field walk) is reached too.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cachecore/entry.h"
#include "common/hash.h"

/* Where the header's fields are: after magic, version and codec, and at its end. */
#define CODEC_AT 12
#define PAYLOAD_LEN_AT 16
#define STORED_LEN_AT 24
#define FILE_HASH_AT (CC_ENTRY_HEADER_SIZE - CMN_HASH_SIZE)
#define PAYLOAD_HASH_AT (FILE_HASH_AT - CMN_HASH_SIZE)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void sign(struct cmn_buffer *file)
{
	struct cmn_hash parts[2];
	const uint8_t *stored = file->data + CC_ENTRY_HEADER_SIZE;
	uint64_t stored_len = file->len - CC_ENTRY_HEADER_SIZE;	/* little-endian hosts only */

	memcpy(file->data + STORED_LEN_AT, &stored_len, sizeof(stored_len));
	if (file->data[CODEC_AT] == 0)
		memcpy(file->data + PAYLOAD_LEN_AT, &stored_len, sizeof(stored_len));
	parts[1] = cmn_hash_of(stored, stored_len);
	memcpy(file->data + PAYLOAD_HASH_AT, parts[1].bytes, CMN_HASH_SIZE);	/* of a raw payload */
	parts[0] = cmn_hash_of(file->data, FILE_HASH_AT);
	parts[0] = cmn_hash_of(parts, sizeof(parts));
	memcpy(file->data + FILE_HASH_AT, parts[0].bytes, CMN_HASH_SIZE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cmn_buffer file = {0};
	struct cc_entry_header header;
	struct cmn_hash key_hash = {{0}};
	struct cc_entry *entry = NULL;
	struct cmn_view found;

	if (size == 0)
		return 0;
	cmn_buffer_append(&file, data + 1, size - 1);
	if (file.failed) {
		cmn_buffer_release(&file);
		return 0;
	}
	if ((data[0] & 1) != 0 && file.len >= CC_ENTRY_HEADER_SIZE)
		sign(&file);
	if (cc_entry_read_header(cmn_buffer_view(&file), &header) == CMN_OK)
		key_hash = header.key_hash;
	if (cc_entry_decode(&file, &key_hash, NULL, NULL, &entry) == CMN_OK) {
		(void)cc_entry_find(entry, CC_TAG_IMAGE, 0, &found);	/* only that it is safe */
		if (cc_entry_image_size(entry) > cc_entry_payload_size(entry))
			abort();
	}
	cc_entry_unref(entry);
	return 0;
}
