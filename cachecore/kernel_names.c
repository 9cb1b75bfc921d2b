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

/*
 * From "kernel" to its name, and from a line's start to there: else a line of a megabyte that says it
 * again and again would be read from end to end each time.
 */
#define MAX_DECLARATION 4096

static bool is_text(struct cmn_view text, size_t at, const char *word)
{
	size_t len = strlen(word);

	return text.len - at >= len && memcmp((const char *)text.data + at, word, len) == 0;
}

/* Where the word is from a place on; the text's end: nowhere. */
static size_t find(struct cmn_view text, size_t at, const char *word)
{
	const char *found = at < text.len ? memmem((const char *)text.data + at, text.len - at, word,
						   strlen(word)) : NULL;

	return found ? (size_t)(found - (const char *)text.data) : text.len;
}

/* Behind a line, which goes on after a backslash. */
static size_t skip_line(struct cmn_view text, size_t at)
{
	const char *data = text.data;

	do {
		at = find(text, at, "\n");
		at += at < text.len;
	} while (at < text.len && data[at - 2] == '\\');
	return at;
}

/* Behind blanks, comments and directives of the preprocessor. */
static size_t skip_blanks(struct cmn_view text, size_t at)
{
	const char *data = text.data;

	while (at < text.len) {
		if (isspace((unsigned char)data[at]) || data[at] == '\\')
			at++;
		else if (data[at] == '#' || is_text(text, at, "//"))
			at = skip_line(text, at);
		else if (is_text(text, at, "/*"))
			at = find(text, at + 2, "*/") + 2;
		else
			break;
	}
	return at < text.len ? at : text.len;
}

/* Behind what is in parentheses, if anything is. */
static size_t skip_parentheses(struct cmn_view text, size_t at)
{
	const char *data = text.data;
	size_t depth = 0;

	do {
		at = skip_blanks(text, at);
		if (at == text.len || (data[at] != '(' && !depth))
			return at;
		depth += data[at] == '(';
		depth -= data[at] == ')';
		at++;
	} while (depth);
	return at;
}

/* The word there; empty: there is none. */
static struct cmn_view word_of(struct cmn_view text, size_t at)
{
	const char *data = text.data;
	size_t end = at;

	while (end < text.len && cmn_is_word(data[end]))
		end++;
	return (struct cmn_view){ data + at, end - at };
}

static bool is_macro(struct cmn_view word)
{
	const char *text = word.data;

	for (size_t i = 0; i < word.len; i++) {
		if (islower((unsigned char)text[i]))
			return false;
	}
	return word.len > 0;
}

/* "void" may have attributes and other macros before it. */
static bool may_come_before(struct cmn_view word)
{
	return is_macro(word) || (word.len > 2 && memcmp(word.data, "__", 2) == 0) ||
	       cmn_view_equal(word, cmn_view_of("static")) ||
	       cmn_view_equal(word, cmn_view_of("inline"));
}

/*
 * The next word that says "kernel", behind which it moves: OpenCL's, or a macro that is called so.
 * Empty: no more.
 */
static struct cmn_view next_mark(struct cc_kernel_names *names)
{
	static const char *const spellings[] = { "kernel", "KERNEL" };
	const char *data = names->source.data;

	for (;;) {
		struct cmn_view word;
		size_t start;

		for (size_t i = 0; i < 2; i++) {
			if (!names->at || names->next[i] < names->at)
				names->next[i] = find(names->source, names->at, spellings[i]);
		}
		start = names->next[0] < names->next[1] ? names->next[0] : names->next[1];
		if (start == names->source.len)
			return (struct cmn_view){ 0 };
		while (start > names->at && cmn_is_word(data[start - 1]))
			start--;
		word = word_of(names->source, start);
		names->at = start + word.len;
		if (is_macro(word) || cmn_view_equal(word, cmn_view_of("kernel")) ||
		    cmn_view_equal(word, cmn_view_of("__kernel")))
			return word;
	}
}

/*
 * What a kernel may be declared in: the next few thousand bytes, or the rest of a directive, as in a
 * macro's body.
 */
static struct cmn_view declaration_behind(struct cmn_view source, struct cmn_view mark)
{
	size_t at = (size_t)((const char *)mark.data - (const char *)source.data), behind = at + mark.len;
	const char *start = mark.data, *first = start - (at < MAX_DECLARATION ? at : MAX_DECLARATION);

	if (source.len - behind > MAX_DECLARATION)
		source.len = behind + MAX_DECLARATION;
	while (start > first && start[-1] != '\n')
		start--;
	while (start < (const char *)mark.data && isspace((unsigned char)*start))
		start++;
	if (*start == '#')
		source.len = skip_line(source, (size_t)(start - (const char *)source.data));
	return source;
}

static struct cmn_view next_of_text(struct cc_kernel_names *names)
{
	struct cmn_view mark;

	while ((mark = next_mark(names)).len) {
		struct cmn_view text = declaration_behind(names->source, mark);
		size_t at = skip_blanks(text, names->at);
		struct cmn_view word = word_of(text, at);

		while (may_come_before(word)) {
			at = skip_blanks(text, skip_parentheses(text, at + word.len));
			word = word_of(text, at);
		}
		if (!cmn_view_equal(word, cmn_view_of("void")))
			continue;
		at = skip_blanks(text, at + word.len);
		word = word_of(text, at);
		/* A macro that is called so may be something else. */
		if (is_macro(mark) && !is_text(text, skip_blanks(text, at + word.len), "("))
			continue;
		names->at = at + word.len;
		if (word.len)
			return word;
	}
	return (struct cmn_view){ 0 };
}

static uint32_t word_at(struct cmn_view source, size_t at)
{
	uint32_t word;

	memcpy(&word, (const uint8_t *)source.data + at * WORD, sizeof(word));
	return word;
}

/*
 * Of this byte order; the other one is no driver's here. A name's first byte is a word's lowest, so
 * that names stand there as they are only where the order is little-endian.
 */
static bool is_spirv(struct cmn_view source)
{
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && source.len >= SPIRV_HEADER_WORDS * WORD && word_at(source, 0) == SPIRV_MAGIC;
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
