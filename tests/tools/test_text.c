/* SPDX-License-Identifier: MIT */
/* text: units change where they should, and a cell is as wide as it says. */
#include "tools/text.h"

#include "tests/support/unit.h"

static const uint64_t second = UINT64_C(1000000000);

#define SAYS(function, value, expected)						\
	do {									\
		char said[TEXT_SIZE];						\
										\
		CU_ASSERT_STRING_EQUAL(function(value, said), expected);	\
	} while (0)

TEST(sizes_have_a_unit_that_fits)
{
	SAYS(text_bytes, 0, "0 B");
	SAYS(text_bytes, 1023, "1023 B");
	SAYS(text_bytes, 1024, "1.0 KiB");
	SAYS(text_bytes, 1536, "1.5 KiB");
	SAYS(text_bytes, (UINT64_C(1) << 20) - 1, "1.0 MiB");	/* not 1024.0 KiB */
	SAYS(text_bytes, UINT64_C(8) << 30, "8.0 GiB");
	SAYS(text_bytes, UINT64_MAX, "16.0 EiB");
}

TEST(times_have_units_that_fit)
{
	SAYS(text_time, 0, "0.00 ms");
	SAYS(text_time, 120000, "0.12 ms");
	SAYS(text_time, 12340000, "12.3 ms");
	SAYS(text_time, second, "1.00 s");
	SAYS(text_time, 59 * second, "59.00 s");
	SAYS(text_time, 60 * second - 1, "1 min 0 s");	/* not 60.00 s */
	SAYS(text_time, 725 * second, "12 min 5 s");
	SAYS(text_time, 10920 * second, "3 h 2 min");
	SAYS(text_time, 180000 * second, "2 d 2 h");
	SAYS(text_time, UINT64_MAX, "213503 d 23 h");
}

TEST(a_share_of_nothing_is_none)
{
	char said[TEXT_SIZE];

	CU_ASSERT_STRING_EQUAL(text_share(1, 8, said), "12.5 %");
	CU_ASSERT_STRING_EQUAL(text_share(3, 3, said), "100.0 %");
	CU_ASSERT_STRING_EQUAL(text_share(0, 0, said), "-");
	CU_ASSERT_STRING_EQUAL(text_share(UINT64_MAX, 1, said), "1844674407370955161600.0 %");
}

static void expect_cell(const char *text, size_t columns, const char *expected)
{
	struct cmn_buffer buf = { 0 };
	char *cell;

	text_append_cell(&buf, text, columns);
	cell = cmn_buffer_take_string(&buf);
	CU_ASSERT_FATAL(cell != NULL);
	CU_ASSERT_STRING_EQUAL(cell, expected);
	free(cell);
}

TEST(cells_count_characters)
{
	expect_cell("abc", 5, "abc  ");
	expect_cell("abcdef", 3, "abc");
	expect_cell("", 2, "  ");
	expect_cell("abc", 0, "");
	expect_cell("\xc3\xa4\xc3\xb6\xc3\xbc", 2, "\xc3\xa4\xc3\xb6");	/* never half of one */
	expect_cell("\xe2\x82\xac", 3, "\xe2\x82\xac  ");
}

TEST(cells_command_no_terminal)
{
	expect_cell("a\033[31mb", 7, "a [31mb");
	expect_cell("\x7f\r\n\t", 4, "    ");
	expect_cell("\xc2\x9b" "31m", 4, " 31m");	/* C1's CSI */
	expect_cell("\xc2\xa0" "b", 2, "\xc2\xa0" "b");
}

static void expect_wrapped(const char *text, size_t columns, const char *expected)
{
	struct cmn_buffer buf = { 0 };

	cmn_buffer_append_text(&buf, "> ");
	cmn_buffer_append_text(&buf, text);
	text_wrap(&buf, 2, 2, columns);
	CU_ASSERT_TRUE(cmn_view_equal(cmn_view_of(expected), (struct cmn_view){ buf.data + 2, buf.len - 2 }));
	cmn_buffer_release(&buf);
}

TEST(lines_break_between_words)
{
	expect_wrapped("one two three", 0, "one two three");
	expect_wrapped("one two three", 13, "one two three");
	expect_wrapped("one two three", 12, "one two\n  three");
	expect_wrapped("  one two three", 7, "  one\n  two\n  three");
	expect_wrapped("one  two", 5, "one\n  two");
	expect_wrapped("longer-than-that two", 6, "longer-than-that\n  two");
	expect_wrapped("\033[31mone\033[0m two", 7, "\033[31mone\033[0m two");
	expect_wrapped("\xc3\xa4\xc3\xb6 \xc3\xbc" "x", 5, "\xc3\xa4\xc3\xb6 \xc3\xbc" "x");
	expect_wrapped("\xc3\xa4\xc3\xb6 \xc3\xbc" "x", 4, "\xc3\xa4\xc3\xb6\n  \xc3\xbc" "x");
	expect_wrapped("", 3, "");
}

TEST(first_lines_say_something)
{
	static const char *const texts[][2] = {
		{ "\n#define A\n// b\n/* c\n * d\n */\n  int x;\nint y;", "int x;" },
		{ "\n  #define A\n#define B\n", "#define A" }, { " \n", "" }, { "one", "one" },
	};

	static const char binary[] = "\0int x;\nint y;";

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		CU_ASSERT_TRUE(cmn_view_equal(text_first_line(cmn_view_of(texts[i][0])),
					      cmn_view_of(texts[i][1])));
	/* A NUL begins no comment. */
	CU_ASSERT_TRUE(cmn_view_equal(text_first_line((struct cmn_view){ binary, sizeof(binary) - 1 }),
				      (struct cmn_view){ binary, 7 }));
}

TEST(what_is_cut_ends_in_dots)
{
	struct cmn_buffer buf = { 0 };
	char *said;

	for (size_t max = 2; max <= 4; max++) {
		text_append_clean(&buf, cmn_view_of("a\nb"), max);
		said = cmn_buffer_take_string(&buf);
		CU_ASSERT_FATAL(said != NULL);
		CU_ASSERT_STRING_EQUAL(said, max < 3 ? "a ..." : "a b");
		free(said);
	}
}
