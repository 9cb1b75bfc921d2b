/* SPDX-License-Identifier: MIT */
/*
 * spirv: one walk suffices, since a module has its decorations before its
 * types and its types before the constants of them (2.4). What is out of that
 * order is no valid module, and not understood here.
 */
#include "layers/level_zero/plugin/spirv.h"

#include <stdlib.h>

#define MAGIC 0x07230203
#define HEADER_WORDS 5
#define MAX_CONSTANTS 4096	/* real modules have some dozens: they are looked through one by one */
#define MAX_TYPES 64		/* scalar types: each kind, width and sign is declared once */

enum opcode {
	OP_TYPE_INT = 21,
	OP_TYPE_FLOAT = 22,
	OP_SPEC_CONSTANT_TRUE = 48,
	OP_SPEC_CONSTANT_FALSE = 49,
	OP_SPEC_CONSTANT = 50,
	OP_FUNCTION = 54,
	OP_DECORATE = 71,
};
#define DECORATION_SPEC_ID 1

struct lz_spirv_constant {
	uint32_t target;	/* the result id that is decorated */
	uint32_t spec_id;
	uint32_t size;		/* 0: no scalar that is understood */
	bool defined;
};

struct type {
	uint32_t id, width;	/* width in bits */
};

struct walk {
	struct lz_spirv_constants found;
	size_t constants;	/* that have come: no decorations of them may come any more */
	struct type types[MAX_TYPES];
	size_t type_count;
};

/* An instruction without its first word. */
struct instruction {
	uint32_t opcode;
	size_t count;	/* of the operands, in words */
	struct cmn_reader operands;
};

enum cmn_status lz_spirv_check(struct cmn_view module)
{
	struct cmn_reader reader = cmn_reader_of(module);
	uint32_t magic = cmn_reader_u32(&reader);
	uint32_t version = cmn_reader_u32(&reader);
	uint32_t bound, schema;

	(void)cmn_reader_u32(&reader);	/* the generator's number: any */
	bound = cmn_reader_u32(&reader);
	schema = cmn_reader_u32(&reader);
	/* 2.3: the version's bytes are 0, major, minor, 0; the schema is reserved. */
	if (reader.failed || module.len % 4 != 0 || magic != MAGIC ||
	    (version & 0xffff00ff) != 0x00010000 || bound == 0 || schema != 0)
		return CMN_MISS;
	return CMN_OK;
}

/* OpDecorate: target, decoration, its operands. */
static enum cmn_status take_decoration(struct walk *walk, struct instruction *instruction)
{
	uint32_t target = cmn_reader_u32(&instruction->operands);
	uint32_t decoration = cmn_reader_u32(&instruction->operands);
	struct lz_spirv_constants *found = &walk->found;

	if (instruction->count < 2)
		return CMN_ERR_CORRUPT;
	if (decoration != DECORATION_SPEC_ID)
		return CMN_OK;
	if (instruction->count != 3 || walk->constants)
		return CMN_ERR_CORRUPT;
	if (found->count == MAX_CONSTANTS)
		return CMN_ERR_TOO_LARGE;
	found->items[found->count++] = (struct lz_spirv_constant){
		.target = target,
		.spec_id = cmn_reader_u32(&instruction->operands),
	};
	return CMN_OK;
}

static const struct type *find_type(const struct walk *walk, uint32_t id)
{
	for (size_t i = 0; i < walk->type_count; i++) {
		if (walk->types[i].id == id)
			return &walk->types[i];
	}
	return NULL;
}

/* OpTypeInt: result, width, sign. OpTypeFloat: result, width, perhaps an encoding. */
static enum cmn_status take_type(struct walk *walk, struct instruction *instruction)
{
	uint32_t id = cmn_reader_u32(&instruction->operands);
	uint32_t width = cmn_reader_u32(&instruction->operands);

	if (instruction->count < 2 || find_type(walk, id))
		return CMN_ERR_CORRUPT;
	if (walk->type_count == MAX_TYPES)
		return CMN_ERR_TOO_LARGE;
	walk->types[walk->type_count++] = (struct type){ id, width };
	return CMN_OK;
}

/* 0: not a number that is understood. literal: how many words its default has. */
static uint32_t size_of_number(const struct walk *walk, uint32_t type_id, size_t literal)
{
	const struct type *type = find_type(walk, type_id);

	if (!type || (type->width != 8 && type->width != 16 && type->width != 32 &&
		      type->width != 64))
		return 0;
	/* 2.2.1 Instructions, Literal: a narrow number has a word of its own. */
	return literal == (type->width + 31) / 32 ? type->width / 8 : 0;
}

/* OpSpecConstant*: type, result, and for a number its default. */
static enum cmn_status take_constant(struct walk *walk, struct instruction *instruction)
{
	uint32_t type = cmn_reader_u32(&instruction->operands);
	uint32_t target = cmn_reader_u32(&instruction->operands);
	struct lz_spirv_constants *found = &walk->found;
	uint32_t size = 1;

	if (instruction->count < 2)
		return CMN_ERR_CORRUPT;
	if (++walk->constants > MAX_CONSTANTS)
		return CMN_ERR_TOO_LARGE;
	if (instruction->opcode == OP_SPEC_CONSTANT)
		size = size_of_number(walk, type, instruction->count - 2);
	for (size_t i = 0; i < found->count; i++) {
		if (found->items[i].target != target)
			continue;
		if (found->items[i].defined)
			return CMN_ERR_CORRUPT;
		found->items[i].defined = true;
		found->items[i].size = size;
	}
	return CMN_OK;
}

static enum cmn_status take(struct walk *walk, struct instruction *instruction)
{
	switch (instruction->opcode) {
	case OP_DECORATE:
		return take_decoration(walk, instruction);
	case OP_TYPE_INT:
	case OP_TYPE_FLOAT:
		return take_type(walk, instruction);
	case OP_SPEC_CONSTANT_TRUE:
	case OP_SPEC_CONSTANT_FALSE:
	case OP_SPEC_CONSTANT:
		return take_constant(walk, instruction);
	default:
		return CMN_OK;
	}
}

/* 2.3: the first word has the count of words, itself among them, above the opcode. */
static enum cmn_status next(struct cmn_reader *reader, struct instruction *ret_instruction)
{
	uint32_t first = cmn_reader_u32(reader);
	uint32_t words = first >> 16;

	if (!words)
		return CMN_ERR_CORRUPT;
	ret_instruction->opcode = first & 0xffff;
	ret_instruction->count = words - 1;
	ret_instruction->operands = cmn_reader_of(cmn_reader_bytes(reader, 4 * ((uint64_t)words - 1)));
	return reader->failed ? CMN_ERR_CORRUPT : CMN_OK;
}

enum cmn_status lz_spirv_constants_gather(struct cmn_view module,
					  struct lz_spirv_constants *ret_constants)
{
	struct cmn_reader reader = cmn_reader_of(module);
	struct instruction instruction = { 0 };
	enum cmn_status status = CMN_OK;
	struct walk walk = { .constants = 0 };

	if (lz_spirv_check(module) != CMN_OK)
		return CMN_ERR_CORRUPT;
	walk.found.items = calloc(MAX_CONSTANTS, sizeof(walk.found.items[0]));
	if (!walk.found.items)
		return CMN_ERR_NOMEM;
	(void)cmn_reader_bytes(&reader, (size_t)4 * HEADER_WORDS);	/* seen above */
	while (status == CMN_OK && reader.left) {
		status = next(&reader, &instruction);
		if (status == CMN_OK && instruction.opcode == OP_FUNCTION)
			break;
		if (status == CMN_OK)
			status = take(&walk, &instruction);
	}
	if (status != CMN_OK) {
		lz_spirv_constants_release(&walk.found);
		return status;
	}
	*ret_constants = walk.found;
	return CMN_OK;
}

void lz_spirv_constants_release(struct lz_spirv_constants *constants)
{
	free(constants->items);
	*constants = (struct lz_spirv_constants){ 0 };
}

enum cmn_status lz_spirv_constants_size(const struct lz_spirv_constants *constants,
					uint32_t spec_id, size_t *ret_size)
{
	uint32_t size = 0;

	for (size_t i = 0; i < constants->count; i++) {
		if (constants->items[i].spec_id != spec_id)
			continue;
		if (!constants->items[i].size || (size && constants->items[i].size != size))
			return CMN_MISS;
		size = constants->items[i].size;
	}
	if (!size)
		return CMN_MISS;
	*ret_size = size;
	return CMN_OK;
}
