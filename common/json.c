/* SPDX-License-Identifier: MIT */
/* json: escaping, and the UTF-8 check that it rests on. */
#include "common/json.h"

size_t cmn_json_utf8_len(struct cmn_view view)
{
	const uint8_t *text = view.data;
	uint8_t low = 0x80, high = 0xbf;
	size_t len;

	if (view.len == 0)
		return 0;
	if (text[0] < 0x80)
		return 1;
	if (text[0] < 0xc2 || text[0] > 0xf4)
		return 0;
	len = text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;
	if (len > view.len)
		return 0;
	/* Overlong forms, surrogates and what is past U+10FFFF show in the second byte. */
	if (text[0] == 0xe0)
		low = 0xa0;
	else if (text[0] == 0xed)
		high = 0x9f;
	else if (text[0] == 0xf0)
		low = 0x90;
	else if (text[0] == 0xf4)
		high = 0x8f;
	if (text[1] < low || text[1] > high)
		return 0;
	for (size_t i = 2; i < len; i++) {
		if (text[i] < 0x80 || text[i] > 0xbf)
			return 0;
	}
	return len;
}

static void append_ascii(struct cmn_buffer *buf, uint8_t c)
{
	switch (c) {
	case '"':
		cmn_buffer_append_text(buf, "\\\"");
		break;
	case '\\':
		cmn_buffer_append_text(buf, "\\\\");
		break;
	case '\n':
		cmn_buffer_append_text(buf, "\\n");
		break;
	case '\t':
		cmn_buffer_append_text(buf, "\\t");
		break;
	default:
		if (c < 0x20 || c == 0x7f)
			cmn_buffer_printf(buf, "\\u%04x", c);
		else
			cmn_buffer_append_u8(buf, c);
	}
}

void cmn_json_append_string(struct cmn_buffer *buf, struct cmn_view text)
{
	const uint8_t *bytes = text.data;
	size_t at = 0;

	cmn_buffer_append_u8(buf, '"');
	while (at < text.len) {
		size_t len = cmn_json_utf8_len((struct cmn_view){ bytes + at, text.len - at });

		if (len == 0)
			cmn_buffer_append_text(buf, "\\ufffd");
		else if (len == 1)
			append_ascii(buf, bytes[at]);
		else
			cmn_buffer_append(buf, bytes + at, len);
		at += len ? len : 1;
	}
	cmn_buffer_append_u8(buf, '"');
}

bool cmn_json_is_text(struct cmn_view text)
{
	const uint8_t *bytes = text.data;
	size_t at = 0;

	while (at < text.len) {
		size_t len = cmn_json_utf8_len((struct cmn_view){ bytes + at, text.len - at });

		if (len == 0)
			return false;
		if (len == 1 && (bytes[at] < 0x20 || bytes[at] == 0x7f) && bytes[at] != '\t' &&
		    bytes[at] != '\n' && bytes[at] != '\r')
			return false;
		at += len;
	}
	return true;
}
