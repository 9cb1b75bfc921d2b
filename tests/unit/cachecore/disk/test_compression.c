/* SPDX-License-Identifier: MIT */
/* compression: there and back, hostile streams, and what CKCACHE_COMPRESSION=auto stores raw. */
#include "cachecore/config.h"
#include "cachecore/disk/compression.h"
#include "tests/support/unit.h"

#define LEN 5000
#define MB ((size_t)1 << 20)
#define SLOW_LOAD 90	/* a driver that compiles what it loads */

static void fill(uint8_t *data)
{
	for (int i = 0; i < LEN; i++)
		data[i] = (uint8_t)(i * i / 50);
}

TEST(every_level_gives_the_data_back)
{
	uint8_t data[LEN];
	struct cmn_view view = { data, LEN };

	fill(data);
	for (int level = 1; level <= 9; level++) {
		struct cmn_buffer packed = { 0 }, plain = { 0 };

		cmn_buffer_append_text(&plain, "kept");
		CU_ASSERT_EQUAL_FATAL(cc_codec_compress(view, level, &packed), CMN_OK);
		CU_ASSERT_TRUE(packed.len < LEN);
		CU_ASSERT_EQUAL(cc_codec_decompress(CC_CODEC_ZLIB, cmn_buffer_view(&packed), LEN, &plain), CMN_OK);
		CU_ASSERT_EQUAL_FATAL(plain.len, LEN + 4);
		CU_ASSERT_EQUAL(memcmp(plain.data, "kept", 4), 0);
		CU_ASSERT_EQUAL(memcmp(plain.data + 4, data, LEN), 0);
		cmn_buffer_release(&packed);
		cmn_buffer_release(&plain);
	}
}

TEST(empty_data_and_large_data_work)
{
	struct cmn_buffer packed = { 0 }, plain = { 0 }, large = { 0 };
	size_t len = (size_t)9 << 20;

	CU_ASSERT_EQUAL(cc_codec_compress((struct cmn_view){ NULL, 0 }, 6, &packed), CMN_OK);
	CU_ASSERT_EQUAL(cc_codec_decompress(CC_CODEC_ZLIB, cmn_buffer_view(&packed), 0, &plain), CMN_OK);
	CU_ASSERT_EQUAL(plain.len, 0);
	cmn_buffer_release(&packed);
	CU_ASSERT_TRUE_FATAL(cmn_buffer_reserve(&large, len));
	memset(large.data, 'x', len);
	large.len = len;
	CU_ASSERT_EQUAL(cc_codec_compress(cmn_buffer_view(&large), 1, &packed), CMN_OK);
	CU_ASSERT_EQUAL(cc_codec_decompress(CC_CODEC_ZLIB, cmn_buffer_view(&packed), len, &plain), CMN_OK);
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

TEST(another_length_is_corrupt)
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

/* What zlib makes of such data is what is on disk, whichever library decodes it. */
TEST(decodes_streams_of_zlib)
{
	static const uint8_t stored_block[] = {
		0x78, 0x01, 0x01, 0x03, 0x00, 0xfc, 0xff, 0x61, 0x62, 0x63, 0x02, 0x4d,
		0x01, 0x27,
	};
	static const uint8_t fixed_code[] = {
		0x78, 0x9c, 0xcb, 0x4e, 0x2d, 0xca, 0x4b, 0xcd, 0x51, 0xc8, 0x1e, 0xa5,
		0x86, 0x26, 0x05, 0x00, 0xce, 0x7d, 0xa8, 0x41,
	};
	static const uint8_t dynamic_code[] = {
		0x78, 0xda, 0x75, 0xcd, 0xc1, 0x09, 0x00, 0x30, 0x0c, 0x42, 0xd1, 0x59,
		0x7f, 0x74, 0xff, 0x19, 0x4a, 0x6a, 0x7b, 0x48, 0xa1, 0x81, 0x5c, 0x1e,
		0x8a, 0x80, 0x0d, 0x92, 0xa0, 0x8a, 0x9c, 0x43, 0x84, 0xa2, 0xee, 0x57,
		0x73, 0x7d, 0x93, 0x87, 0x08, 0x69, 0x94, 0x9d, 0xf2, 0x9b, 0x9c, 0xc3,
		0x9b, 0x3a, 0xc8, 0x5d, 0x59, 0x39, 0x3a, 0x3d, 0x1b,
	};
	const struct {
		struct cmn_view packed;
		uint64_t len;
	} rows[] = {
		{ { stored_block, sizeof(stored_block) }, 3 },
		{ { fixed_code, sizeof(fixed_code) }, 7 * 64 },
		{ { dynamic_code, sizeof(dynamic_code) }, 160 },
	};
	struct cmn_buffer plain[3] = { { 0 } };

	for (size_t i = 0; i < 3; i++)
		CU_ASSERT_EQUAL_FATAL(cc_codec_decompress(CC_CODEC_ZLIB, rows[i].packed, rows[i].len, &plain[i]),
				      CMN_OK);
	CU_ASSERT_TRUE(cmn_view_equal(cmn_buffer_view(&plain[0]), cmn_view_of("abc")));
	for (size_t i = 0; i < 7 * 64; i++)
		CU_ASSERT_EQUAL(plain[1].data[i], "kernel "[i % 7]);
	for (uint64_t i = 0; i < 160; i++)
		CU_ASSERT_EQUAL(plain[2].data[i], 'a' + (i * 2654435761 >> 13 & 3) * (i * 40503 >> 7 & 1));
	for (size_t i = 0; i < 3; i++)
		cmn_buffer_release(&plain[i]);
}

TEST(no_codec_copies_exactly)
{
	struct cmn_buffer plain = { 0 };

	CU_ASSERT_EQUAL(cc_codec_decompress(CC_CODEC_NONE, cmn_view_of("abc"), 3, &plain), CMN_OK);
	CU_ASSERT_TRUE(cmn_view_equal(cmn_buffer_view(&plain), cmn_view_of("abc")));
	CU_ASSERT_EQUAL(cc_codec_decompress(CC_CODEC_NONE, cmn_view_of("abc"), 2, &plain), CMN_ERR_CORRUPT);
	CU_ASSERT_EQUAL(cc_codec_decompress((enum cc_codec)9, cmn_view_of("abc"), 3, &plain), CMN_ERR_CORRUPT);
	cmn_buffer_release(&plain);
}

TEST(refuses_levels_that_do_not_exist)
{
	struct cmn_buffer packed = { 0 };

	CU_ASSERT_EQUAL(cc_codec_compress(cmn_view_of("a"), 0, &packed), CMN_ERR_INVALID);
	CU_ASSERT_EQUAL(cc_codec_compress(cmn_view_of("a"), 10, &packed), CMN_ERR_INVALID);
	CU_ASSERT_EQUAL(packed.len, 0);
}

/* Of each `period` bytes so many are noise and the rest the same: what remains is near noise / period. */
static struct cmn_buffer make_payload(size_t len, size_t noise_len, size_t period)
{
	struct cmn_buffer payload = { 0 };
	uint32_t noise = 1;

	CU_ASSERT_TRUE_FATAL(cmn_buffer_reserve(&payload, len));
	for (size_t i = 0; i < len; i++) {
		noise = noise * 1664525 + 1013904223;
		payload.data[i] = i % period < noise_len ? (uint8_t)(noise >> 24) : 7;
	}
	payload.len = len;
	return payload;
}

/* The stored length, or 0 where it goes raw; what is compressed gives the payload back. */
static size_t pack(const struct cmn_buffer *payload, int level, unsigned int load_rate)
{
	struct cmn_buffer stored = { 0 }, plain = { 0 };
	bool packed = cc_compression_compress(cmn_buffer_view(payload), level, load_rate, &stored);
	size_t len = stored.len;

	CU_ASSERT_EQUAL(packed, len > 0);
	if (packed) {
		CU_ASSERT_EQUAL_FATAL(cc_codec_decompress(CC_CODEC_ZLIB, cmn_buffer_view(&stored),
							  payload->len, &plain), CMN_OK);
		CU_ASSERT_TRUE(cmn_view_equal(cmn_buffer_view(&plain), cmn_buffer_view(payload)));
	} else {
		CU_ASSERT_PTR_NULL(stored.data);
	}
	cmn_buffer_release(&plain);
	cmn_buffer_release(&stored);
	return len;
}

/* One payload of that kind, by auto. */
static size_t pack_auto(size_t len, size_t noise_len, size_t period, unsigned int load_rate)
{
	struct cmn_buffer payload = make_payload(len, noise_len, period);
	size_t stored = pack(&payload, CC_COMPRESSION_AUTO, load_rate);

	cmn_buffer_release(&payload);
	return stored;
}

TEST(what_loads_quickly_goes_raw)
{
	/* As native code is: a quarter remains. */
	CU_ASSERT_EQUAL(pack_auto(MB, 200, 1000, 0), 0);
	CU_ASSERT_EQUAL(pack_auto(MB, 200, 1000, CC_PACKING_QUICKEST_LOAD), 0);
	CU_ASSERT_EQUAL(pack_auto(MB, 20, 1000, 0), 0);
}

TEST(what_loads_slowly_is_compressed)
{
	size_t stored = pack_auto(MB, 200, 1000, SLOW_LOAD);

	CU_ASSERT_TRUE(stored > 0 && stored < MB / 3);
	/* Below the length from which a sample is taken, too. */
	CU_ASSERT_TRUE(pack_auto(MB / 8, 200, 1000, SLOW_LOAD) > 0);
}

TEST(nearly_empty_payloads_are_compressed_for_any_driver)
{
	CU_ASSERT_TRUE(pack_auto(4 * MB, 1, 1000, 0) > 0);
}

TEST(what_a_hit_would_pay_too_much_for_goes_raw)
{
	/* The decoder alone is more than a twentieth of such a load. */
	CU_ASSERT_EQUAL(pack_auto(16384, 200, 1000, SLOW_LOAD), 0);
	/* The same content is worth it for one driver and not for another. */
	CU_ASSERT_TRUE(pack_auto(MB, 200, 1000, 40) > 0);
	CU_ASSERT_EQUAL(pack_auto(MB, 200, 1000, 20), 0);
}

TEST(noise_goes_raw)
{
	struct cmn_buffer payload = make_payload(MB, 1, 1);

	for (int level = CC_COMPRESSION_AUTO; level <= 9; level++)
		CU_ASSERT_EQUAL(pack(&payload, level, 1000), 0);
	cmn_buffer_release(&payload);
}

TEST(less_than_a_quarter_is_no_gain_for_auto)
{
	struct cmn_buffer payload = make_payload(MB, 850, 1000);

	CU_ASSERT_EQUAL(pack(&payload, CC_COMPRESSION_AUTO, 1000), 0);
	CU_ASSERT_TRUE(pack(&payload, 1, 1000) > 0);
	cmn_buffer_release(&payload);
}

/* The middle is noise: nothing more is tried. */
TEST(a_sample_can_decide)
{
	struct cmn_buffer payload = make_payload(MB, 0, 1), noise = make_payload(MB / 4, 1, 1);

	memcpy(payload.data + MB / 2 - MB / 8, noise.data, noise.len);
	CU_ASSERT_EQUAL(pack(&payload, CC_COMPRESSION_AUTO, SLOW_LOAD), 0);
	CU_ASSERT_TRUE(pack(&payload, 6, SLOW_LOAD) > 0);
	cmn_buffer_release(&payload);
	cmn_buffer_release(&noise);
}

TEST(a_level_is_taken_at_its_word)
{
	struct cmn_buffer payload = make_payload(MB, 200, 1000), empty = { 0 };

	CU_ASSERT_EQUAL(pack(&payload, CC_COMPRESSION_NONE, SLOW_LOAD), 0);
	for (int level = 1; level <= 9; level++)
		CU_ASSERT_TRUE(pack(&payload, level, 0) > 0);
	for (int level = CC_COMPRESSION_AUTO; level <= 9; level++)
		CU_ASSERT_EQUAL(pack(&empty, level, SLOW_LOAD), 0);
	cmn_buffer_release(&payload);
}
