/* SPDX-License-Identifier: MIT */
/* json: escaping, and which bytes are text. */
#include "common/json.h"

#include "tests/support/unit.h"

static void check(struct cmn_view text, const char *expected)
{
	struct cmn_buffer buf = { 0 };
	char *got;

	cmn_json_append_string(&buf, text);
	got = cmn_buffer_take_string(&buf);
	CU_ASSERT_PTR_NOT_NULL_FATAL(got);
	CU_ASSERT_STRING_EQUAL(got, expected);
	free(got);
}

TEST(escapes_what_json_forbids)
{
	check(cmn_view_of(""), "\"\"");
	check(cmn_view_of("a\"b\\c/d"), "\"a\\\"b\\\\c/d\"");
	check(cmn_view_of("\n\t\r\x01\x7f"), "\"\\n\\t\\u000d\\u0001\\u007f\"");
	check((struct cmn_view){ "a\0b", 3 }, "\"a\\u0000b\"");
}

TEST(keeps_utf8_and_replaces_the_rest)
{
	check(cmn_view_of("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"), "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
	check(cmn_view_of("a\xff"), "\"a\\ufffd\"");
	check(cmn_view_of("\xc0\xaf"), "\"\\ufffd\\ufffd\"");		/* overlong */
	check(cmn_view_of("\xe0\x9f\xbf"), "\"\\ufffd\\ufffd\\ufffd\"");
	check(cmn_view_of("\xf0\x8f\xbf\xbf"), "\"\\ufffd\\ufffd\\ufffd\\ufffd\"");
	check(cmn_view_of("\xe2\x82z"), "\"\\ufffd\\ufffdz\"");	/* another character in it */
	check(cmn_view_of("\xed\xa0\x80"), "\"\\ufffd\\ufffd\\ufffd\"");	/* a surrogate */
	check(cmn_view_of("\xf4\x90\x80\x80"), "\"\\ufffd\\ufffd\\ufffd\\ufffd\"");
	check((struct cmn_view){ "\xe2\x82\xac", 2 }, "\"\\ufffd\\ufffd\"");	/* cut */
}

TEST(tells_text_from_bytes)
{
	CU_ASSERT_TRUE(cmn_json_is_text(cmn_view_of("")));
	CU_ASSERT_TRUE(cmn_json_is_text(cmn_view_of("one\r\n\ttwo \xc3\xa9")));
	CU_ASSERT_FALSE(cmn_json_is_text(cmn_view_of("\x1b[31m")));
	CU_ASSERT_FALSE(cmn_json_is_text(cmn_view_of("\xff")));
	CU_ASSERT_FALSE(cmn_json_is_text(cmn_view_of("\x7f")));
	CU_ASSERT_FALSE(cmn_json_is_text((struct cmn_view){ "a\0", 2 }));
}
