/* SPDX-License-Identifier: MIT */
/* test_base64: RFC 4648's vectors, and that each text is the only one of its bytes. */
#include "common/base64.h"

#include "tests/support/unit.h"

TEST(the_vectors_of_rfc_4648_hold)
{
	static const struct {
		const char *bytes, *text;
	} rows[] = {
		{ "", "" }, { "f", "Zg==" }, { "fo", "Zm8=" }, { "foo", "Zm9v" },
		{ "foob", "Zm9vYg==" }, { "fooba", "Zm9vYmE=" }, { "foobar", "Zm9vYmFy" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[CMN_BASE64_SIZE(6)];
		uint8_t bytes[6];
		size_t len = strlen(rows[i].bytes);

		cmn_base64_encode((const uint8_t *)rows[i].bytes, len, text);
		CU_ASSERT_STRING_EQUAL(text, rows[i].text);
		CU_ASSERT_TRUE(cmn_base64_decode(cmn_view_of(text), bytes, len));
		CU_ASSERT_EQUAL(memcmp(bytes, rows[i].bytes, len), 0);
		CU_ASSERT_FALSE(cmn_base64_decode(cmn_view_of(text), bytes, len + 1));
	}
}

TEST(what_is_not_the_one_text_of_so_many_bytes_is_refused)
{
	static const char *const texts[] = {
		"Zm9vYh==", "Zm9vYg=A", "Zm9vYg=", "Zm9vYg", "Zm9v=g==", "Zm9vY===", "Zm9vYg==\n",
		"Zm9-Yg==", " m9vYg==",
	};
	uint8_t bytes[4];

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		CU_ASSERT_FALSE(cmn_base64_decode(cmn_view_of(texts[i]), bytes, sizeof(bytes)));
}
