/* SPDX-License-Identifier: MIT */
/* bytes: views, buffers, bounded readers. */
#include "common/bytes.h"

#include "tests/support/owned.h"
#include "tests/support/unit.h"
#include "tests/support/wrap.h"

static bool no_memory;

WRAPPED(void *, realloc, (void *block, size_t size))
{
	return no_memory ? NULL : __real_realloc(block, size);
}

TEST(compares_views_by_content)
{
	CU_ASSERT_TRUE(cmn_view_equal(cmn_view_of(NULL), cmn_view_of("")));
	CU_ASSERT_TRUE(cmn_view_equal(cmn_view_of("ab"), (struct cmn_view){ "abc", 2 }));
	CU_ASSERT_FALSE(cmn_view_equal(cmn_view_of("ab"), cmn_view_of("ac")));
	CU_ASSERT_FALSE(cmn_view_equal(cmn_view_of("ab"), cmn_view_of("abc")));
}

TEST(encodes_little_endian)
{
	static const uint8_t expected[] = { 0x12, 0x78, 0x56, 0x34, 0x12, 8, 7, 6, 5, 4, 3, 2, 1,
					    2,	  0,	0,    0,    0,	  0, 0, 0, 'h', 'i' };
	struct cmn_buffer buf = { 0 };

	cmn_buffer_append_u8(&buf, 0x12);
	cmn_buffer_append_u32(&buf, 0x12345678);
	cmn_buffer_append_u64(&buf, UINT64_C(0x0102030405060708));
	cmn_buffer_append_sized(&buf, "hi", 2);
	CU_ASSERT_FALSE(buf.failed);
	CU_ASSERT_TRUE(cmn_view_equal(cmn_buffer_view(&buf),
				      (struct cmn_view){ expected, sizeof(expected) }));
	cmn_buffer_release(&buf);
	CU_ASSERT_PTR_NULL(buf.data);
}

TEST(reads_back_what_it_wrote)
{
	OWNED(cmn_buffer_release) struct cmn_buffer buf = { 0 };
	struct cmn_reader reader;

	cmn_buffer_append_u8(&buf, 0xff);
	cmn_buffer_append_u32(&buf, UINT32_MAX);
	cmn_buffer_append_u64(&buf, UINT64_MAX);
	cmn_buffer_append_sized(&buf, "", 0);
	cmn_buffer_append_sized(&buf, "abc", 3);
	reader = cmn_reader_of(cmn_buffer_view(&buf));
	CU_ASSERT_EQUAL(cmn_reader_u8(&reader), 0xff);
	CU_ASSERT_EQUAL(cmn_reader_u32(&reader), UINT32_MAX);
	CU_ASSERT_EQUAL(cmn_reader_u64(&reader), UINT64_MAX);
	CU_ASSERT_EQUAL(cmn_reader_sized(&reader).len, 0);
	CU_ASSERT_TRUE(cmn_view_equal(cmn_reader_sized(&reader), cmn_view_of("abc")));
	CU_ASSERT_EQUAL(reader.left, 0);
	CU_ASSERT_FALSE(reader.failed);
}

TEST(never_reads_past_the_end)
{
	static const uint8_t three[] = { 1, 2, 3 };
	struct cmn_reader reader = cmn_reader_of((struct cmn_view){ three, sizeof(three) });

	CU_ASSERT_EQUAL(cmn_reader_u32(&reader), 0);
	CU_ASSERT_TRUE(reader.failed);
	/* It stays failed though a byte is there. */
	CU_ASSERT_EQUAL(cmn_reader_u8(&reader), 0);
	reader = cmn_reader_of((struct cmn_view){ NULL, 0 });
	CU_ASSERT_EQUAL(cmn_reader_bytes(&reader, 0).len, 0);
	CU_ASSERT_FALSE(reader.failed);
	CU_ASSERT_EQUAL(cmn_reader_u64(&reader), 0);
	CU_ASSERT_TRUE(reader.failed);
}

TEST(copies_what_is_there_and_else_zeros)
{
	static const uint8_t three[] = { 1, 2, 3 };
	struct cmn_reader reader = cmn_reader_of((struct cmn_view){ three, sizeof(three) });
	uint8_t copy[2] = { 7, 7 };

	cmn_reader_copy(&reader, copy, sizeof(copy));
	CU_ASSERT_EQUAL(memcmp(copy, three, sizeof(copy)), 0);
	cmn_reader_copy(&reader, copy, sizeof(copy));
	CU_ASSERT_TRUE(reader.failed);
	CU_ASSERT_EQUAL(copy[0] | copy[1], 0);
}

TEST(refuses_a_length_larger_than_what_is_left)
{
	OWNED(cmn_buffer_release) struct cmn_buffer buf = { 0 };
	struct cmn_reader reader;

	cmn_buffer_append_u64(&buf, UINT64_MAX);
	cmn_buffer_append_text(&buf, "abc");
	reader = cmn_reader_of(cmn_buffer_view(&buf));
	CU_ASSERT_EQUAL(cmn_reader_sized(&reader).len, 0);
	CU_ASSERT_TRUE(reader.failed);
}

TEST(grows_and_keeps_its_content)
{
	OWNED(cmn_buffer_release) struct cmn_buffer buf = { 0 };

	for (int i = 0; i < 10000; i++)
		cmn_buffer_append_u8(&buf, (uint8_t)i);
	CU_ASSERT_EQUAL_FATAL(buf.len, 10000);
	for (int i = 0; i < 10000; i++)
		CU_ASSERT_EQUAL(buf.data[i], (uint8_t)i);
}

TEST(remembers_an_impossible_size)
{
	struct cmn_buffer buf = { 0 };

	cmn_buffer_append_text(&buf, "abc");
	CU_ASSERT_FALSE(cmn_buffer_reserve(&buf, SIZE_MAX));
	CU_ASSERT_TRUE(buf.failed);
	cmn_buffer_append_text(&buf, "def");
	CU_ASSERT_EQUAL(buf.len, 3);
	CU_ASSERT_PTR_NULL(cmn_buffer_take_string(&buf));
	CU_ASSERT_PTR_NULL(buf.data);
}

TEST(prints_and_gives_a_string)
{
	struct cmn_buffer buf = { 0 };
	char *text;

	cmn_buffer_append_text(&buf, "a");
	cmn_buffer_printf(&buf, "%d-%s", 42, "x");
	cmn_buffer_printf(&buf, "%s", "");
	text = cmn_buffer_take_string(&buf);
	CU_ASSERT_STRING_EQUAL(text, "a42-x");
	CU_ASSERT_EQUAL(buf.len, 0);
	free(text);
	cmn_buffer_printf(&buf, "%lc", 0x20acU);	/* which C's locale has not */
	CU_ASSERT_TRUE(buf.failed);
}

TEST(remembers_that_there_was_no_memory)
{
	struct cmn_buffer buf = { 0 };

	cmn_buffer_append_text(&buf, "abc");
	no_memory = true;
	CU_ASSERT_FALSE(cmn_buffer_reserve(&buf, 1000));
	no_memory = false;
	CU_ASSERT_TRUE(buf.failed);
	CU_ASSERT_PTR_NULL(cmn_buffer_take_string(&buf));
}

TEST(printing_needs_room_for_an_end)
{
	OWNED(cmn_buffer_release) struct cmn_buffer buf = { 0 };

	CU_ASSERT_TRUE_FATAL(cmn_buffer_reserve(&buf, 300));
	CU_ASSERT_EQUAL_FATAL(buf.cap, 300);
	cmn_buffer_printf(&buf, "%300d", 1);
	CU_ASSERT_EQUAL(buf.len, 300);
	CU_ASSERT_TRUE(buf.cap > 300);
}
