/* SPDX-License-Identifier: MIT */
/*
 * report_escape: text of anybody's making as it stands in the page, in an element or a quoted
 * attribute: whatever it is, it stays text in its element and on its line, and shows what it has.
 * Markup is escaped; controls, marks of direction, characters without a shape and what is no
 * character are written as U+0000. Of more than max characters the rest is "…".
 */
#include <stdbool.h>

#include "common/printable.h"
#include "tools/report/report_page.h"

static void append_character(struct cmn_buffer *html, struct cmn_character next, const void *bytes)
{
	switch (next.number) {
	case '&':
	case '<':
	case '>':
	case '"':
	case '\'':
		cmn_buffer_printf(html, "&#%u;", (unsigned int)next.number);
		break;
	case '\t':
	case '\n':
	case '\r':
		cmn_buffer_append_u8(html, ' ');
		break;
	default:
		if (next.shown)
			cmn_buffer_append(html, bytes, next.len);
		else
			cmn_buffer_printf(html, "U+%04X", (unsigned int)next.number);
	}
}

void report_escape(struct cmn_buffer *html, struct cmn_view text, size_t max)
{
	struct cmn_character next;

	while ((next = cmn_printable_next(text)).len) {
		if (max-- == 0) {
			cmn_buffer_append_text(html, "…");
			return;
		}
		append_character(html, next, text.data);
		text = (struct cmn_view){ (const uint8_t *)text.data + next.len, text.len - next.len };
	}
}
