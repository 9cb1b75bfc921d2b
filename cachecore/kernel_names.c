/* SPDX-License-Identifier: MIT */
/* kernel_names: words of C, or instructions of SPIR-V. */
#include "cachecore/kernel_names.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "cachecore/key.h"

/* SPIR-V 2.3: the first word of a module, and how many come before its instructions. */
#define SPIRV_MAGIC UINT32_C(0x07230203)
#define SPIRV_HEADER_WORDS 5
/* SPIR-V 3.52.5. Behind the execution model and the function's id is the name. */
#define OP_ENTRY_POINT 15
#define OP_ENTRY_POINT_NAME 3
#define WORD sizeof(uint32_t)

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* The next identifier, past which it moves; empty: no more. */
static struct cmn_view next_word(struct cc_kernel_names *names)
{
	const char *text = names->source.data;
	size_t start;

	while (names->at < names->source.len && !is_word(text[names->at]))
		names->at++;
	start = names->at;
	while (names->at < names->source.len && is_word(text[names->at]))
		names->at++;
	return (struct cmn_view){ text + start, names->at - start };
}

static struct cmn_view next_of_text(struct cc_kernel_names *names)
{
	struct cmn_view word = next_word(names);

	while (word.len) {
		bool kernel = cmn_view_equal(word, cmn_view_of("kernel")) ||
			      cmn_view_equal(word, cmn_view_of("__kernel"));

		word = next_word(names);
		if (kernel && cmn_view_equal(word, cmn_view_of("void")))
			return next_word(names);
	}
	return (struct cmn_view){ 0 };
}

static uint32_t word_at(struct cmn_view source, size_t at)
{
	uint32_t word;

	memcpy(&word, (const uint8_t *)source.data + at * WORD, sizeof(word));
	return word;
}

/* Of this byte order; the other one is no driver's here. */
static bool is_spirv(struct cmn_view source)
{
	return source.len >= SPIRV_HEADER_WORDS * WORD && word_at(source, 0) == SPIRV_MAGIC;
}

static struct cmn_view next_of_spirv(struct cc_kernel_names *names)
{
	size_t words = names->source.len / WORD;

	if (names->at < SPIRV_HEADER_WORDS)
		names->at = SPIRV_HEADER_WORDS;
	while (names->at < words) {
		size_t at = names->at, count = word_at(names->source, at) >> 16;
		const char *name = (const char *)names->source.data + (at + OP_ENTRY_POINT_NAME) * WORD;

		if (!count || count > words - at)
			break;
		names->at = at + count;
		if ((word_at(names->source, at) & 0xffff) == OP_ENTRY_POINT &&
		    count > OP_ENTRY_POINT_NAME)
			return (struct cmn_view){
				name, strnlen(name, (count - OP_ENTRY_POINT_NAME) * WORD)
			};
	}
	names->at = words;
	return (struct cmn_view){ 0 };
}

struct cc_kernel_names cc_kernel_names_of(struct cmn_view source)
{
	return (struct cc_kernel_names){ .source = source };
}

struct cmn_view cc_kernel_names_next(struct cc_kernel_names *names)
{
	if (is_spirv(names->source))
		return next_of_spirv(names);
	return next_of_text(names);
}

struct cmn_view cc_kernel_names_of_key(struct cmn_view key)
{
	struct cmn_view name = { 0 };
	struct cc_key_field field;
	struct cmn_reader reader;

	if (cc_key_read(key, &reader) != CMN_OK)
		return name;
	while (!name.len && cc_key_next(&reader, &field) == CMN_OK) {
		struct cc_kernel_names names = cc_kernel_names_of(field.value);

		if (field.part == CC_PART_IMAGE)
			name = cc_kernel_names_next(&names);
	}
	return name;
}
