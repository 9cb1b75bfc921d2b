/* SPDX-License-Identifier: MIT */
/* hash: known values, streaming, hexadecimal form. */
#include "common/hash.h"

#include "tests/support/unit.h"

TEST(gives_the_published_value_of_nothing)
{
	char hex[CMN_HASH_HEX_SIZE];
	struct cmn_hash hash = cmn_hash_of(NULL, 0);

	/* XXH128("") with seed 0, as xxhsum -H2 prints it. */
	cmn_hash_hex(&hash, hex);
	CU_ASSERT_STRING_EQUAL(hex, "99aa06d3014798d86001c324468d497f");
}

TEST(tells_any_flipped_bit)
{
	uint8_t data[64] = "some bytes";
	struct cmn_hash first = cmn_hash_of(data, sizeof(data));

	for (size_t bit = 0; bit < 8 * sizeof(data); bit++) {
		struct cmn_hash other;

		data[bit / 8] ^= (uint8_t)(1u << (bit % 8));
		other = cmn_hash_of(data, sizeof(data));
		CU_ASSERT_FALSE(cmn_hash_equal(&first, &other));
		data[bit / 8] ^= (uint8_t)(1u << (bit % 8));
	}
}

TEST(streams_to_the_same_value)
{
	uint8_t data[5000];
	struct cmn_hasher *hasher = cmn_hasher_new();
	struct cmn_hash whole, pieces;

	CU_ASSERT_PTR_NOT_NULL_FATAL(hasher);
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 31);
	for (size_t at = 0; at < sizeof(data); at += 1250)
		cmn_hasher_update(hasher, data + at, 1250);
	whole = cmn_hash_of(data, sizeof(data));
	pieces = cmn_hasher_digest(hasher);
	CU_ASSERT_TRUE(cmn_hash_equal(&whole, &pieces));
	cmn_hasher_free(hasher);
	cmn_hasher_free(NULL);
}

/* Whichever instructions are taken for it. */
TEST(is_the_same_for_every_length)
{
	static uint8_t data[8192 + 7];

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * i >> 3);
	for (size_t len = 0; len <= 8192; len += len < 2100 ? 1 : 137) {
		struct cmn_hasher *hasher = cmn_hasher_new();
		struct cmn_hash whole = cmn_hash_of(data + len % 8, len), pieces;

		CU_ASSERT_PTR_NOT_NULL_FATAL(hasher);
		cmn_hasher_update(hasher, data + len % 8, len);
		pieces = cmn_hasher_digest(hasher);
		CU_ASSERT_TRUE(cmn_hash_equal(&whole, &pieces));
		cmn_hasher_free(hasher);
	}
}

TEST(digest_does_not_end_a_stream)
{
	struct cmn_hasher *hasher = cmn_hasher_new();
	struct cmn_hash half, whole, expected = cmn_hash_of("ab", 2);

	CU_ASSERT_PTR_NOT_NULL_FATAL(hasher);
	cmn_hasher_update(hasher, "a", 1);
	half = cmn_hasher_digest(hasher);
	cmn_hasher_update(hasher, "b", 1);
	whole = cmn_hasher_digest(hasher);
	CU_ASSERT_FALSE(cmn_hash_equal(&half, &whole));
	CU_ASSERT_TRUE(cmn_hash_equal(&expected, &whole));
	cmn_hasher_free(hasher);
}

TEST(number_follows_the_bytes)
{
	struct cmn_hash one = cmn_hash_of("a", 1), two = cmn_hash_of("b", 1);

	CU_ASSERT_EQUAL(cmn_hash_u64(&one), cmn_hash_u64(&one));
	CU_ASSERT_NOT_EQUAL(cmn_hash_u64(&one), cmn_hash_u64(&two));
}

TEST(knows_the_text_of_a_hash)
{
	struct cmn_hash hash = cmn_hash_of("x", 1);
	char text[CMN_HASH_HEX_SIZE + 1] = "";

	cmn_hash_hex(&hash, text);
	CU_ASSERT_TRUE(cmn_hash_is_hex(text));
	text[CMN_HASH_HEX_SIZE - 1] = '0';
	CU_ASSERT_FALSE(cmn_hash_is_hex(text));
	text[CMN_HASH_HEX_SIZE - 2] = '\0';
	CU_ASSERT_FALSE(cmn_hash_is_hex(text));
	CU_ASSERT_FALSE(cmn_hash_is_hex("0123456789ABCDEF0123456789ABCDEF"));
	CU_ASSERT_FALSE(cmn_hash_is_hex(""));
}
