/* SPDX-License-Identifier: MIT */
/* test_codec: compression there and back, and hostile streams. */
#include <string.h>

#include "cachecore/codec.h"
#include "tests/support/unit.h"

#define LEN 5000

static void fill(uint8_t *data)
{
	for (int i = 0; i < LEN; i++)
		data[i] = (uint8_t)(i * i / 50);
}

static void every_level_gives_the_data_back(void)
{
	uint8_t data[LEN];
	struct cmn_view view = { data, LEN };

	fill(data);
	for (int level = 1; level <= 9; level++) {
		struct cmn_buffer packed = { 0 }, plain = { 0 };

		cmn_buffer_append_text(&plain, "kept");
		CU_ASSERT_EQUAL_FATAL(cc_codec_compress(view, level, &packed), CMN_OK);
		CU_ASSERT_TRUE(packed.len < LEN);
		CU_ASSERT_EQUAL(cc_codec_decompress(CC_CODEC_ZLIB, cmn_buffer_view(&packed), LEN,
						    &plain), CMN_OK);
		CU_ASSERT_EQUAL_FATAL(plain.len, LEN + 4);
		CU_ASSERT_EQUAL(memcmp(plain.data, "kept", 4), 0);
		CU_ASSERT_EQUAL(memcmp(plain.data + 4, data, LEN), 0);
		cmn_buffer_release(&packed);
		cmn_buffer_release(&plain);
	}
}

static void empty_data_and_large_data_work(void)
{
	struct cmn_buffer packed = { 0 }, plain = { 0 }, large = { 0 };
	size_t len = (size_t)9 << 20;

	CU_ASSERT_EQUAL(cc_codec_compress((struct cmn_view){ NULL, 0 }, 6, &packed), CMN_OK);
	CU_ASSERT_EQUAL(cc_codec_decompress(CC_CODEC_ZLIB, cmn_buffer_view(&packed), 0, &plain),
			CMN_OK);
	CU_ASSERT_EQUAL(plain.len, 0);
	cmn_buffer_release(&packed);
	CU_ASSERT_TRUE_FATAL(cmn_buffer_reserve(&large, len));
	memset(large.data, 'x', len);
	large.len = len;
	CU_ASSERT_EQUAL(cc_codec_compress(cmn_buffer_view(&large), 1, &packed), CMN_OK);
	CU_ASSERT_EQUAL(cc_codec_decompress(CC_CODEC_ZLIB, cmn_buffer_view(&packed), len, &plain),
			CMN_OK);
	CU_ASSERT_TRUE(cmn_view_equal(cmn_buffer_view(&plain), cmn_buffer_view(&large)));
	cmn_buffer_release(&packed);
	cmn_buffer_release(&plain);
	cmn_buffer_release(&large);
}

static enum cmn_status unpack(struct cmn_view packed, uint64_t len)
{
	struct cmn_buffer plain = { 0 };
	enum cmn_status status = cc_codec_decompress(CC_CODEC_ZLIB, packed, len, &plain);

	CU_ASSERT_EQUAL(plain.len, status == CMN_OK ? len : 0);
	cmn_buffer_release(&plain);
	return status;
}

static void another_length_is_corrupt(void)
{
	uint8_t data[LEN];
	struct cmn_buffer packed = { 0 };
	struct cmn_view view;

	fill(data);
	CU_ASSERT_EQUAL_FATAL(cc_codec_compress((struct cmn_view){ data, LEN }, 9, &packed), CMN_OK);
	view = cmn_buffer_view(&packed);
	CU_ASSERT_EQUAL(unpack(view, LEN), CMN_OK);
	CU_ASSERT_EQUAL(unpack(view, LEN - 1), CMN_ERR_CORRUPT);
	CU_ASSERT_EQUAL(unpack(view, LEN + 1), CMN_ERR_CORRUPT);
	CU_ASSERT_EQUAL(unpack(view, 0), CMN_ERR_CORRUPT);
	/* More than deflate can do: refused before anything is allocated. */
	CU_ASSERT_EQUAL(unpack(view, UINT64_C(1) << 40), CMN_ERR_CORRUPT);
	CU_ASSERT_EQUAL(unpack(view, UINT64_MAX), CMN_ERR_CORRUPT);
	for (size_t cut = 0; cut < packed.len; cut++)
		CU_ASSERT_EQUAL(unpack((struct cmn_view){ packed.data, cut }, LEN), CMN_ERR_CORRUPT);
	cmn_buffer_append_u8(&packed, 0);
	CU_ASSERT_EQUAL(unpack(cmn_buffer_view(&packed), LEN), CMN_ERR_CORRUPT);
	cmn_buffer_release(&packed);
}

static void no_codec_copies_exactly(void)
{
	struct cmn_buffer plain = { 0 };

	CU_ASSERT_EQUAL(cc_codec_decompress(CC_CODEC_NONE, cmn_view_of("abc"), 3, &plain), CMN_OK);
	CU_ASSERT_TRUE(cmn_view_equal(cmn_buffer_view(&plain), cmn_view_of("abc")));
	CU_ASSERT_EQUAL(cc_codec_decompress(CC_CODEC_NONE, cmn_view_of("abc"), 2, &plain),
			CMN_ERR_CORRUPT);
	CU_ASSERT_EQUAL(cc_codec_decompress((enum cc_codec)9, cmn_view_of("abc"), 3, &plain),
			CMN_ERR_CORRUPT);
	cmn_buffer_release(&plain);
}

static void refuses_levels_that_do_not_exist(void)
{
	struct cmn_buffer packed = { 0 };

	CU_ASSERT_EQUAL(cc_codec_compress(cmn_view_of("a"), 0, &packed), CMN_ERR_INVALID);
	CU_ASSERT_EQUAL(cc_codec_compress(cmn_view_of("a"), 10, &packed), CMN_ERR_INVALID);
	CU_ASSERT_EQUAL(packed.len, 0);
}

int main(void)
{
	static const struct unit_test tests[] = {
		UNIT_TEST(every_level_gives_the_data_back),
		UNIT_TEST(empty_data_and_large_data_work),
		UNIT_TEST(another_length_is_corrupt),
		UNIT_TEST(no_codec_copies_exactly),
		UNIT_TEST(refuses_levels_that_do_not_exist),
	};

	return UNIT_MAIN("codec", tests);
}
