/* SPDX-License-Identifier: MIT */
/* test_key: encoding, part hashes and the bounded reader of keys. */
#include "cachecore/key.h"
#include "tests/support/owned.h"
#include "tests/support/unit.h"

static void hash_parts(const struct cc_key *key, struct cmn_hash ret[CC_PART_COUNT])
{
	struct cmn_hash own[CC_PART_COUNT];

	CU_ASSERT_EQUAL(cc_key_status(key), CMN_OK);
	cc_key_part_hashes(cc_key_view(key), ret);
	cc_key_hashes(key, own);
	CU_ASSERT_EQUAL(memcmp(own, ret, sizeof(own)), 0);
}

static void make_sample(struct cc_key *key)
{
	cc_key_init(key);
	cc_key_add_text(key, CC_PART_DEVICE, "device", "d");
	cc_key_add(key, CC_PART_IMAGE, "source", "a\0b", 3);
	cc_key_add_u64(key, CC_PART_CONSTANTS, "7", 0x0102030405060708);
	cc_key_add_text(key, CC_PART_OPTIONS, "options", NULL);
}

TEST(reads_back_what_was_added)
{
	static const uint8_t number[8] = { 8, 7, 6, 5, 4, 3, 2, 1 };
	struct cmn_reader reader;
	struct cc_key_field field;
	OWNED(cc_key_release) struct cc_key key;

	make_sample(&key);
	CU_ASSERT_EQUAL_FATAL(cc_key_read(cc_key_view(&key), &reader), CMN_OK);
	CU_ASSERT_EQUAL(cc_key_next(&reader, &field), CMN_OK);
	CU_ASSERT_EQUAL(field.part, CC_PART_DEVICE);
	CU_ASSERT_TRUE(cmn_view_equal(field.name, cmn_view_of("device")));
	CU_ASSERT_TRUE(cmn_view_equal(field.value, cmn_view_of("d")));
	CU_ASSERT_EQUAL(cc_key_next(&reader, &field), CMN_OK);
	CU_ASSERT_TRUE(cmn_view_equal(field.value, (struct cmn_view){ "a\0b", 3 }));
	CU_ASSERT_EQUAL(cc_key_next(&reader, &field), CMN_OK);
	CU_ASSERT_TRUE(cmn_view_equal(field.value, (struct cmn_view){ number, 8 }));
	CU_ASSERT_EQUAL(cc_key_next(&reader, &field), CMN_OK);
	CU_ASSERT_EQUAL(field.part, CC_PART_OPTIONS);
	CU_ASSERT_EQUAL(field.value.len, 0);
	CU_ASSERT_EQUAL(cc_key_next(&reader, &field), CMN_MISS);
}

TEST(a_field_changes_its_own_part_only)
{
	struct cmn_hash before[CC_PART_COUNT], after[CC_PART_COUNT];
	struct cc_key key;

	for (int part = 0; part < CC_PART_COUNT; part++) {
		make_sample(&key);
		hash_parts(&key, before);
		cc_key_add_text(&key, (enum cc_part)part, "more", "");
		hash_parts(&key, after);
		for (int i = 0; i < CC_PART_COUNT; i++)
			CU_ASSERT_EQUAL(cmn_hash_equal(&before[i], &after[i]), i != part);
		cc_key_release(&key);
	}
}

TEST(part_hashes_do_not_see_how_parts_interleave)
{
	struct cmn_hash x[CC_PART_COUNT], y[CC_PART_COUNT];
	OWNED(cc_key_release) struct cc_key a, b;

	cc_key_init(&a);
	cc_key_add_text(&a, CC_PART_DEVICE, "d1", "1");
	cc_key_add_text(&a, CC_PART_DEVICE, "d2", "2");
	cc_key_add_text(&a, CC_PART_OPTIONS, "o1", "1");
	cc_key_add_text(&a, CC_PART_OPTIONS, "o2", "2");
	cc_key_init(&b);
	cc_key_add_text(&b, CC_PART_OPTIONS, "o1", "1");
	cc_key_add_text(&b, CC_PART_DEVICE, "d1", "1");
	cc_key_add_text(&b, CC_PART_OPTIONS, "o2", "2");
	cc_key_add_text(&b, CC_PART_DEVICE, "d2", "2");
	hash_parts(&a, x);
	hash_parts(&b, y);
	CU_ASSERT_EQUAL(memcmp(x, y, sizeof(x)), 0);
	CU_ASSERT_FALSE(cmn_view_equal(cc_key_view(&a), cc_key_view(&b)));
}

TEST(order_names_and_borders_of_fields_count)
{
	static const char *const fields[][4] = {
		{ "a", "1", "b", "2" }, { "b", "2", "a", "1" }, { "a", "1b", "", "" },
		{ "a", "", "b", "12" }, { "ab", "1", "b", "2" }, { "a", "12", "b", "" },
	};
	struct cmn_hash hashes[6][CC_PART_COUNT];
	struct cc_key key;

	for (int i = 0; i < 6; i++) {
		cc_key_init(&key);
		cc_key_add_text(&key, CC_PART_OPTIONS, fields[i][0], fields[i][1]);
		if (fields[i][2][0])
			cc_key_add_text(&key, CC_PART_OPTIONS, fields[i][2], fields[i][3]);
		hash_parts(&key, hashes[i]);
		cc_key_release(&key);
		for (int j = 0; j < i; j++)
			CU_ASSERT_FALSE(cmn_hash_equal(&hashes[i][CC_PART_OPTIONS], &hashes[j][CC_PART_OPTIONS]));
	}
}

TEST(refuses_bad_names)
{
	char long_name[257];
	struct cc_key key, copy;

	memset(long_name, 'n', 256);
	long_name[256] = '\0';
	cc_key_init(&key);
	cc_key_add_text(&key, CC_PART_DEVICE, long_name + 1, "255 is fine");
	CU_ASSERT_EQUAL(cc_key_status(&key), CMN_OK);
	cc_key_add_text(&key, CC_PART_DEVICE, long_name, "256 is not");
	CU_ASSERT_EQUAL(cc_key_status(&key), CMN_ERR_INVALID);
	cc_key_init_copy(&copy, &key);
	CU_ASSERT_EQUAL(cc_key_status(&copy), CMN_ERR_INVALID);
	cc_key_release(&copy);
	cc_key_release(&key);
	cc_key_init(&key);
	cc_key_add_text(&key, CC_PART_DEVICE, "", "x");
	CU_ASSERT_EQUAL(cc_key_status(&key), CMN_ERR_INVALID);
	cc_key_release(&key);
}

/* Nothing that went wrong on the way is forgotten: a key without one of its fields is another's. */
TEST(what_went_wrong_stays_wrong)
{
	OWNED(cc_key_release) struct cc_key bad, good, copy;

	cc_key_init(&good);
	cc_key_init(&bad);
	cc_key_add_text(&bad, CC_PART_DEVICE, "", "x");
	cc_key_add_fields(&good, &bad);
	CU_ASSERT_EQUAL(cc_key_status(&good), CMN_ERR_INVALID);
	cc_key_release(&good);
	cc_key_release(&bad);
	cc_key_init(&good);
	cc_key_add_text(&good, CC_PART_COUNT, "beyond", "x");
	CU_ASSERT_EQUAL(cc_key_status(&good), CMN_ERR_INVALID);
	cc_key_release(&good);
	/* As if there had been no memory. */
	make_sample(&bad);
	bad.encoded.failed = true;
	CU_ASSERT_EQUAL(cc_key_status(&bad), CMN_ERR_NOMEM);
	cc_key_init_copy(&copy, &bad);
	CU_ASSERT_EQUAL(cc_key_status(&copy), CMN_ERR_NOMEM);
	cc_key_init(&good);
	cc_key_add_fields(&good, &bad);
	CU_ASSERT_EQUAL(cc_key_status(&good), CMN_ERR_NOMEM);
}

TEST(every_byte_of_a_long_value_counts)
{
	const size_t len = (size_t)3 << 20;
	char *value = calloc(1, len);
	struct cmn_hash hashes[2][CC_PART_COUNT];
	struct cc_key key;

	CU_ASSERT_PTR_NOT_NULL_FATAL(value);
	for (int i = 0; i < 2; i++) {
		value[len - 1] = (char)i;
		cc_key_init(&key);
		cc_key_add(&key, CC_PART_IMAGE, "source", value, len);
		CU_ASSERT(cc_key_view(&key).len > len);
		hash_parts(&key, hashes[i]);
		cc_key_release(&key);
	}
	CU_ASSERT_FALSE(cmn_hash_equal(&hashes[0][CC_PART_IMAGE], &hashes[1][CC_PART_IMAGE]));
	free(value);
}

TEST(a_copy_goes_on_by_itself)
{
	OWNED(cc_key_release) struct cc_key key, copy;

	make_sample(&key);
	cc_key_init_copy(&copy, &key);
	CU_ASSERT_TRUE(cmn_view_equal(cc_key_view(&key), cc_key_view(&copy)));
	cc_key_add_text(&copy, CC_PART_IMAGE, "x", "y");
	CU_ASSERT_TRUE(cc_key_view(&copy).len > cc_key_view(&key).len);
}

/* Each check is hash_parts's own: with what was hashed before, and without. */
TEST(folding_changes_no_hash)
{
	struct cmn_hash hashes[CC_PART_COUNT];
	struct cc_key first, key, copy;

	make_sample(&first);
	cc_key_fold(&first);
	hash_parts(&first, hashes);
	cc_key_add_text(&first, CC_PART_DEVICE, "device", "e");
	hash_parts(&first, hashes);
	cc_key_init(&key);
	cc_key_add_fields(&key, &first);
	CU_ASSERT_NOT_EQUAL(key.folded_len, 0);
	hash_parts(&key, hashes);
	cc_key_add_fields(&key, &first);
	hash_parts(&key, hashes);
	cc_key_init_copy(&copy, &key);
	cc_key_add_text(&copy, CC_PART_IMAGE, "x", "y");
	hash_parts(&copy, hashes);
	cc_key_release(&copy);
	cc_key_release(&key);
	/* Not the first ones there. */
	cc_key_init(&key);
	cc_key_add_text(&key, CC_PART_DEVICE, "device", "c");
	cc_key_add_fields(&key, &first);
	hash_parts(&key, hashes);
	cc_key_release(&key);
	cc_key_release(&first);
	/* What could not be had is not known. */
	cc_key_init(&key);
	cc_key_add_text(&key, CC_PART_DEVICE, "", "");
	cc_key_fold(&key);
	CU_ASSERT_EQUAL(key.folded_len, 0);
	cc_key_release(&key);
}

/* A small key's is malloc's, a large one's a block's. More than the room has: it grows as any key does. */
TEST(has_the_room_that_is_reserved)
{
	static const size_t lens[] = { 1000, CC_KEY_LARGE };
	struct cmn_slabs slabs = { 0 };

	for (size_t i = 0; i < 2; i++) {
		OWNED(cc_key_release) struct cc_key key, other;
		const uint8_t *data;

		make_sample(&other);
		cc_key_init(&key);
		cc_key_reserve(&key, &slabs, lens[i]);
		CU_ASSERT_EQUAL(cc_key_status(&key), CMN_OK);
		CU_ASSERT_EQUAL(key.encoded.slab != NULL, i == 1);
		data = cc_key_view(&key).data;
		cc_key_add_fields(&key, &other);
		CU_ASSERT_PTR_EQUAL(cc_key_view(&key).data, data);
		CU_ASSERT_TRUE(cmn_view_equal(cc_key_view(&key), cc_key_view(&other)));
		for (uint64_t number = 0; cc_key_view(&key).len <= lens[i]; number++) {
			cc_key_add_u64(&key, CC_PART_OPTIONS, "number", number);
			cc_key_add_u64(&other, CC_PART_OPTIONS, "number", number);
		}
		CU_ASSERT_EQUAL(cc_key_status(&key), CMN_OK);
		CU_ASSERT_TRUE(cmn_view_equal(cc_key_view(&key), cc_key_view(&other)));
	}
	cmn_slab_unref(slabs.current);
}

/* Walks to the end; how it ended. */
static enum cmn_status walk(struct cmn_view encoded)
{
	struct cmn_reader reader;
	struct cc_key_field field;
	enum cmn_status status = cc_key_read(encoded, &reader);

	while (status == CMN_OK)
		status = cc_key_next(&reader, &field);
	return status;
}

TEST(truncations_are_noticed)
{
	struct cmn_hash hashes[CC_PART_COUNT];
	struct cmn_reader reader;
	struct cc_key_field field;
	size_t border = 4, len;
	OWNED(cc_key_release) struct cc_key key;

	make_sample(&key);
	len = cc_key_view(&key).len;
	CU_ASSERT_EQUAL_FATAL(cc_key_read(cc_key_view(&key), &reader), CMN_OK);
	for (size_t i = 0; i < len; i++) {
		struct cmn_view cut = { key.encoded.data, i };

		/* A cut between two fields is a shorter key, as good as any. */
		CU_ASSERT_EQUAL(walk(cut), i == border ? CMN_MISS : CMN_ERR_CORRUPT);
		cc_key_part_hashes(cut, hashes);
		if (i == border && cc_key_next(&reader, &field) == CMN_OK)
			border = len - reader.left;
	}
	CU_ASSERT_EQUAL(border, len);
}

TEST(flipped_bits_stay_within_bounds)
{
	struct cmn_hash hashes[CC_PART_COUNT];
	OWNED(cc_key_release) struct cc_key key;

	make_sample(&key);
	for (size_t bit = 0; bit < key.encoded.len * 8; bit++) {
		key.encoded.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		CU_ASSERT_NOT_EQUAL(walk(cc_key_view(&key)), CMN_OK);
		cc_key_part_hashes(cc_key_view(&key), hashes);
		if (bit < 32)
			CU_ASSERT_EQUAL(walk(cc_key_view(&key)), CMN_ERR_VERSION);
		key.encoded.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
}
