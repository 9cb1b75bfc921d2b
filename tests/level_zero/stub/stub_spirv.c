/* SPDX-License-Identifier: MIT */
/*
 * stub_spirv: as much of SPIR-V as the stub driver needs (specification,
 * chapter 2.3, "Physical Layout", and chapter 3, "Binary Form"): kernels,
 * specialization constants and their widths.
 */
#include "tests/level_zero/stub/stub.h"

#define MAGIC 0x07230203u
#define HEADER_WORDS 5
#define MAX_BOUND (1u << 22)	/* ids: what the specification demands of implementations */

enum {
	OP_ENTRY_POINT = 15, OP_TYPE_BOOL = 20, OP_TYPE_INT = 21, OP_TYPE_FLOAT = 22,
	OP_SPEC_CONSTANT_TRUE = 48, OP_SPEC_CONSTANT_FALSE = 49, OP_SPEC_CONSTANT = 50,
	OP_FUNCTION = 54, OP_FUNCTION_END = 56, OP_DECORATE = 71,
};
enum { DECORATION_SPEC_ID = 1, MODEL_KERNEL = 6 };

/* What is known of one id. */
struct id {
	uint32_t width;		/* of a type, in bytes */
	uint32_t spec_id;
	bool has_spec_id, is_function;
};

struct reader {
	struct id *ids;
	uint32_t bound;
	bool in_function;	/* one is being defined */
	struct stub_spirv *spirv;
};

/* Of a literal string among an instruction's words; false: it does not end in them. */
static bool read_name(const uint32_t *words, uint32_t count, const char **ret, size_t *ret_len)
{
	*ret = (const char *)words;
	*ret_len = strnlen(*ret, count * sizeof(*words));
	return *ret_len < count * sizeof(*words);
}

static void add_constant(struct stub_spirv *spirv, uint32_t id, uint32_t width)
{
	size_t at = spirv->constant_count++;
	struct stub_constant *grown =
		realloc(spirv->constants, spirv->constant_count * sizeof(*spirv->constants));

	if (!grown)
		abort();	/* a test driver has nothing better to do */
	spirv->constants = grown;
	for (; at && grown[at - 1].id > id; at--)
		grown[at] = grown[at - 1];
	grown[at] = (struct stub_constant){ id, width };
}

/* How many operands each instruction that is looked at has at least. */
static uint32_t operands_needed(uint32_t op)
{
	switch (op) {
	case OP_ENTRY_POINT:
	case OP_SPEC_CONSTANT:
		return 3;
	case OP_FUNCTION:
		return 4;
	case OP_TYPE_INT:
		return 3;
	case OP_TYPE_FLOAT:
	case OP_SPEC_CONSTANT_TRUE:
	case OP_SPEC_CONSTANT_FALSE:
	case OP_DECORATE:
		return 2;
	case OP_TYPE_BOOL:
		return 1;
	default:
		return 0;
	}
}

/* First pass: what ids are. args: the operands; used only if there are enough. */
static bool note_ids(struct reader *reader, uint32_t op, const uint32_t *args, uint32_t count)
{
	bool has_type = op == OP_SPEC_CONSTANT || op == OP_SPEC_CONSTANT_TRUE ||
			op == OP_SPEC_CONSTANT_FALSE || op == OP_FUNCTION;
	uint32_t id;

	if (op == OP_FUNCTION_END)
		reader->in_function = false;
	if (!operands_needed(op))
		return true;
	id = args[has_type || op == OP_ENTRY_POINT ? 1 : 0];
	if (id >= reader->bound || (has_type && args[0] >= reader->bound))
		return false;
	switch (op) {
	case OP_TYPE_BOOL:
		reader->ids[id].width = 1;
		break;
	case OP_TYPE_INT:
	case OP_TYPE_FLOAT:
		reader->ids[id].width = args[1] / 8;
		break;
	case OP_DECORATE:
		if (args[1] == DECORATION_SPEC_ID && count > 2) {
			reader->ids[id].spec_id = args[2];
			reader->ids[id].has_spec_id = true;
		}
		break;
	case OP_FUNCTION:
		reader->ids[id].is_function = true;
		reader->in_function = true;
		break;
	}
	return true;
}

/* Second pass: what the module has. */
static bool note_contents(struct reader *reader, uint32_t op, const uint32_t *args, uint32_t count)
{
	const char *name;
	size_t len;

	switch (op) {
	case OP_ENTRY_POINT:
		if (!read_name(args + 2, count - 2, &name, &len) || !reader->ids[args[1]].is_function)
			return false;
		if (args[0] == MODEL_KERNEL)
			stub_image_add(&reader->spirv->image, name, len);
		return true;
	case OP_SPEC_CONSTANT:
	case OP_SPEC_CONSTANT_TRUE:
	case OP_SPEC_CONSTANT_FALSE:
		if (reader->ids[args[1]].has_spec_id)
			add_constant(reader->spirv, reader->ids[args[1]].spec_id,
				     reader->ids[args[0]].width);
		return true;
	default:
		return true;
	}
}

static bool walk(struct reader *reader, const uint32_t *words, size_t count,
		 bool (*note)(struct reader *, uint32_t, const uint32_t *, uint32_t))
{
	for (size_t at = HEADER_WORDS; at < count; ) {
		uint32_t op = words[at] & 0xffff, len = words[at] >> 16;

		if (!len || len > count - at || len - 1 < operands_needed(op))
			return false;
		if (!note(reader, op, words + at + 1, len - 1))
			return false;
		at += len;
	}
	return true;
}

bool stub_spirv_read(const uint8_t *data, size_t len, struct stub_spirv *ret)
{
	struct stub_spirv spirv = { 0 };
	struct reader reader = { .spirv = &spirv };
	uint32_t *words;
	bool good;

	if (!data || len < HEADER_WORDS * sizeof(*words) || len % sizeof(*words))
		return false;
	words = malloc(len);	/* the application's need not be aligned */
	if (!words)
		abort();	/* a test driver has nothing better to do */
	memcpy(words, data, len);
	good = words[0] == MAGIC && words[3] && words[3] <= MAX_BOUND;
	if (good) {
		reader.bound = words[3];
		reader.ids = calloc(reader.bound, sizeof(*reader.ids));
		if (!reader.ids)
			abort();	/* as above */
		good = walk(&reader, words, len / sizeof(*words), note_ids) && !reader.in_function &&
		       walk(&reader, words, len / sizeof(*words), note_contents);
	}
	free(reader.ids);
	free(words);
	if (good)
		*ret = spirv;
	else
		stub_spirv_release(&spirv);
	return good;
}

void stub_spirv_release(struct stub_spirv *spirv)
{
	stub_image_release(&spirv->image);
	free(spirv->constants);
}
