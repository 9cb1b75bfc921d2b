/* SPDX-License-Identifier: MIT */
/* printable: what a terminal obeys, and what hides or reorders text, is not shown; everything else is. */
#include "common/printable.h"

#include "tests/support/unit.h"

/* Both ways, which must agree. */
static void check(const char *text, const char *expected)
{
	struct cmn_buffer buf = { 0 };
	char *copy = strdup(text), *got;

	CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
	cmn_printable_clean(copy, '?');
	CU_ASSERT_STRING_EQUAL(copy, expected);
	free(copy);
	cmn_printable_append(&buf, cmn_view_of(text), SIZE_MAX, '?');
	got = cmn_buffer_take_string(&buf);
	CU_ASSERT_PTR_NOT_NULL_FATAL(got);
	CU_ASSERT_STRING_EQUAL(got, expected);
	free(got);
}

static size_t encode(uint32_t number, char ret[5])
{
	size_t len = number < 0x80 ? 1 : number < 0x800 ? 2 : number < 0x10000 ? 3 : 4;
	static const unsigned char first[] = { 0, 0, 0xc0, 0xe0, 0xf0 };

	ret[len] = '\0';
	for (size_t i = len; i-- > 1; number >>= 6)
		ret[i] = (char)(0x80 | (number & 0x3f));
	ret[0] = (char)(first[len] | number);
	return len;
}

TEST(text_stays)
{
	check("", "");
	check("kernel void a(int *b) { }", "kernel void a(int *b) { }");
	check("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\xe6\xbc\xa2", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\xe6\xbc\xa2");
	check("\xd7\xa9\xd7\x9c", "\xd7\xa9\xd7\x9c");	/* from right to left by itself */
}

TEST(commands_for_terminals_go)
{
	check("a\033[2J\033]0;title\007b", "a?[2J?]0;title?b");
	check("a\tb\nc\rd\be\x7f", "a?b?c?d?e?");
	check("\xc2\x9b" "31m\xc2\x85", "?31m?");	/* C1 */
	check("\x9b" "31m", "?31m");	/* as terminals of one byte a character have it */
	check("\xe2\x80\xae" "live\xe2\x81\xa6\xd8\x9c", "?live??");
	check("\xef\xbb\xbf\xe2\x80\xa8\xe2\x80\x8b", "???");
	check("\xf0\x9f\x98", "???");	/* cut */
	check("\xc0\x9b\xed\xa0\x80\xf4\x90\x80\x80", "?????????");
}

/* Each character of Unicode that a terminal or a reader must not get. */
TEST(each_control_and_mark_of_direction_goes)
{
	static const struct {
		uint32_t first, last;
	} bad[] = {
		{ 0x01, 0x1f }, { 0x7f, 0x9f }, { 0x61c, 0x61c }, { 0x200b, 0x200f }, { 0x2028, 0x202e },
		{ 0x2060, 0x206f }, { 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0xfffe, 0xffff }, { 0xe0000, 0xe007f },
	};
	static const uint32_t good[] = { ' ', '~', 0xa0, 0xe9, 0x61b, 0x61d, 0x200a, 0x2010, 0x2027, 0x202f,
					 0x2070, 0x1f600 };
	char text[5];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		for (uint32_t number = bad[i].first; number <= bad[i].last; number++) {
			size_t len = encode(number, text);
			struct cmn_character next = cmn_printable_next((struct cmn_view){ text, len });

			CU_ASSERT_FALSE(next.shown);
			CU_ASSERT_EQUAL(next.number, number);
			check(text, "?");
		}
	}
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		(void)encode(good[i], text);
		check(text, text);
	}
}

TEST(a_zero_byte_and_the_end)
{
	struct cmn_buffer buf = { 0 };
	struct cmn_character end = cmn_printable_next((struct cmn_view){ NULL, 0 });

	CU_ASSERT_EQUAL(end.len, 0);
	cmn_printable_append(&buf, (struct cmn_view){ "a\0b", 3 }, SIZE_MAX, ' ');
	CU_ASSERT_EQUAL(buf.len, 3);
	CU_ASSERT_EQUAL(memcmp(buf.data, "a b", 3), 0);
	/* Never half of a character. */
	buf.len = 0;
	cmn_printable_append(&buf, cmn_view_of("a\xc3\xa4z"), 2, ' ');
	CU_ASSERT_EQUAL(buf.len, 1);
	cmn_buffer_release(&buf);
}
