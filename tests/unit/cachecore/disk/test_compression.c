/* SPDX-License-Identifier: MIT */
/* compression: what CKCACHE_COMPRESSION=auto stores raw and what it compresses. */
#include "cachecore/config.h"
#include "cachecore/disk/compression.h"
#include "tests/support/unit.h"

#define MB ((size_t)1 << 20)
#define SLOW_LOAD 90	/* a driver that compiles what it loads */

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
