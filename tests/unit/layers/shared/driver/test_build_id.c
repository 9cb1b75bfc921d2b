/* SPDX-License-Identifier: MIT */
/*
 * test_build_id: notes as linkers write them, and as nobody should. What is
 * looked into lies at the end of a heap block, so that a sanitizer or valgrind
 * sees a read past it.
 */
#include <elf.h>
#include <link.h>

#include "layers/shared/driver/elf_file.h"
#include "tests/support/owned.h"
#include "tests/support/unit.h"

static const uint8_t id[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20 };

static void align(struct cmn_buffer *notes, size_t alignment)
{
	while (notes->len % alignment)
		cmn_buffer_append_u8(notes, 0xee);
}

/* The sizes are as given, right or wrong. */
static void add_header(struct cmn_buffer *notes, uint32_t name_size, uint32_t value_size, uint32_t type)
{
	ElfW(Nhdr) header = { .n_namesz = name_size, .n_descsz = value_size, .n_type = type };

	cmn_buffer_append(notes, &header, sizeof(header));
}

static void add_aligned_note(struct cmn_buffer *notes, size_t alignment, const char *name,
			     uint32_t type, const void *value, size_t len)
{
	add_header(notes, (uint32_t)strlen(name) + 1, (uint32_t)len, type);
	cmn_buffer_append(notes, name, strlen(name) + 1);
	align(notes, alignment);
	cmn_buffer_append(notes, value, len);
	align(notes, alignment);
}

static void add_note(struct cmn_buffer *notes, const char *name, uint32_t type, const void *value, size_t len)
{
	add_aligned_note(notes, 4, name, type, value, len);
}

/* Of the first len bytes, put skew bytes off a word. */
static enum cmn_status find_in(const struct cmn_buffer *notes, size_t len, size_t skew,
			       uint64_t alignment, struct cmn_buffer *ret_found)
{
	uint8_t *exact = malloc(skew + len + !(skew + len));
	struct cmn_view found = { 0 };
	enum cmn_status status;

	CU_ASSERT_FATAL(exact && !notes->failed);
	if (len)
		memcpy(exact + skew, notes->data, len);
	status = drv_note_find((struct cmn_view){ exact + skew, len }, alignment, "GNU", NT_GNU_BUILD_ID,
			       &found);
	CU_ASSERT(status == CMN_OK || !found.data);
	cmn_buffer_release(ret_found);
	cmn_buffer_append(ret_found, found.data, found.len);
	free(exact);
	return status;
}

static void expect_id(const struct cmn_buffer *notes, uint64_t alignment)
{
	OWNED(cmn_buffer_release) struct cmn_buffer found = { 0 };

	CU_ASSERT_EQUAL(find_in(notes, notes->len, 0, alignment, &found), CMN_OK);
	CU_ASSERT(cmn_view_equal(cmn_buffer_view(&found), (struct cmn_view){ id, sizeof(id) }));
}

static void expect_none(const struct cmn_buffer *notes, uint64_t alignment)
{
	OWNED(cmn_buffer_release) struct cmn_buffer found = { 0 };

	CU_ASSERT_EQUAL(find_in(notes, notes->len, 0, alignment, &found), CMN_MISS);
}

TEST(finds_it_wherever_it_stands)
{
	OWNED(cmn_buffer_release) struct cmn_buffer notes = { 0 };

	expect_none(&notes, 4);
	add_note(&notes, "GNU", NT_GNU_BUILD_ID, id, sizeof(id));
	expect_id(&notes, 4);
	expect_id(&notes, 0);	/* gABI: 0 and 1 mean none; notes are words all the same */
	cmn_buffer_release(&notes);
	/* Sizes that need padding, before it and after it. */
	add_note(&notes, "FreeBSD", NT_GNU_BUILD_ID, "x", 1);
	add_note(&notes, "", 1, NULL, 0);
	add_note(&notes, "GNU", NT_GNU_ABI_TAG, "abcdefghijk", 11);
	add_note(&notes, "GNU", NT_GNU_BUILD_ID, id, sizeof(id));
	add_note(&notes, "stapsdt", 3, "xy", 2);
	expect_id(&notes, 4);
}

/* Where x86-64 keeps its properties; a linker may put the build-id beside them. */
TEST(notes_may_be_aligned_to_8)
{
	OWNED(cmn_buffer_release) struct cmn_buffer notes = { 0 };

	add_aligned_note(&notes, 8, "GNU", NT_GNU_PROPERTY_TYPE_0, "0123456789abcdef", 16);
	add_aligned_note(&notes, 8, "linkers", 1, "abc", 3);
	add_aligned_note(&notes, 8, "GNU", NT_GNU_BUILD_ID, id, sizeof(id));
	expect_id(&notes, 8);
}

TEST(the_first_one_counts_even_if_it_is_empty)
{
	struct cmn_buffer notes = { 0 }, found = { 0 };

	add_note(&notes, "GNU", NT_GNU_BUILD_ID, NULL, 0);
	add_note(&notes, "GNU", NT_GNU_BUILD_ID, id, sizeof(id));
	CU_ASSERT_EQUAL(find_in(&notes, notes.len, 0, 4, &found), CMN_OK);
	CU_ASSERT_EQUAL(found.len, 0);
	cmn_buffer_release(&notes);
	add_note(&notes, "GNU", NT_GNU_BUILD_ID, id, sizeof(id));
	add_note(&notes, "GNU", NT_GNU_BUILD_ID, "other", 5);
	expect_id(&notes, 4);
	cmn_buffer_release(&notes);
	cmn_buffer_release(&found);
}

TEST(other_names_and_types_are_none)
{
	OWNED(cmn_buffer_release) struct cmn_buffer notes = { 0 };

	add_note(&notes, "GNV", NT_GNU_BUILD_ID, id, sizeof(id));
	add_note(&notes, "GN", NT_GNU_BUILD_ID, id, sizeof(id));
	add_note(&notes, "GNU2", NT_GNU_BUILD_ID, id, sizeof(id));
	add_note(&notes, "GNU", NT_GNU_GOLD_VERSION, id, sizeof(id));
	/* Without the terminator. */
	add_header(&notes, 3, sizeof(id), NT_GNU_BUILD_ID);
	cmn_buffer_append(&notes, "GNU\0", 4);
	cmn_buffer_append(&notes, id, sizeof(id));
	expect_none(&notes, 4);
}

TEST(cut_short_anywhere_there_is_none)
{
	struct cmn_buffer notes = { 0 }, found = { 0 };
	size_t whole;

	add_note(&notes, "GNU", NT_GNU_ABI_TAG, "abc", 3);
	add_note(&notes, "GNU", NT_GNU_BUILD_ID, id, sizeof(id) - 1);
	whole = notes.len - 1;	/* the padding after it may be missing */
	for (size_t len = 0; len <= notes.len; len++) {
		for (size_t skew = 0; skew < sizeof(uint32_t); skew++)
			CU_ASSERT_EQUAL(find_in(&notes, len, skew, 4, &found), len < whole ? CMN_MISS : CMN_OK);
	}
	cmn_buffer_release(&notes);
	cmn_buffer_release(&found);
}

TEST(sizes_without_bounds_are_none)
{
	static const uint32_t sizes[] = { 21, 24, INT32_MAX, UINT32_MAX - 3, UINT32_MAX };
	struct cmn_buffer notes = { 0 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (int which = 0; which < 2; which++) {
			add_header(&notes, which ? sizes[i] : 4, which ? sizeof(id) : sizes[i], NT_GNU_BUILD_ID);
			cmn_buffer_append(&notes, "GNU", 4);
			cmn_buffer_append(&notes, id, sizeof(id));
			expect_none(&notes, 4);
			expect_none(&notes, 8);
			cmn_buffer_release(&notes);
		}
	}
}
