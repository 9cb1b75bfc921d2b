/* SPDX-License-Identifier: MIT */
/* test_spirv: modules written word by word (SPIR-V 1.6, 2.3), whole, odd and damaged. */
#include "layers/level_zero/plugin/spirv.h"
#include "tests/opencl/value_il.h"
#include "tests/support/unit.h"

/* An instruction's first word. */
#define OP(opcode, words) ((uint32_t)(words) << 16 | (opcode))
#define HEADER 0x07230203, 0x00010400, 0, 1000, 0
#define SPEC_ID(target, id) OP(71, 4), target, 1, id
#define TYPE_BOOL(id) OP(20, 2), id
#define TYPE_INT(id, width) OP(21, 4), id, width, 0
#define TYPE_FLOAT(id, width) OP(22, 3), id, width
#define CONSTANT_TRUE(type, id) OP(48, 3), type, id
#define CONSTANT_FALSE(type, id) OP(49, 3), type, id
#define CONSTANT(type, id) OP(50, 4), type, id, 42
#define CONSTANT_LONG(type, id) OP(50, 5), type, id, 42, 0
#define COMPOSITE(type, id, part) OP(51, 4), type, id, part
#define FUNCTION OP(54, 5), 0, 0, 0, 0

#define VIEW(words) ((struct cmn_view){ words, sizeof(words) })

static enum cmn_status constant_size(struct cmn_view module, uint32_t id, size_t *ret_size)
{
	struct lz_spirv_constants constants = { 0 };
	enum cmn_status status = lz_spirv_constants_gather(module, &constants);

	if (status == CMN_OK)
		status = lz_spirv_constants_size(&constants, id, ret_size);
	lz_spirv_constants_release(&constants);
	return status;
}

static void expect(struct cmn_view module, uint32_t id, enum cmn_status status, size_t size)
{
	size_t found = 0;

	CU_ASSERT_EQUAL(constant_size(module, id, &found), status);
	CU_ASSERT_EQUAL(found, size);
}

TEST(accepts_what_begins_as_a_module)
{
	uint32_t words[] = { HEADER };

	CU_ASSERT_EQUAL(lz_spirv_check(VIEW(words)), CMN_OK);
	CU_ASSERT_EQUAL(lz_spirv_check(VIEW(value_il)), CMN_OK);
	CU_ASSERT_EQUAL(lz_spirv_check((struct cmn_view){ 0 }), CMN_MISS);
	for (size_t len = 0; len < sizeof(words); len++)
		CU_ASSERT_EQUAL(lz_spirv_check((struct cmn_view){ words, len }), CMN_MISS);
	/* No whole number of words. */
	for (size_t len = sizeof(value_il) - 3; len < sizeof(value_il); len++)
		CU_ASSERT_EQUAL(lz_spirv_check((struct cmn_view){ value_il, len }), CMN_MISS);
}

TEST(refuses_other_headers)
{
	static const struct {
		size_t at;
		uint32_t word;
	} wrong[] = {
		{ 0, 0x03022307 }, { 0, 0x464c457f }, { 1, 0x00020000 }, { 1, 0 },
		{ 1, 0x01010000 }, { 1, 0x00010001 }, { 3, 0 },		 { 4, 1 },
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		uint32_t words[] = { HEADER, SPEC_ID(1, 7), TYPE_BOOL(2), CONSTANT_TRUE(2, 1) };

		expect(VIEW(words), 7, CMN_OK, 1);
		words[wrong[i].at] = wrong[i].word;
		CU_ASSERT_EQUAL(lz_spirv_check(VIEW(words)), CMN_MISS);
		expect(VIEW(words), 7, CMN_ERR_CORRUPT, 0);
	}
}

TEST(a_constant_has_its_types_size)
{
	static const uint32_t words[] = {
		HEADER,
		SPEC_ID(11, 101), SPEC_ID(12, 102), SPEC_ID(13, 103), SPEC_ID(14, 104),
		SPEC_ID(15, 105), SPEC_ID(16, 106), SPEC_ID(17, 107), SPEC_ID(18, 108),
		SPEC_ID(19, 0), TYPE_BOOL(1), TYPE_INT(2, 8), TYPE_INT(3, 16), TYPE_INT(4, 32),
		TYPE_INT(5, 64), TYPE_FLOAT(6, 16), TYPE_FLOAT(7, 32), TYPE_FLOAT(8, 64),
		CONSTANT_TRUE(1, 11), CONSTANT_FALSE(1, 12), CONSTANT(2, 13), CONSTANT(3, 14),
		CONSTANT(4, 15), CONSTANT_LONG(5, 16), CONSTANT(6, 17), CONSTANT(7, 18),
		CONSTANT_LONG(8, 19), FUNCTION,
	};
	static const size_t sizes[] = { 1, 1, 1, 2, 4, 8, 2, 4 };

	for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		expect(VIEW(words), 101 + i, CMN_OK, sizes[i]);
	expect(VIEW(words), 0, CMN_OK, 8);
	expect(VIEW(words), 109, CMN_MISS, 0);
	expect(VIEW(value_il), 7, CMN_OK, 4);
	expect(VIEW(value_il), 3, CMN_MISS, 0);
}

TEST(one_walk_serves_many)
{
	static const uint32_t words[] = {
		HEADER, SPEC_ID(12, 9), SPEC_ID(11, 3), SPEC_ID(13, 5), TYPE_INT(2, 8),
		TYPE_INT(3, 64), CONSTANT(2, 11), CONSTANT_LONG(3, 12), CONSTANT(2, 13),
	};
	struct lz_spirv_constants constants = { 0 };
	size_t size = 0;

	CU_ASSERT_EQUAL_FATAL(lz_spirv_constants_gather(VIEW(words), &constants), CMN_OK);
	CU_ASSERT_EQUAL(lz_spirv_constants_size(&constants, 9, &size), CMN_OK);
	CU_ASSERT_EQUAL(size, 8);
	CU_ASSERT_EQUAL(lz_spirv_constants_size(&constants, 3, &size), CMN_OK);
	CU_ASSERT_EQUAL(size, 1);
	CU_ASSERT_EQUAL(lz_spirv_constants_size(&constants, 4, &size), CMN_MISS);
	CU_ASSERT_EQUAL(size, 1);
	lz_spirv_constants_release(&constants);
	CU_ASSERT_EQUAL(lz_spirv_constants_size(&constants, 9, &size), CMN_MISS);
}

TEST(an_id_of_several_needs_one_size)
{
	static const uint32_t words[] = {
		HEADER, SPEC_ID(11, 7), SPEC_ID(12, 7), SPEC_ID(13, 8), SPEC_ID(14, 8),
		SPEC_ID(14, 9), TYPE_INT(2, 32), TYPE_FLOAT(3, 32), TYPE_INT(4, 8),
		CONSTANT(2, 11), CONSTANT(3, 12), CONSTANT(2, 13), CONSTANT(4, 14),
	};

	expect(VIEW(words), 7, CMN_OK, 4);
	expect(VIEW(words), 8, CMN_MISS, 0);
	expect(VIEW(words), 9, CMN_OK, 1);
}

TEST(what_is_no_scalar_is_a_miss)
{
	static const uint32_t words[] = {
		HEADER, SPEC_ID(11, 1), SPEC_ID(12, 2), SPEC_ID(13, 3), SPEC_ID(14, 4),
		SPEC_ID(15, 5), SPEC_ID(16, 6), OP(71, 3), 11, 2, TYPE_INT(2, 32),
		TYPE_INT(3, 13), TYPE_INT(4, 64), COMPOSITE(2, 11, 2), CONSTANT(99, 12),
		CONSTANT(3, 13), CONSTANT(4, 14), CONSTANT_LONG(2, 15), FUNCTION, CONSTANT(2, 16),
	};

	/* A composite; an unknown type; an odd width; a default too short, one too long; */
	/* and one that stands where none may. */
	for (uint32_t id = 1; id <= 6; id++)
		expect(VIEW(words), id, CMN_MISS, 0);
}

TEST(words_that_cannot_be_walked_are_corrupt)
{
	static const uint32_t zero[] = { HEADER, SPEC_ID(1, 7), 0 };
	static const uint32_t past[] = { HEADER, SPEC_ID(1, 7), OP(19, 3), 1 };
	static const uint32_t bare[] = { HEADER, OP(71, 1) };
	static const uint32_t without[] = { HEADER, OP(71, 3), 1, 1 };
	static const uint32_t untyped[] = { HEADER, OP(21, 2), 1 };
	static const uint32_t half[] = { HEADER, OP(50, 2), 1 };
	static const uint32_t twice[] = { HEADER, SPEC_ID(1, 7), TYPE_INT(2, 32), CONSTANT(2, 1),
					  CONSTANT(2, 1) };
	static const uint32_t retyped[] = { HEADER, SPEC_ID(1, 7), TYPE_INT(2, 32), TYPE_INT(2, 8),
					    CONSTANT(2, 1) };
	static const uint32_t late[] = { HEADER, TYPE_INT(2, 32), CONSTANT(2, 1), SPEC_ID(1, 7) };
	static const struct cmn_view modules[] = {
		VIEW(zero), VIEW(past), VIEW(bare), VIEW(without), VIEW(untyped), VIEW(half),
		VIEW(twice), VIEW(retyped), VIEW(late),
	};

	for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++)
		expect(modules[i], 7, CMN_ERR_CORRUPT, 0);
}

TEST(too_many_constants_are_refused)
{
	static const uint32_t header[] = { HEADER };
	struct cmn_buffer module = { 0 };

	cmn_buffer_append(&module, header, sizeof(header));
	for (uint32_t i = 0; i < 4097; i++) {
		const uint32_t words[] = { SPEC_ID(i, i) };

		cmn_buffer_append(&module, words, sizeof(words));
	}
	CU_ASSERT_FATAL(!module.failed);
	expect(cmn_buffer_view(&module), 7, CMN_ERR_TOO_LARGE, 0);
	module.len -= 16;
	expect(cmn_buffer_view(&module), 7, CMN_MISS, 0);
	cmn_buffer_release(&module);
}

/* On a copy of exactly this length, so that the sanitizers see a read past it. */
static enum cmn_status ask_copy(const void *data, size_t len, size_t *ret_size)
{
	void *copy = malloc(len + !len);
	enum cmn_status status;

	CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
	memcpy(copy, data, len);
	status = constant_size((struct cmn_view){ copy, len }, 7, ret_size);
	free(copy);
	return status;
}

TEST(damage_stays_within_bounds)
{
	uint8_t bytes[sizeof(value_il)];
	size_t size, same = 0;

	memcpy(bytes, value_il, sizeof(bytes));
	for (size_t len = 0; len < sizeof(bytes); len++)
		CU_ASSERT(ask_copy(bytes, len, &size) != CMN_OK || size == 4);
	for (size_t bit = 0; bit < 8 * sizeof(bytes); bit++) {
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		if (ask_copy(bytes, sizeof(bytes), &size) == CMN_OK)
			same += size == 4;
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	/* What follows the first function is none of this walk's business. */
	CU_ASSERT(same > 0);
}
