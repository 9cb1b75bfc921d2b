/* SPDX-License-Identifier: MIT */
/* config_line: what each kind of line is split into. */
#include "cachecore/config.h"

#include "tests/support/unit.h"

static char text[256];

static struct cc_config_line split(const char *line)
{
	struct cc_config_line ret;

	CU_ASSERT_FATAL(strlen(line) < sizeof(text));
	memcpy(text, line, strlen(line) + 1);
	cc_config_line_split(text, &ret);
	return ret;
}

TEST(tells_lines_apart)
{
	static const struct {
		const char *line;
		enum cc_config_line_kind kind;
		const char *name, *value;
	} cases[] = {
		{ "", CC_CONFIG_LINE_EMPTY, "", NULL },
		{ " \t\r", CC_CONFIG_LINE_EMPTY, "", NULL },
		{ "# a = b", CC_CONFIG_LINE_EMPTY, "", NULL },
		{ "a=b", CC_CONFIG_LINE_SETTING, "a", "b" },
		{ "  a \t= b c # d\r", CC_CONFIG_LINE_SETTING, "a", "b c" },
		{ "a = b#c", CC_CONFIG_LINE_SETTING, "a", "b#c" },
		{ "a = b = c", CC_CONFIG_LINE_SETTING, "a", "b = c" },
		{ "a =", CC_CONFIG_LINE_SETTING, "a", "" },
		{ "a = [b]", CC_CONFIG_LINE_SETTING, "a", "[b]" },
		{ "words", CC_CONFIG_LINE_BAD, "words", NULL },
		{ "[program x]", CC_CONFIG_LINE_SECTION, "x", NULL },
		{ " [program\t My App.exe ] # c", CC_CONFIG_LINE_SECTION, "My App.exe", NULL },
		{ "[program a]b]", CC_CONFIG_LINE_SECTION, "a]b", NULL },
		{ "[program a=b]", CC_CONFIG_LINE_SECTION, "a=b", NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cc_config_line line = split(cases[i].line);

		CU_ASSERT_EQUAL(line.kind, cases[i].kind);
		CU_ASSERT_STRING_EQUAL(line.name, cases[i].name);
		if (cases[i].value)
			CU_ASSERT_STRING_EQUAL_FATAL(line.value, cases[i].value);
		if (!cases[i].value)
			CU_ASSERT_PTR_NULL(line.value);
	}
}

TEST(refuses_sections_that_name_no_program)
{
	static const char *const lines[] = {
		"[", "[]", "[program]", "[program ]", "[program x", "[programx]", "[Program x]",
		"[device x]", "[program /usr/bin/x]", "[program x] y", "[program a = b",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		CU_ASSERT_EQUAL(split(lines[i]).kind, CC_CONFIG_LINE_BAD_SECTION);
}
