/* SPDX-License-Identifier: MIT */
/* printable: a table of what is not. */
#include "common/printable.h"

#include <string.h>

#include "common/json.h"

/* What has no shape of its own, or changes how others are laid out. */
static bool is_shapeless(uint32_t character)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{ 0x00, 0x1f }, { 0x7f, 0x9f }, { 0xad, 0xad }, { 0x34f, 0x34f },
		{ 0x61c, 0x61c }, { 0x115f, 0x1160 }, { 0x17b4, 0x17b5 }, { 0x180b, 0x180f },
		{ 0x200b, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f }, { 0x3164, 0x3164 },
		{ 0xe000, 0xf8ff }, { 0xfdd0, 0xfdef }, { 0xfe00, 0xfe0f }, { 0xfeff, 0xfeff },
		{ 0xffa0, 0xffa0 }, { 0xfff0, 0xfffb }, { 0xe0000, 0x10ffff },
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		if (character >= ranges[i].first && character <= ranges[i].last)
			return true;
	}
	return (character & 0xfffe) == 0xfffe;	/* of any plane */
}

struct cmn_character cmn_printable_next(struct cmn_view text)
{
	struct cmn_character next = { .number = 0xfffd, .len = text.len != 0 };
	size_t len = cmn_json_utf8_len(text);
	const uint8_t *at = text.data;

	if (!len)
		return next;
	next.len = len;
	next.number = len == 1 ? at[0] : at[0] & (0x7fu >> len);
	for (size_t i = 1; i < len; i++)
		next.number = next.number << 6 | (at[i] & 0x3f);
	next.shown = !is_shapeless(next.number);
	return next;
}

void cmn_printable_append(struct cmn_buffer *buf, struct cmn_view text, size_t max, char instead)
{
	size_t used = 0;

	while (text.len) {
		struct cmn_character next = cmn_printable_next(text);

		used += next.len;
		if (used > max)
			return;
		if (next.shown)
			cmn_buffer_append(buf, text.data, next.len);
		else
			cmn_buffer_append_u8(buf, (uint8_t)instead);
		text = (struct cmn_view){ (const uint8_t *)text.data + next.len, text.len - next.len };
	}
}

void cmn_printable_clean(char *text, char instead)
{
	struct cmn_view rest = { text, strlen(text) };
	char *to = text;

	while (rest.len) {
		struct cmn_character next = cmn_printable_next(rest);

		if (next.shown)
			memmove(to, rest.data, next.len);
		else
			*to = instead;
		to += next.shown ? next.len : 1;
		rest = (struct cmn_view){ (const char *)rest.data + next.len, rest.len - next.len };
	}
	*to = '\0';
}
