/* SPDX-License-Identifier: MIT */
/* key_summary: short and long values, where texts differ, and what is not to be believed. */
#include "cachecore/record/key_summary.h"

#include "tests/support/owned.h"
#include "tests/support/unit.h"

/* The only field of a key with that value. */
static struct cc_key_summary_field field_of(struct cmn_buffer *buf, enum cc_part part, const char *text)
{
	struct cc_key_summary_field field = { 0 };
	struct cmn_reader reader;
	struct cc_key key;

	cc_key_init(&key);
	cc_key_add_text(&key, part, "source", text);
	buf->len = 0;
	cc_key_summary_append(buf, cc_key_view(&key));
	cc_key_release(&key);
	CU_ASSERT_FALSE_FATAL(buf->failed);
	reader = cmn_reader_of(cmn_buffer_view(buf));
	CU_ASSERT_EQUAL_FATAL(cc_key_summary_next(&reader, &field), CMN_OK);
	CU_ASSERT_EQUAL(cc_key_summary_next(&reader, &(struct cc_key_summary_field){ 0 }), CMN_MISS);
	return field;
}

/* count lines, of which the one at `other` (from 1) is another. */
static char *text_of(size_t count, size_t other)
{
	char *text = malloc(count * 16 + 1), *at = text;

	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	*at = '\0';
	for (size_t i = 1; i <= count; i++)
		at += sprintf(at, i == other ? "other %zu\n" : "line %zu\n", i);
	return text;
}

/* Two texts of so many lines each, the second of which has another line there. */
static struct {
	struct cmn_buffer bufs[2];
	char *texts[2];
	struct cc_key_summary_field was, is;
} pair;

static void make_pair(unsigned int lines, unsigned int later_lines, unsigned int changed)
{
	pair.texts[0] = text_of(lines, 0);
	pair.texts[1] = text_of(later_lines, changed);
	pair.was = field_of(&pair.bufs[0], CC_PART_IMAGE, pair.texts[0]);
	pair.is = field_of(&pair.bufs[1], CC_PART_IMAGE, pair.texts[1]);
}

static void release_pair(void)
{
	for (size_t i = 0; i < 2; i++) {
		cmn_buffer_release(&pair.bufs[i]);
		free(pair.texts[i]);
	}
}

TEST(short_values_are_kept_whole)
{
	OWNED(cmn_buffer_release) struct cmn_buffer buf = { 0 };
	struct cc_key_summary_field field = field_of(&buf, CC_PART_DEVICE, "a device"), longer = field;
	uint64_t line = 0, more;

	CU_ASSERT_TRUE(field.whole);
	CU_ASSERT_TRUE(cmn_view_equal(field.value, cmn_view_of("a device")));
	CU_ASSERT_TRUE(cmn_view_equal(field.name, cmn_view_of("source")));
	CU_ASSERT_EQUAL(field.part, CC_PART_DEVICE);
	/* A text that goes on where the other one ends, behind which lies the same. */
	longer.value = (struct cmn_view){ "one\n\n", 5 };
	field.value = (struct cmn_view){ longer.value.data, 4 };
	CU_ASSERT(cc_key_summary_first_line(&longer, &field, &line, &more) && line == 2);
}

TEST(long_values_are_told_by_their_lines)
{
	uint64_t line = 0, more = 9;

	make_pair(200, 200, 77);
	CU_ASSERT_FALSE(pair.was.whole);
	CU_ASSERT_EQUAL(pair.was.len, strlen(pair.texts[0]));
	CU_ASSERT_FALSE(cc_key_summary_equal(&pair.was, &pair.is));
	CU_ASSERT_TRUE(cc_key_summary_equal(&pair.was, &pair.was));
	CU_ASSERT_TRUE(cc_key_summary_first_line(&pair.was, &pair.is, &line, &more));
	CU_ASSERT_EQUAL(line, 77);
	CU_ASSERT_EQUAL(more, 0);
	CU_ASSERT_DOUBLE_EQUAL(cc_key_summary_alike(&pair.was, &pair.is), 199.0 / 200, 0.001);
	release_pair();
}

TEST(many_lines_are_told_by_blocks)
{
	uint64_t line = 0, more = 0;

	make_pair(5000, 5000, 3000);
	CU_ASSERT_TRUE(pair.bufs[0].len < 2000);
	CU_ASSERT_EQUAL(pair.was.per, 32);
	CU_ASSERT_TRUE(cc_key_summary_first_line(&pair.was, &pair.is, &line, &more));
	CU_ASSERT_TRUE(line <= 3000 && line + more >= 3000);
	CU_ASSERT_EQUAL(more, 31);
	release_pair();
}

/* Each prefix, and each byte changed: it ends, within its bounds. */
TEST(damage_is_noticed_or_harmless)
{
	OWNED(cmn_buffer_release) struct cmn_buffer buf = { 0 };
	struct cc_key_summary_field field;
	char *text = text_of(40, 0);

	(void)field_of(&buf, CC_PART_IMAGE, text);
	for (size_t len = 0; len < buf.len; len++) {
		uint8_t *copy = malloc(len + 1);
		struct cmn_reader reader;

		CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
		memcpy(copy, buf.data, len);
		reader = cmn_reader_of((struct cmn_view){ copy, len });
		CU_ASSERT_NOT_EQUAL(cc_key_summary_next(&reader, &field), CMN_OK);
		free(copy);
	}
	for (size_t i = 0; i < buf.len; i++) {
		struct cmn_reader reader = cmn_reader_of(cmn_buffer_view(&buf));
		uint64_t line, more;

		buf.data[i] ^= 0xff;
		while (cc_key_summary_next(&reader, &field) == CMN_OK) {
			(void)cc_key_summary_first_line(&field, &field, &line, &more);
			(void)cc_key_summary_alike(&field, &field);
		}
		buf.data[i] ^= 0xff;
	}
	free(text);
}

TEST(options_are_kept_whole_longer_than_other_values)
{
	OWNED(cmn_buffer_release) struct cmn_buffer buf = { 0 };
	char text[1001];

	memset(text, 'o', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	CU_ASSERT_TRUE(field_of(&buf, CC_PART_OPTIONS, text).whole);
	CU_ASSERT_FALSE(field_of(&buf, CC_PART_DEVICE, text).whole);
}

/* What lies behind a value in memory is no part of it. */
TEST(the_last_block_of_bytes_ends_where_they_end)
{
	uint8_t bytes[2][1200];
	struct cmn_buffer bufs[2] = { { 0 } };

	for (size_t i = 0; i < 2; i++) {
		memset(bytes[i], i ? 0xaa : 0x55, sizeof(bytes[i]));
		memset(bytes[i], 0xff, 1001);
		cc_key_summary_append_value(&bufs[i], CC_PART_IMAGE, cmn_view_of("binary"),
					    (struct cmn_view){ bytes[i], 1001 });
	}
	CU_ASSERT_TRUE(cmn_view_equal(cmn_buffer_view(&bufs[0]), cmn_buffer_view(&bufs[1])));
	cmn_buffer_release(&bufs[0]);
	cmn_buffer_release(&bufs[1]);
}

TEST(a_field_known_by_its_hash_is_read_back)
{
	struct cmn_hash hash = cmn_hash_of("text", 4);
	struct cc_key_summary_field field;
	OWNED(cmn_buffer_release) struct cmn_buffer buf = { 0 };
	struct cmn_reader reader;

	cc_key_summary_append_hashed(&buf, CC_PART_IMAGE, cmn_view_of("header"), 4, &hash);
	reader = cmn_reader_of(cmn_buffer_view(&buf));
	CU_ASSERT_EQUAL_FATAL(cc_key_summary_next(&reader, &field), CMN_OK);
	CU_ASSERT_FALSE(field.whole);
	CU_ASSERT_EQUAL(field.len, 4);
	CU_ASSERT_TRUE(cmn_hash_equal(&field.hash, &hash));
	CU_ASSERT_EQUAL(cc_key_summary_next(&reader, &field), CMN_MISS);
}

TEST(refuses_parts_and_blocks_that_cannot_be)
{
	struct cmn_hash hash = { { 0 } };
	struct cc_key_summary_field field;
	OWNED(cmn_buffer_release) struct cmn_buffer buf = { 0 };
	struct cmn_reader reader;

	cc_key_summary_append_value(&buf, CC_PART_COUNT, cmn_view_of("name"), cmn_view_of("value"));
	reader = cmn_reader_of(cmn_buffer_view(&buf));
	CU_ASSERT_EQUAL(cc_key_summary_next(&reader, &field), CMN_ERR_CORRUPT);
	buf.len = 0;
	cc_key_summary_append_hashed(&buf, CC_PART_IMAGE, cmn_view_of("name"), 4, &hash);
	buf.len -= sizeof(uint32_t);
	cmn_buffer_append_u32(&buf, 1);		/* one block, of no lines */
	cmn_buffer_append_u32(&buf, 7);
	reader = cmn_reader_of(cmn_buffer_view(&buf));
	CU_ASSERT_EQUAL(cc_key_summary_next(&reader, &field), CMN_ERR_CORRUPT);
}

TEST(only_texts_cut_alike_have_a_first_line_that_differs)
{
	struct cmn_buffer bufs[6] = { { 0 } };
	char *few = text_of(200, 0), *many = text_of(5000, 0), bytes[1001];
	struct cc_key_summary_field fields[6];
	uint64_t line, more;

	memset(bytes, '\xff', sizeof(bytes));
	bytes[sizeof(bytes) - 1] = '\0';
	fields[0] = field_of(&bufs[0], CC_PART_IMAGE, few);
	fields[1] = field_of(&bufs[1], CC_PART_IMAGE, many);
	fields[2] = field_of(&bufs[2], CC_PART_IMAGE, bytes);
	bytes[0] = '\xfe';
	fields[3] = field_of(&bufs[3], CC_PART_IMAGE, bytes);
	fields[4] = field_of(&bufs[4], CC_PART_IMAGE, "\xff\n");
	fields[5] = field_of(&bufs[5], CC_PART_IMAGE, "text\n");
	CU_ASSERT_FALSE(cc_key_summary_first_line(&fields[0], &fields[1], &line, &more));
	CU_ASSERT_FALSE(cc_key_summary_first_line(&fields[2], &fields[3], &line, &more));
	CU_ASSERT_FALSE(cc_key_summary_first_line(&fields[4], &fields[5], &line, &more));
	CU_ASSERT_FALSE(cc_key_summary_first_line(&fields[5], &fields[4], &line, &more));
	for (size_t i = 0; i < 6; i++)
		cmn_buffer_release(&bufs[i]);
	free(few);
	free(many);
}

TEST(the_share_is_that_of_the_later_text)
{
	make_pair(200, 100, 0);
	CU_ASSERT_DOUBLE_EQUAL(cc_key_summary_alike(&pair.was, &pair.is), 1, 0.001);
	CU_ASSERT_DOUBLE_EQUAL(cc_key_summary_alike(&pair.is, &pair.was), 0.5, 0.001);
	release_pair();
}
