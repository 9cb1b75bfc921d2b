/* SPDX-License-Identifier: MIT */
/* template: what stands between braces, one kind after another, and within each other. */
#include "tests/support/unit.h"
#include "tools/json_output.h"

/* "<" as "&lt;". */
static void escape(struct cmn_buffer *ret, struct cmn_view text, size_t max)
{
	for (size_t i = 0; i < text.len && i < max; i++) {
		if (((const char *)text.data)[i] == '<')
			cmn_buffer_append_text(ret, "&lt;");
		else
			cmn_buffer_append(ret, (const char *)text.data + i, 1);
	}
}

static void expect(const char *template, const char *values, const char *expected)
{
	struct json_object *tree = json_tokener_parse(values);
	struct cmn_buffer text = { 0 };

	CU_ASSERT_PTR_NOT_NULL_FATAL(tree);
	template_render(&text, template, tree, escape);
	cmn_buffer_append_u8(&text, '\0');
	CU_ASSERT_STRING_EQUAL((const char *)text.data, expected);
	cmn_buffer_release(&text);
	(void)json_object_put(tree);
}

TEST(values_are_escaped)
{
	expect("a{{x}}b", "{\"x\": \"<1>\"}", "a&lt;1>b");
	expect("{{x}}{{y}}", "{\"x\": 18446744073709551615}", "18446744073709551615");
	expect("{{&x}}", "{\"x\": \"<1>\"}", "<1>");
	expect("{{x:2}}", "{\"x\": \"abc\"}", "ab");
	expect("a{{! x }}b", "{}", "ab");
	expect("{{x}}", "{\"x\": \"{{y}}\", \"y\": \"1\"}", "{{y}}");
}

TEST(blocks_are_for_what_is_there)
{
	static const char *const nothing[] = { "null", "false", "0", "\"\"", "[]" };
	static const char *const something[] = { "true", "1", "\"a\"", "{}" };
	char values[32];

	for (size_t i = 0; i < sizeof(nothing) / sizeof(nothing[0]); i++) {
		(void)snprintf(values, sizeof(values), "{\"x\": %s}", nothing[i]);
		expect("{{#x}}1{{/x}}{{^x}}0{{/x}}", values, "0");
	}
	for (size_t i = 0; i < sizeof(something) / sizeof(something[0]); i++) {
		(void)snprintf(values, sizeof(values), "{\"x\": %s}", something[i]);
		expect("{{#x}}1{{/x}}{{^x}}0{{/x}}", values, "1");
	}
	expect("{{#x}}1{{/x}}{{^x}}0{{/x}}", "{}", "0");
}

TEST(names_are_found_from_the_inside_out)
{
	expect("{{#list}}({{.}}){{/list}}", "{\"list\": [\"a\", \"b\"]}", "(a)(b)");
	expect("{{#list}}{{n}}{{m}} {{/list}}",
	       "{\"m\": \"z\", \"list\": [{\"n\": 1}, {\"n\": 2, \"m\": 3}]}", "1z 23 ");
	/* A member that is null hides one that is further out. */
	expect("{{#o}}{{#x}}1{{/x}}{{/o}}", "{\"x\": true, \"o\": {\"x\": null}}", "");
	expect("{{#o}}{{#list}}{{n}}{{/list}}{{/o}}", "{\"o\": {\"n\": 5, \"list\": [1, 2]}}", "55");
}

TEST(parts_are_inserted)
{
	expect("{{=p}}<{{n}}>{{/p}}\n{{#list}}{{>p}}{{/list}}",
	       "{\"list\": [{\"n\": 1}, {\"n\": 2}]}", "<1><2>");
	expect("{{>p}}{{=p}}{{>q}}{{/p}}{{=q}}!{{/q}}", "{}", "!");
}

TEST(lines_of_tags_leave_nothing)
{
	expect("a\n{{#list}}\n{{.}}\n{{/list}}\nb\n", "{\"list\": [1, 2]}", "a\n1\n2\nb\n");
	expect("a {{#x}}\nb{{/x}}\n", "{\"x\": 1}", "a \nb\n");
	expect("{{! 1 }}\na", "{}", "a");
}
