/* SPDX-License-Identifier: MIT */
/* quick_hash: known value, every byte counts, whatever the length. */
#include "common/hash.h"

#include "tests/support/unit.h"

TEST(gives_the_published_value_of_nothing)
{
	/* XXH3-64 of nothing with seed 0, as xxhsum -H3 prints it. */
	CU_ASSERT_EQUAL(cmn_quick_hash((struct cmn_view){ 0 }), UINT64_C(0x2d06800538d394c2));
}

TEST(tells_any_flipped_bit)
{
	static uint8_t data[600] = "some bytes";

	for (size_t len = 1; len <= sizeof(data); len = len * 3 / 2 + 1) {
		const struct cmn_view view = { data, len };
		uint64_t first = cmn_quick_hash(view);

		for (size_t bit = 0; bit < 8 * len; bit++) {
			data[bit / 8] ^= (uint8_t)(1u << (bit % 8));
			CU_ASSERT_NOT_EQUAL(cmn_quick_hash(view), first);
			data[bit / 8] ^= (uint8_t)(1u << (bit % 8));
		}
		CU_ASSERT_EQUAL(cmn_quick_hash(view), first);
	}
}
