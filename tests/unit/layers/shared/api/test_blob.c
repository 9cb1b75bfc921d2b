/* SPDX-License-Identifier: MIT */
/* test_blob: what an application keeps: its grammar byte by byte, and what is refused. */
#include "layers/shared/api/blob.h"
#include "tests/support/owned.h"
#include "tests/support/unit.h"
#include "tests/support/wrap.h"

static const struct api_id one = { { 'C', 'K', 'I', 'D', 1 } };

static struct cmn_view view(const char *text)
{
	return (struct cmn_view){ text, strlen(text) };
}

/* Two images, and data. */
static struct cmn_buffer make(void)
{
	struct cmn_buffer blob = { 0 };
	uint8_t *room;

	api_blob_begin(&blob, CKCACHE_KIND_PROGRAMS, &one);
	api_blob_add(&blob, API_FIELD_IMAGE, 0, view("first"));
	room = api_blob_add_room(&blob, API_FIELD_IMAGE, 1, 6);
	CU_ASSERT_PTR_NOT_NULL_FATAL(room);
	memcpy(room, "second", 6);
	api_blob_add(&blob, API_FIELD_DATA, 0, view(""));
	CU_ASSERT_EQUAL_FATAL(api_blob_end(&blob), CMN_OK);
	return blob;
}

/* Bytes in the place of the fields, in a blob that is sound. */
static struct cmn_buffer make_of(const void *fields, size_t len)
{
	struct cmn_buffer blob = { 0 };

	api_blob_begin(&blob, CKCACHE_KIND_PROGRAMS, &one);
	cmn_buffer_append(&blob, fields, len);
	CU_ASSERT_EQUAL_FATAL(api_blob_end(&blob), CMN_OK);
	CU_ASSERT_EQUAL(api_blob_check(cmn_buffer_view(&blob), CKCACHE_KIND_PROGRAMS, &one), CMN_OK);
	return blob;
}

static bool has(const struct cmn_buffer *blob, uint32_t tag, uint32_t index, const char *wanted)
{
	struct cmn_view found;

	return api_blob_find(cmn_buffer_view(blob), tag, index, &found) == CMN_OK &&
	       found.len == strlen(wanted) && !memcmp(found.data, wanted, found.len);
}

TEST(fields_come_back_by_tag_and_index)
{
	OWNED(cmn_buffer_release) struct cmn_buffer blob = make();
	struct cmn_view found;

	CU_ASSERT_EQUAL(api_blob_check(cmn_buffer_view(&blob), CKCACHE_KIND_PROGRAMS, &one), CMN_OK);
	CU_ASSERT(has(&blob, API_FIELD_IMAGE, 0, "first"));
	CU_ASSERT(has(&blob, API_FIELD_IMAGE, 1, "second"));
	CU_ASSERT(has(&blob, API_FIELD_DATA, 0, ""));
	CU_ASSERT_EQUAL(api_blob_find(cmn_buffer_view(&blob), API_FIELD_IMAGE, 2, &found), CMN_MISS);
	CU_ASSERT_EQUAL(api_blob_find(cmn_buffer_view(&blob), 3, 0, &found), CMN_MISS);
}

TEST(the_header_is_as_its_grammar_says)
{
	static const uint8_t start[] = { 'C', 'K', 'C', 'B', 'L', 'O', 'B', '\n', 2, 0, 0, 0, 1, 0, 0, 0 };
	OWNED(cmn_buffer_release) struct cmn_buffer blob = make();

	CU_ASSERT_EQUAL(memcmp(blob.data, start, sizeof(start)), 0);
	CU_ASSERT_EQUAL(memcmp(blob.data + 16, one.bytes, API_ID_SIZE), 0);
	CU_ASSERT_EQUAL(blob.len, API_BLOB_HEADER_SIZE + 3 * 16 + 5 + 6);
	CU_ASSERT_EQUAL(blob.data[104], 3 * 16 + 5 + 6);
	CU_ASSERT_EQUAL(memcmp(blob.data + API_BLOB_HEADER_SIZE, "\1\0\0\0\0\0\0\0\5\0\0\0\0\0\0\0first", 21), 0);
}

TEST(every_bit_and_length_counts)
{
	OWNED(cmn_buffer_release) struct cmn_buffer blob = make();

	for (size_t bit = 0; bit < 8 * blob.len; bit++) {
		enum cmn_status wanted = bit / 32 == 2 ? CMN_ERR_VERSION : CMN_ERR_CORRUPT;

		blob.data[bit / 8] ^= (uint8_t)(1u << (bit % 8));
		CU_ASSERT_EQUAL(api_blob_check(cmn_buffer_view(&blob), CKCACHE_KIND_PROGRAMS, &one), wanted);
		blob.data[bit / 8] ^= (uint8_t)(1u << (bit % 8));
	}
	for (size_t len = 0; len < blob.len; len++)
		CU_ASSERT_EQUAL(api_blob_check((struct cmn_view){ blob.data, len }, CKCACHE_KIND_PROGRAMS, &one),
				CMN_ERR_CORRUPT);
}

/* Sound by its checksum, and yet not what this library writes. */
TEST(fields_that_do_not_fit_are_not_there)
{
	static const char too_long[] = "\1\0\0\0\0\0\0\0\6\0\0\0\0\0\0\0first";
	static const char huge[] = "\1\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff" "first";
	OWNED(cmn_buffer_release) struct cmn_buffer blob = make_of(too_long, sizeof(too_long) - 1);
	struct cmn_view found;

	CU_ASSERT_EQUAL(api_blob_find(cmn_buffer_view(&blob), 1, 0, &found), CMN_MISS);
	cmn_buffer_release(&blob);
	blob = make_of(huge, sizeof(huge) - 1);
	CU_ASSERT_EQUAL(api_blob_find(cmn_buffer_view(&blob), 1, 0, &found), CMN_MISS);
	cmn_buffer_release(&blob);
	blob = make_of("", 0);
	CU_ASSERT_EQUAL(api_blob_find(cmn_buffer_view(&blob), 1, 0, &found), CMN_MISS);
	cmn_buffer_release(&blob);
	blob = make_of("\1\0\0\0\0\0\0", 7);
	CU_ASSERT_EQUAL(api_blob_find(cmn_buffer_view(&blob), 1, 0, &found), CMN_MISS);
}

static bool no_memory;
WRAPPED(struct cmn_hasher *, cmn_hasher_new, (void))
{
	return no_memory ? NULL : __real_cmn_hasher_new();
}

/* The last hash is of what stands before it and of the keys, each after its length. */
TEST(an_id_is_of_each_key)
{
	OWNED(cmn_buffer_release) struct cmn_buffer all = { 0 };
	struct cc_key keys[2];
	struct cmn_hash hash;
	struct api_id id;

	for (size_t i = 0; i < 2; i++) {
		cc_key_init(&keys[i]);
		cc_key_add_text(&keys[i], CC_PART_IMAGE, "source", i ? "two" : "one");
	}
	CU_ASSERT_EQUAL_FATAL(api_id_make(2, keys, &id), CMN_OK);
	cmn_buffer_append(&all, id.bytes, API_ID_SIZE - CMN_HASH_SIZE);
	no_memory = true;
	CU_ASSERT_EQUAL(api_id_make(2, keys, &id), CMN_ERR_NOMEM);
	no_memory = false;
	for (size_t i = 0; i < 2; i++) {
		struct cmn_view key = cc_key_view(&keys[i]);

		cmn_buffer_append_u64(&all, key.len);
		cmn_buffer_append(&all, key.data, key.len);
		cc_key_release(&keys[i]);
	}
	hash = cmn_hash_of(all.data, all.len);
	CU_ASSERT_EQUAL(memcmp(id.bytes + API_ID_SIZE - CMN_HASH_SIZE, hash.bytes, CMN_HASH_SIZE), 0);
}

/* An id with one byte of one part, and of the whole, that is another. */
static struct api_id with_other(enum cc_part part, bool part_differs)
{
	struct api_id id = one;

	if (part_differs)
		id.bytes[8 + (size_t)part * CMN_HASH_SIZE] ^= 1;
	id.bytes[API_ID_SIZE - 1] ^= 1;
	return id;
}

TEST(what_differs_says_stale_or_foreign)
{
	OWNED(cmn_buffer_release) struct cmn_buffer blob = make();
	struct api_id other = with_other(CC_PART_DEVICE, true);

	CU_ASSERT_EQUAL(api_blob_check(cmn_buffer_view(&blob), CKCACHE_KIND_PROGRAMS, &other), CMN_STALE);
	other = with_other(CC_PART_DEVICE, false);	/* headers alone */
	CU_ASSERT_EQUAL(api_blob_check(cmn_buffer_view(&blob), CKCACHE_KIND_PROGRAMS, &other), CMN_STALE);
	other = with_other(CC_PART_IMAGE, true);
	CU_ASSERT_EQUAL(api_blob_check(cmn_buffer_view(&blob), CKCACHE_KIND_PROGRAMS, &other), CMN_MISS);
	other = with_other(CC_PART_CONSTANTS, true);
	CU_ASSERT_EQUAL(api_blob_check(cmn_buffer_view(&blob), CKCACHE_KIND_PROGRAMS, &other), CMN_MISS);
	other = with_other(CC_PART_OPTIONS, true);
	CU_ASSERT_EQUAL(api_blob_check(cmn_buffer_view(&blob), CKCACHE_KIND_PROGRAMS, &other), CMN_MISS);
	/* Another device and another program: another program. */
	other.bytes[8 + CC_PART_IMAGE * CMN_HASH_SIZE] ^= 1;
	other.bytes[8 + CC_PART_DEVICE * CMN_HASH_SIZE] ^= 1;
	CU_ASSERT_EQUAL(api_blob_check(cmn_buffer_view(&blob), CKCACHE_KIND_PROGRAMS, &other), CMN_MISS);
}

/* Also one that a later version has. */
TEST(a_blob_of_another_kind_is_sound_and_not_used)
{
	enum ckcache_kind kind = CKCACHE_KIND_PROGRAMS;
	OWNED(cmn_buffer_release) struct cmn_buffer blob = { 0 };

	for (int other = 2; other < 4; other++) {
		blob.len = 0;
		api_blob_begin(&blob, (enum ckcache_kind)other, &one);
		CU_ASSERT_EQUAL(api_blob_end(&blob), CMN_OK);
		CU_ASSERT_EQUAL(api_blob_check(cmn_buffer_view(&blob), CKCACHE_KIND_PROGRAMS, &one), CMN_MISS);
		CU_ASSERT_EQUAL(api_blob_check(cmn_buffer_view(&blob), (enum ckcache_kind)other, &one), CMN_OK);
		CU_ASSERT_EQUAL(ckcache_blob_get_kind(blob.len, blob.data, &kind), CKCACHE_OK);
		CU_ASSERT_EQUAL((int)kind, other);
	}
	CU_ASSERT_EQUAL(ckcache_blob_get_kind(blob.len - 1, blob.data, &kind), CKCACHE_ERROR_DAMAGED);
	CU_ASSERT_EQUAL(ckcache_blob_get_kind(0, blob.data, &kind), CKCACHE_ERROR_INVALID_ARGUMENT);
	CU_ASSERT_EQUAL(ckcache_blob_get_kind(blob.len, NULL, &kind), CKCACHE_ERROR_INVALID_ARGUMENT);
	CU_ASSERT_EQUAL(ckcache_blob_get_kind(blob.len, blob.data, NULL), CKCACHE_ERROR_INVALID_ARGUMENT);
	blob.data[8] = 1;	/* the version without kinds */
	CU_ASSERT_EQUAL(ckcache_blob_get_kind(blob.len, blob.data, &kind), CKCACHE_ERROR_VERSION);
	CU_ASSERT_EQUAL((int)kind, 3);
}

TEST(a_blob_without_memory_is_none)
{
	OWNED(cmn_buffer_release) struct cmn_buffer blob = make();

	blob.failed = true;
	CU_ASSERT_EQUAL(api_blob_end(&blob), CMN_ERR_NOMEM);
}
