/* SPDX-License-Identifier: MIT */
/* kernel_names: what C and SPIR-V call their kernels, and modules that lie about their lengths. */
#include "cachecore/kernel_names.h"

#include "cachecore/key.h"
#include "tests/support/unit.h"

#define ENTRY_POINT(words) ((UINT32_C(words) << 16) | 15)
#define OTHER(words) ((UINT32_C(words) << 16) | 17)
#define WORD(a, b, c, d) \
	((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
#define HEADER 0x07230203, 0x10000, 0, 9, 0

static void expect(struct cc_kernel_names *names, const char *name)
{
	CU_ASSERT_TRUE(cmn_view_equal(cc_kernel_names_next(names), cmn_view_of(name)));
}

TEST(kernels_are_named)
{
	struct cc_kernel_names names = cc_kernel_names_of(cmn_view_of(
		"int f();\n__kernel void one(global int *a) {}\nkernel  void\ttwo() {} kernel"));

	CU_ASSERT_TRUE(cmn_view_equal(cc_kernel_names_next(&names), cmn_view_of("one")));
	CU_ASSERT_TRUE(cmn_view_equal(cc_kernel_names_next(&names), cmn_view_of("two")));
	CU_ASSERT_EQUAL(cc_kernel_names_next(&names).len, 0);
}

/* What takes the square of its length would take minutes. */
TEST(a_long_line_of_words_is_looked_through)
{
	static const char word[] = " KERNEL(", end[] = "\n#define K __kernel void\n__kernel void one() {}";
	static char text[(1 << 20) + sizeof(end)];
	struct cc_kernel_names names;

	for (size_t i = 0; i < 1 << 20; i += strlen(word))
		memcpy(text + i, word, strlen(word));
	memcpy(text + (1 << 20), end, sizeof(end));
	names = cc_kernel_names_of(cmn_view_of(text));
	expect(&names, "one");
	expect(&names, "");
}

TEST(other_functions_are_no_kernels)
{
	struct cc_kernel_names names = cc_kernel_names_of(cmn_view_of(
		"void helper() {} kernel int odd; __kernel void the_first_1() {}"));

	expect(&names, "the_first_1");
	expect(&names, "");
}

TEST(attributes_and_macros_come_before_void)
{
	struct cc_kernel_names names = cc_kernel_names_of(cmn_view_of(
		"#define KERNEL_FQ __kernel\n"
		"__kernel __attribute__((reqd_work_group_size(8, (8), 1)))\nvoid one(int a) {}\n"
		"KERNEL_FQ KERNEL_FA void two (KERN_ATTR ()) {}\n"
		"__kernel\n#ifdef X\n__attribute__((vec_type_hint(float)))\n#endif\n/* of ( */ // and (\n"
		"void three(int a) {}\nstatic kernel inline void four() {}\n"
		"#define MAKE(type) \\\n __kernel void five_##type() {}\n"
		"kernel __attribute__((x)"));

	expect(&names, "one");
	expect(&names, "two");
	expect(&names, "three");
	expect(&names, "four");
	expect(&names, "five_");
	expect(&names, "");
}

/* Within a word, a comment, a directive, a line that goes on, at the end of a line or not. */
TEST(a_source_may_end_anywhere)
{
	static const char whole[] = "/* a */ // b\\\n c\n#define KERNEL \\\n  __kernel\n#pragma x \\\n"
				    "__kernel __attribute__((x(1)))\n#if 1 \\\n\n#endif\nvoid one(int a) {}\n\\\n";
	const size_t begins_at = (size_t)(strstr(whole, "one(") - whole);

	for (size_t len = 0; len < sizeof(whole); len++) {
		/* At the end of a heap block: a sanitizer sees a read behind it. */
		char *text = malloc(len + !len);
		struct cc_kernel_names names;

		CU_ASSERT_PTR_NOT_NULL_FATAL(text);
		memcpy(text, whole, len);
		names = cc_kernel_names_of((struct cmn_view){ text, len });
		expect(&names, len <= begins_at ? "" : len == begins_at + 1 ? "o" : len == begins_at + 2 ? "on" : "one");
		expect(&names, "");
		free(text);
	}
}

TEST(what_only_looks_like_a_kernel_is_none)
{
	struct cc_kernel_names names = cc_kernel_names_of(cmn_view_of(
		"#define KERNEL __kernel\nvoid helper(int a);\n/* KERNEL void where it ends */\n"
		"// the kernel computes void values (of a)\nint my_kernel_size; void f(); kernel = void g();\n"
		"kernel static int h(void); mykernel void i(); KERNEL void last(); /* kernel"));

	expect(&names, "last");
	expect(&names, "");
}

TEST(entry_points_of_spirv_are_named)
{
	static const uint32_t words[] = {
		HEADER,
		/* An operand that looks like an entry point. */
		OTHER(6), ENTRY_POINT(5), 6, 1, WORD('b', 'a', 'd', 0), 0,
		ENTRY_POINT(5), 6, 1, WORD('o', 'n', 'e', 0), 7,
		ENTRY_POINT(3), 6, 2,
		ENTRY_POINT(4), 6, 3, WORD('f', 'o', 'u', 'r'),
	};
	struct cc_kernel_names names = cc_kernel_names_of((struct cmn_view){ words, sizeof(words) });

	if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) {
		expect(&names, "one");
		expect(&names, "four");
	}
	expect(&names, "");
	expect(&names, "");
}

TEST(an_empty_instruction_ends_the_module)
{
	static const uint32_t words[] = { HEADER, 15, ENTRY_POINT(4), 6, 1, WORD('o', 'n', 'e', 0) };
	struct cc_kernel_names names = cc_kernel_names_of((struct cmn_view){ words, sizeof(words) });

	expect(&names, "");
}

TEST(an_instruction_beyond_the_end_ends_the_module)
{
	static const uint32_t words[] = { HEADER, ENTRY_POINT(5), 6, 1, WORD('o', 'n', 'e', 0), 0 };
	struct cc_kernel_names names = cc_kernel_names_of(
		(struct cmn_view){ words, sizeof(words) - sizeof(words[0]) });

	expect(&names, "");
}

TEST(a_key_is_called_by_the_first_kernel_of_its_image)
{
	struct cc_key key;

	cc_key_init(&key);
	cc_key_add_text(&key, CC_PART_OPTIONS, "options", "kernel void option");
	cc_key_add_text(&key, CC_PART_IMAGE, "source", "kernel void one() {}");
	cc_key_add_text(&key, CC_PART_IMAGE, "source", "kernel void two() {}");
	CU_ASSERT_TRUE(cmn_view_equal(cc_kernel_names_of_key(cc_key_view(&key)), cmn_view_of("one")));
	cc_key_release(&key);
	CU_ASSERT_EQUAL(cc_kernel_names_of_key(cmn_view_of("no key")).len, 0);
}
