/* SPDX-License-Identifier: MIT */
/*
 * report_escape: text of anybody's making as it stands in the page, in an element or a quoted
 * attribute: whatever it is, it stays text in its element and on its line, and shows what it has.
 * Markup is escaped; controls, marks of direction, characters without a shape and what is no
 * character are written as U+0000. Of more than max characters the rest is "…".
 */
#include <stdbool.h>

#include "common/json.h"
#include "tools/report/report_page.h"

static uint32_t decode(struct cmn_view text, size_t len)
{
	const uint8_t *at = text.data;
	uint32_t character = len == 1 ? at[0] : at[0] & (0x7fu >> len);

	for (size_t i = 1; i < len; i++)
		character = character << 6 | (at[i] & 0x3f);
	return character;
}

/* Unicode 15: what has no shape of its own, or changes how others are laid out. */
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

static void append_character(struct cmn_buffer *html, uint32_t character, const void *bytes,
			     size_t len)
{
	switch (character) {
	case '&':
	case '<':
	case '>':
	case '"':
	case '\'':
		cmn_buffer_printf(html, "&#%u;", (unsigned int)character);
		break;
	case '\t':
	case '\n':
	case '\r':
		cmn_buffer_append_u8(html, ' ');
		break;
	default:
		if (is_shapeless(character))
			cmn_buffer_printf(html, "U+%04X", (unsigned int)character);
		else
			cmn_buffer_append(html, bytes, len);
	}
}

void report_escape(struct cmn_buffer *html, struct cmn_view text, size_t max)
{
	size_t len;

	/* Values are UTF-8 (json.h). */
	while ((len = cmn_json_utf8_len(text))) {
		if (max-- == 0) {
			cmn_buffer_append_text(html, "…");
			return;
		}
		append_character(html, decode(text, len), text.data, len);
		text = (struct cmn_view){ (const uint8_t *)text.data + len, text.len - len };
	}
}
