/* SPDX-License-Identifier: MIT */
/*
 * fuzz_blob: a blob of any content, checked and looked through as an
 * application's blob is. Where the input's first byte is odd, the rest is the
 * fields of one, and header and checksum around them are made right first, so
 * that what lies behind the checks is reached too.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "layers/shared/api/blob.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whether the view lies behind the header of the blob. */
static bool is_inside(struct cmn_view blob, struct cmn_view view)
{
	const uint8_t *start = (const uint8_t *)blob.data + API_BLOB_HEADER_SIZE;
	const uint8_t *end = (const uint8_t *)blob.data + blob.len, *at = view.data;

	return at >= start && at <= end && view.len <= (size_t)(end - at);
}

static void look(struct cmn_view blob)
{
	for (uint32_t tag = 0; tag < 4; tag++) {
		for (uint32_t index = 0; index < 4; index++) {
			struct cmn_view found;

			if (api_blob_find(blob, tag, index, &found) == CMN_OK &&
			    !is_inside(blob, found))
				abort();
		}
	}
}

/* Any bytes, of any id: an id that they hold themselves is the one that can pass. */
static void check_any(const uint8_t *data, size_t size)
{
	struct cmn_view blob = { data, size };
	struct api_id id = { { 0 } };

	if (size >= API_BLOB_HEADER_SIZE)
		memcpy(id.bytes, data + 16, sizeof(id.bytes));
	if (api_blob_check(blob, CKCACHE_KIND_PROGRAMS, &id) != CMN_OK)
		return;
	look(blob);
	id.bytes[87] ^= 1;
	if (api_blob_check(blob, CKCACHE_KIND_PROGRAMS, &id) == CMN_OK)
		abort();
}

/* The bytes as fields, whatever they say; then a bit of the whole is another. */
static void check_fields(const uint8_t *data, size_t size)
{
	struct cmn_buffer blob = { 0 };
	struct api_id id = { { 'C', 'K', 'I', 'D' } };
	size_t bit;

	api_blob_begin(&blob, CKCACHE_KIND_PROGRAMS, &id);
	cmn_buffer_append(&blob, data, size);
	if (api_blob_end(&blob) == CMN_OK) {
		if (api_blob_check(cmn_buffer_view(&blob), CKCACHE_KIND_PROGRAMS, &id) != CMN_OK)
			abort();
		look(cmn_buffer_view(&blob));
		bit = (size_t)cmn_hash_of(data, size).bytes[0] * 8 * blob.len / 256;
		blob.data[bit / 8] ^= (uint8_t)(1u << (bit % 8));
		if (api_blob_check(cmn_buffer_view(&blob), CKCACHE_KIND_PROGRAMS, &id) == CMN_OK)
			abort();
	}
	cmn_buffer_release(&blob);
}

/* The bytes as one field's content, which comes back as it was. */
static void check_round_trip(const uint8_t *data, size_t size)
{
	struct cmn_buffer blob = { 0 };
	struct api_id id = { { 'C', 'K', 'I', 'D' } };
	struct cmn_view found;
	uint8_t *room;

	api_blob_begin(&blob, CKCACHE_KIND_PROGRAMS, &id);
	api_blob_add(&blob, API_FIELD_IMAGE, 0, (struct cmn_view){ "", 0 });
	room = api_blob_add_room(&blob, API_FIELD_IMAGE, 1, size);
	if (room && size)
		memcpy(room, data, size);
	if (api_blob_end(&blob) == CMN_OK &&
	    (api_blob_check(cmn_buffer_view(&blob), CKCACHE_KIND_PROGRAMS, &id) != CMN_OK ||
	     api_blob_find(cmn_buffer_view(&blob), API_FIELD_IMAGE, 1, &found) != CMN_OK ||
	     found.len != size || (size && memcmp(found.data, data, size) != 0)))
		abort();
	cmn_buffer_release(&blob);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	if (!(data[0] & 1)) {
		check_any(data + 1, size - 1);
	} else {
		check_fields(data + 1, size - 1);
		check_round_trip(data + 1, size - 1);
	}
	return 0;
}
