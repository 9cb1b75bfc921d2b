/* SPDX-License-Identifier: MIT */
/* report_text: UTF-8 taken apart, and numbers as people read them. */
#include "tools/report/report_text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/json.h"
#include "tools/text.h"

#define SECOND_NS UINT64_C(1000000000)
#define DAY_SECONDS 86400
#define REPLACEMENT "\xef\xbf\xbd"

/* The length of the character at the start, 0: there is none; *ret is it. */
static size_t next_character(struct cmn_view text, uint32_t *ret)
{
	const uint8_t *at = text.data;
	size_t len = at[0] < 0x80 ? 1 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
	uint32_t character = len == 1 ? at[0] : at[0] & (0x7fu >> len);

	/* What JSON takes for text is well-formed; it refuses controls, which are characters here. */
	if (len > text.len || (len > 1 && !cmn_json_is_text((struct cmn_view){ at, len })))
		return 0;
	for (size_t i = 1; i < len; i++)
		character = character << 6 | (at[i] & 0x3f);
	*ret = character;
	return len;
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
	while (text.len) {
		uint32_t character = 0;
		size_t len;

		if (max-- == 0) {
			cmn_buffer_append_text(html, "…");
			return;
		}
		len = next_character(text, &character);
		if (len)
			append_character(html, character, text.data, len);
		else
			cmn_buffer_append_text(html, REPLACEMENT);
		len += !len;
		text = (struct cmn_view){ (const uint8_t *)text.data + len, text.len - len };
	}
}

void report_name(struct cmn_buffer *html, const char *text, size_t max)
{
	cmn_buffer_append_text(html, "<bdi>");
	report_escape(html, cmn_view_of(text && *text ? text : "-"), max);
	cmn_buffer_append_text(html, "</bdi>");
}

static void append_data(struct cmn_buffer *html, uint64_t value, const char *text)
{
	cmn_buffer_printf(html, "<data value=\"%" PRIu64 "\">", value);
	cmn_buffer_append_text(html, text);
	cmn_buffer_append_text(html, "</data>");
}

void report_number(struct cmn_buffer *html, uint64_t number)
{
	static const char gap[] = "\xe2\x80\xaf";	/* narrow, and no line ends there */
	char digits[TEXT_SIZE], text[4 * TEXT_SIZE];
	size_t count = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, number), used = 0;

	for (size_t i = 0; i < count; i++) {
		if (i && (count - i) % 3 == 0) {
			memcpy(text + used, gap, sizeof(gap) - 1);
			used += sizeof(gap) - 1;
		}
		text[used++] = digits[i];
	}
	text[used] = '\0';
	append_data(html, number, text);
}

void report_bytes(struct cmn_buffer *html, uint64_t bytes)
{
	char text[TEXT_SIZE];

	append_data(html, bytes, text_bytes(bytes, text));
}

void report_time(struct cmn_buffer *html, uint64_t ns)
{
	char text[TEXT_SIZE];

	append_data(html, ns, ns ? text_time(ns, text) : "0");
}

void report_share(struct cmn_buffer *html, uint64_t part, uint64_t whole)
{
	char text[TEXT_SIZE];

	cmn_buffer_append_text(html, text_share(part, whole, text));
}

/* UTC; false: it is no time that a calendar has. */
static bool break_down(uint64_t seconds, struct tm *ret)
{
	const uint64_t last = UINT64_C(253402300799);	/* of the year 9999 */
	time_t time = (time_t)seconds;

	return seconds <= last && gmtime_r(&time, ret);
}

const char *report_date(uint64_t day, char ret[REPORT_DATE_SIZE])
{
	struct tm tm;

	if (day > UINT64_MAX / DAY_SECONDS || !break_down(day * DAY_SECONDS, &tm) ||
	    !strftime(ret, REPORT_DATE_SIZE, "%Y-%m-%d", &tm))
		(void)snprintf(ret, REPORT_DATE_SIZE, "?");
	return ret;
}

void report_moment(struct cmn_buffer *html, uint64_t ns)
{
	char machine[REPORT_DATE_SIZE], text[REPORT_DATE_SIZE];
	struct tm tm;

	if (!break_down(ns / SECOND_NS, &tm) ||
	    !strftime(machine, sizeof(machine), "%Y-%m-%dT%H:%MZ", &tm) ||
	    !strftime(text, sizeof(text), "%Y-%m-%d %H:%M", &tm))
		cmn_buffer_append_u8(html, '?');
	else
		cmn_buffer_printf(html, "<time datetime=\"%s\">%s</time>", machine, text);
}
