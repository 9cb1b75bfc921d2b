/* SPDX-License-Identifier: MIT */
/* test_spirv_files: modules written word by word (SPIR-V 1.6, 2.3), whole, odd and damaged. */
#include "layers/shared/driver/spirv_files.h"

#include "tests/support/unit.h"

#define OP(opcode, words) ((uint32_t)(words) << 16 | (opcode))
#define HEADER 0x07230203, 0x00010000, 0, 1000, 0
#define FOUR(a, b, c, d) ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
/* Seven characters and the terminator. */
#define STRING(id, letter) OP(7, 4), id, FOUR('/', 't', 'm', 'p'), FOUR('/', letter, 'x', 0)
#define HIDDEN(id) OP(7, 4), id, FOUR('0', '0', '0', '0'), FOUR('0', '0', '0', 0)
#define IMPORT(a) OP(11, 5), 1, FOUR(a, 'p', 'e', 'n'), FOUR('C', 'L', '.', 's'), FOUR('t', 'd', 0, 0)
#define STD IMPORT('O')
#define SOURCE(file) OP(3, 4), 3, 200000, file
#define LINE(file) OP(8, 4), file, 7, 9
#define VOID OP(19, 2), 2
#define VIEW(words) ((struct cmn_view){ words, sizeof(words) })

static struct cmn_view source_of(struct cc_key *key, const char *library, const char *options,
				 struct cmn_view module)
{
	cc_key_init(key);
	drv_spirv_add(key, drv_driver_of(library), options, module);
	CU_ASSERT_EQUAL(cc_key_status(key), CMN_OK);
	return cc_key_find(cc_key_view(key), "source", 0);
}

static bool key_has(const char *library, const char *options, struct cmn_view module, struct cmn_view wanted)
{
	struct cc_key key;
	bool same = cmn_view_equal(source_of(&key, library, options, module), wanted);

	cc_key_release(&key);
	return same;
}

static bool is_as_it_is(struct cmn_view module)
{
	return key_has("libpocl.so.2", NULL, module, module);
}

TEST(names_of_files_are_zeros)
{
	static const uint32_t words[] = { HEADER, STD, STRING(30, 'a'), SOURCE(30), STRING(31, 'b'), VOID, LINE(31), VOID },
			      key[] = { HEADER, STD, HIDDEN(30), SOURCE(30), HIDDEN(31), VOID, LINE(31), VOID };
	static const char *const drivers[] = {
		"libigdrcl.so", "libze_intel_gpu.so.1", "libRusticlOpenCL.so.1", "libpocl.so.2",
	};

	for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++) {
		CU_ASSERT(key_has(drivers[i], "-cl-mad-enable", VIEW(words), VIEW(key)));
		CU_ASSERT(key_has(drivers[i], NULL, VIEW(key), VIEW(key)));
		CU_ASSERT(key_has(drivers[i], "-g", VIEW(words), VIEW(words)));
	}
	CU_ASSERT(key_has("libother.so", NULL, VIEW(words), VIEW(words)));
	CU_ASSERT(key_has("libamdocl64.so", NULL, VIEW(words), VIEW(words)));
}

TEST(names_that_something_else_may_use_count)
{
	static const uint32_t
		nobody[] = { HEADER, STD, STRING(30, 'a'), VOID },
		also[] = { HEADER, STD, STRING(30, 'a'), SOURCE(30), OP(12, 6), 2, 40, 1, 5, 30 },
		unknown[] = { HEADER, STD, STRING(30, 'a'), LINE(30), OP(9999, 2), 30 },
		arguments[] = {
			HEADER, STD, OP(7, 6), 30, FOUR('k', 'e', 'r', 'n'), FOUR('e', 'l', '_', 'a'),
			FOUR('r', 'g', '_', 't'), FOUR('y', 'p', 'e', 0), LINE(30),
		},
		later[] = {
			HEADER, STD, STRING(29, 'a'), OP(7, 6), 30, FOUR('k', 'e', 'r', 'n'), FOUR('e', 'l', '_', 'a'),
			FOUR('r', 'g', '_', 't'), FOUR('y', 'p', 'e', 0), LINE(30),
		},
		twice[] = { HEADER, STD, STRING(30, 'a'), STRING(30, 'b'), LINE(30) },
		far[] = { HEADER, STD, STRING(30, 0), STRING(3000, 'a'), LINE(3000) },
		early[] = { HEADER, STD, STRING(30, 0), STRING(29, 'a'), LINE(29) },
		/* The entry point says 30, too. */
		before[] = { HEADER, OP(15, 5), 6, 9, FOUR('k', 0, 0, 0), 30, STRING(30, 'a'), LINE(30) };

	CU_ASSERT(is_as_it_is(VIEW(nobody)));
	CU_ASSERT(is_as_it_is(VIEW(also)));
	CU_ASSERT(is_as_it_is(VIEW(unknown)));
	CU_ASSERT(is_as_it_is(VIEW(arguments)));
	CU_ASSERT(is_as_it_is(VIEW(later)));
	CU_ASSERT(is_as_it_is(VIEW(twice)));
	CU_ASSERT(is_as_it_is(VIEW(far)));
	CU_ASSERT(is_as_it_is(VIEW(early)));
	CU_ASSERT(is_as_it_is(VIEW(before)));
}

TEST(texts_and_numbers_are_no_uses)
{
	static const uint32_t
		words[] = { HEADER, STD, STRING(97, 'x'), LINE(97), OP(5, 3), 2, 97, OP(6, 4), 2, 97, 97, OP(71, 4), 2, 97, 97,
			    OP(72, 5), 2, 97, 97, 97, OP(43, 5), 3, 4, 97, 97 },
		key[] = { HEADER, STD, HIDDEN(97), LINE(97), OP(5, 3), 2, 97, OP(6, 4), 2, 97, 97, OP(71, 4), 2, 97, 97,
			  OP(72, 5), 2, 97, 97, 97, OP(43, 5), 3, 4, 97, 97 };
	static const size_t ids[] = { 19, 22, 26, 30, 35, 36 };
	uint32_t changed[sizeof(words) / sizeof(words[0])];

	CU_ASSERT(key_has("libpocl.so.2", NULL, VIEW(words), VIEW(key)));
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		memcpy(changed, words, sizeof(words));
		CU_ASSERT_NOT_EQUAL(changed[ids[i]], 97);
		changed[ids[i]] = 97;
		CU_ASSERT(is_as_it_is(VIEW(changed)));
	}
}

TEST(what_stands_beside_the_names_counts)
{
	static const uint32_t
		words[] = { HEADER, STD, STRING(30, 'a'), STRING(31, 'b'), SOURCE(30), VOID, LINE(30), OP(9999, 2), 31 },
		key[] = { HEADER, STD, HIDDEN(30), STRING(31, 'b'), SOURCE(30), VOID, LINE(30), OP(9999, 2), 31 };
	uint32_t changed[sizeof(words) / sizeof(words[0])];

	CU_ASSERT(key_has("libpocl.so.2", NULL, VIEW(words), VIEW(key)));
	/* Each bit of all else is in the key, or makes it the module itself. */
	for (size_t i = 0; i < 32 * sizeof(words) / sizeof(words[0]); i++) {
		memcpy(changed, words, sizeof(words));
		changed[i / 32] ^= UINT32_C(1) << i % 32;
		if ((i / 32 == 12 || i / 32 == 13) && i < 32 * 13 + 24)
			continue;
		CU_ASSERT_FALSE(key_has("libpocl.so.2", NULL, VIEW(changed), VIEW(key)));
	}
}

TEST(modules_that_are_not_understood_stay_as_they_are)
{
	static const uint32_t
		debug[] = { HEADER, IMPORT('X'), STRING(30, 'a'), SOURCE(30), LINE(30) },
		late_debug[] = { HEADER, STD, STRING(30, 'a'), SOURCE(30), LINE(30), IMPORT('X') },
		/* NEO and llvm-spirv read a source's text, and what is behind a text's end, as instructions. */
		text[] = { HEADER, STD, STRING(30, 'a'), OP(3, 5), 3, 200000, 30, FOUR('k', 0, 0, 0), LINE(30) },
		continued[] = { HEADER, STD, STRING(30, 'a'), SOURCE(30), OP(2, 2), FOUR('k', 0, 0, 0), LINE(30) },
		beyond[] = { HEADER, STD, OP(7, 4), 30, FOUR('a', 0, 0, 0), OP(19, 1), LINE(30) },
		endless[] = { HEADER, STD, OP(7, 3), 30, FOUR('a', 'b', 'c', 'd'), LINE(30) },
		long_line[] = { HEADER, STD, STRING(30, 'a'), OP(8, 5), 30, 1, 1, 1 },
		nothing[] = { HEADER, STD, STRING(30, 'a'), LINE(30), 0, LINE(30) },
		/* In the other byte order. */
		swapped[] = { 0x03022307, 0x00000100, 0, 0xe8030000, 0, STRING(30, 'a'), LINE(30) };

	CU_ASSERT(is_as_it_is(VIEW(debug)));
	CU_ASSERT(is_as_it_is(VIEW(late_debug)));
	CU_ASSERT(is_as_it_is(VIEW(text)));
	CU_ASSERT(is_as_it_is(VIEW(continued)));
	CU_ASSERT(is_as_it_is(VIEW(beyond)));
	CU_ASSERT(is_as_it_is(VIEW(endless)));
	CU_ASSERT(is_as_it_is(VIEW(long_line)));
	CU_ASSERT(is_as_it_is(VIEW(nothing)));
	CU_ASSERT(is_as_it_is(VIEW(swapped)));
	CU_ASSERT(is_as_it_is((struct cmn_view){ 0 }));
}

TEST(truncated_modules_hide_nothing_before_a_whole_use)
{
	static const uint32_t words[] = { HEADER, STD, STRING(30, 'a'), SOURCE(30), VOID };
	enum { WHOLE = sizeof(words) / sizeof(words[0]) };

	for (size_t len = 0; len <= sizeof(words); len++) {
		uint8_t *copy = malloc(len + 1);
		struct cmn_view module = { copy, len };

		memcpy(copy, words, len);
		/* Between instructions such a module is another one, whole. */
		CU_ASSERT_EQUAL(is_as_it_is(module), len != sizeof(words) && len != sizeof(words) - 8);
		free(copy);
	}
}

TEST(a_large_module_of_strings_is_walked_a_few_times)
{
	const size_t count = ((size_t)64 << 20) / 32;
	static const uint32_t begin[] = { HEADER, STD }, pair[] = { STRING(30, 'a'), LINE(30) };
	struct cmn_buffer module = { 0 };
	struct cmn_view source;
	struct cc_key key;

	CU_ASSERT_FATAL(cmn_buffer_reserve(&module, sizeof(begin) + count * sizeof(pair)));
	cmn_buffer_append(&module, begin, sizeof(begin));
	for (size_t i = 0; i < count; i++) {
		uint32_t one[8];

		memcpy(one, pair, sizeof(one));
		one[1] = one[5] = 30 + (uint32_t)i;
		cmn_buffer_append(&module, one, sizeof(one));
	}
	source = source_of(&key, "libpocl.so.2", NULL, cmn_buffer_view(&module));
	CU_ASSERT_EQUAL(source.len, module.len);
	/* The first ones only: the others are too far from them. */
	CU_ASSERT_NOT_EQUAL(memcmp(source.data, module.data, sizeof(begin) + sizeof(pair)), 0);
	CU_ASSERT_EQUAL(memcmp((const uint8_t *)source.data + module.len / 2, module.data + module.len / 2,
			       module.len - module.len / 2), 0);
	cc_key_release(&key);
	cmn_buffer_release(&module);
}

TEST(logs_that_name_a_file_are_known)
{
	static const uint32_t words[] = { HEADER, STD, STRING(30, 'a'), STRING(31, 'b'), SOURCE(30), VOID };
	const struct drv_driver *pocl = drv_driver_of("libpocl.so.2");

	CU_ASSERT(drv_spirv_is_in_log(pocl, NULL, VIEW(words), cmn_view_of("in file /tmp/ax, line 1")));
	CU_ASSERT_FALSE(drv_spirv_is_in_log(pocl, NULL, VIEW(words), cmn_view_of("in file /tmp/bx, line 1")));
	CU_ASSERT_FALSE(drv_spirv_is_in_log(pocl, "-g", VIEW(words), cmn_view_of("in file /tmp/ax, line 1")));
	CU_ASSERT_FALSE(drv_spirv_is_in_log(pocl, NULL, VIEW(words), (struct cmn_view){ "", 1 }));
	CU_ASSERT_FALSE(drv_spirv_is_in_log(pocl, NULL, VIEW(words), (struct cmn_view){ 0 }));
}
