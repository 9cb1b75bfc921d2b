/* SPDX-License-Identifier: MIT */
/* json_reader: a hand that moves over the text. */
#include "tools/json_reader.h"

#include <ctype.h>
#include <string.h>

#define MAX_DEPTH 4

void json_member_release(struct json_member *member)
{
	cmn_buffer_release(&member->name);
	cmn_buffer_release(&member->string);
}

static void skip_blanks(struct json_reader *reader)
{
	while (reader->at < reader->end && strchr(" \t\r\n", *reader->at) && *reader->at)
		reader->at++;
}

/* Steps over that character; false: another stands there. */
static bool take(struct json_reader *reader, char wanted)
{
	skip_blanks(reader);
	if (reader->at >= reader->end || *reader->at != wanted)
		return false;
	reader->at++;
	return true;
}

struct json_reader json_reader_of(struct cmn_view text)
{
	struct json_reader reader = { text.data, (const char *)text.data + text.len, false };

	reader.failed = !take(&reader, '{');
	return reader;
}

/* Four hexadecimal digits. */
static unsigned int take_code(struct json_reader *reader)
{
	static const char digits[] = "0123456789abcdef";
	unsigned int code = 0;

	for (int i = 0; i < 4; i++) {
		const char *digit = reader->at < reader->end && *reader->at ?
			strchr(digits, tolower((unsigned char)*reader->at)) : NULL;

		reader->failed |= !digit;
		if (!digit)
			return 0;
		code = code * 16 + (unsigned int)(digit - digits);
		reader->at++;
	}
	return code;
}

static void append_code(struct cmn_buffer *ret, unsigned int code)
{
	if (code < 0x80) {
		cmn_buffer_append_u8(ret, (uint8_t)code);
	} else if (code < 0x800) {
		cmn_buffer_append_u8(ret, (uint8_t)(0xc0 | code >> 6));
		cmn_buffer_append_u8(ret, (uint8_t)(0x80 | (code & 0x3f)));
	} else {
		cmn_buffer_append_u8(ret, (uint8_t)(0xe0 | code >> 12));
		cmn_buffer_append_u8(ret, (uint8_t)(0x80 | (code >> 6 & 0x3f)));
		cmn_buffer_append_u8(ret, (uint8_t)(0x80 | (code & 0x3f)));
	}
}

static void take_escape(struct json_reader *reader, struct cmn_buffer *ret)
{
	static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
	const char *letter;

	if (reader->at >= reader->end || !*reader->at) {
		reader->failed = true;
		return;
	}
	if (*reader->at == 'u') {
		reader->at++;
		append_code(ret, take_code(reader));
		return;
	}
	letter = strchr(letters, *reader->at++);
	reader->failed |= !letter;
	if (letter)
		cmn_buffer_append_u8(ret, (uint8_t)meant[letter - letters]);
}

static void take_string(struct json_reader *reader, struct cmn_buffer *ret)
{
	ret->len = 0;
	reader->failed |= !take(reader, '"');
	while (!reader->failed && reader->at < reader->end && *reader->at != '"') {
		if (*reader->at != '\\') {
			cmn_buffer_append_u8(ret, (uint8_t)*reader->at++);
			continue;
		}
		reader->at++;
		take_escape(reader, ret);
	}
	reader->failed |= !take(reader, '"') || ret->failed;
}

static void take_number(struct json_reader *reader, uint64_t *ret)
{
	const char *start = reader->at;
	uint64_t number = 0;

	while (reader->at < reader->end && isdigit((unsigned char)*reader->at)) {
		unsigned int digit = (unsigned int)(*reader->at++ - '0');

		reader->failed |= number > (UINT64_MAX - digit) / 10;
		number = number * 10 + digit;
	}
	reader->failed |= reader->at == start;
	*ret = number;
}

static void skip_object(struct json_reader *reader, unsigned int depth);

static void take_value(struct json_reader *reader, struct json_member *ret, unsigned int depth)
{
	skip_blanks(reader);
	if (reader->at >= reader->end) {
		reader->failed = true;
	} else if (*reader->at == '"') {
		ret->kind = JSON_STRING;
		take_string(reader, &ret->string);
	} else if (*reader->at == '{') {
		ret->kind = JSON_OBJECT;
		ret->object = (struct json_reader){ reader->at + 1, reader->end, false };
		reader->at++;
		skip_object(reader, depth + 1);
	} else {
		ret->kind = JSON_NUMBER;
		take_number(reader, &ret->number);
	}
}

static bool next_member(struct json_reader *reader, struct json_member *ret, unsigned int depth)
{
	if (reader->failed || depth > MAX_DEPTH || take(reader, '}')) {
		reader->failed |= depth > MAX_DEPTH;
		return false;
	}
	(void)take(reader, ',');	/* before the first member there is none */
	take_string(reader, &ret->name);
	reader->failed |= !take(reader, ':');
	if (!reader->failed)
		take_value(reader, ret, depth);
	return !reader->failed;
}

static void skip_object(struct json_reader *reader, unsigned int depth)
{
	struct json_member member = { 0 };

	while (next_member(reader, &member, depth))
		continue;
	json_member_release(&member);
}

bool json_reader_next(struct json_reader *reader, struct json_member *ret)
{
	return next_member(reader, ret, 0);
}
