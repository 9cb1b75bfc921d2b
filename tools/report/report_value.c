/* SPDX-License-Identifier: MIT */
/* report_value: each a text, and what it was made of; escaped text. */
#include "tools/report/report_page.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/printable.h"
#include "tools/text.h"

#define SECOND_NS UINT64_C(1000000000)
#define DAY_SECONDS 86400

static struct json_object *add(struct json_object *object, const char *name, uint64_t value,
			       const char *text)
{
	struct json_object *added = json_add_object(object, name);

	json_add_number(added, "value", value);
	json_add_text(added, "text", text);
	return added;
}

struct json_object *report_value_number(struct json_object *object, const char *name,
					uint64_t value)
{
	static const char gap[] = "\xe2\x80\xaf";	/* narrow, and no line ends there */
	char digits[TEXT_SIZE], text[4 * TEXT_SIZE];
	size_t count = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, value), used = 0;

	for (size_t i = 0; i < count; i++) {
		if (i && (count - i) % 3 == 0) {
			memcpy(text + used, gap, sizeof(gap) - 1);
			used += sizeof(gap) - 1;
		}
		text[used++] = digits[i];
	}
	text[used] = '\0';
	return add(object, name, value, text);
}

struct json_object *report_value_bytes(struct json_object *object, const char *name, uint64_t value)
{
	char text[TEXT_SIZE];

	return add(object, name, value, text_bytes(value, text));
}

struct json_object *report_value_time(struct json_object *object, const char *name, uint64_t value)
{
	char text[TEXT_SIZE];

	return add(object, name, value, value ? text_time(value, text) : "0");
}

void report_value_bar(struct json_object *object, const char *colour, uint64_t part, uint64_t whole)
{
	struct json_object *bar = json_add_object(object, "bar");
	double width = whole ? 100 * (double)part / (double)whole : 0;
	char text[TEXT_SIZE];

	(void)snprintf(text, sizeof(text), "%.2f", width > 100 ? 100 : width);	/* it fits */
	json_add_text(bar, "class", colour);
	json_add_text(bar, "width", text);
}

/* UTC; false: it is no time that a calendar has. */
static bool break_down(uint64_t seconds, struct tm *ret)
{
	const uint64_t last = UINT64_C(253402300799);	/* of the year 9999 */
	time_t time = (time_t)seconds;

	return seconds <= last && gmtime_r(&time, ret);
}

const char *report_value_date(uint64_t day, char ret[REPORT_DATE_SIZE])
{
	struct tm tm;

	if (day > UINT64_MAX / DAY_SECONDS || !break_down(day * DAY_SECONDS, &tm) ||
	    !strftime(ret, REPORT_DATE_SIZE, "%Y-%m-%d", &tm))
		(void)snprintf(ret, REPORT_DATE_SIZE, "?");
	return ret;
}

struct json_object *report_value_moment(struct json_object *object, const char *name,
					uint64_t value)
{
	struct json_object *added = json_add_object(object, name);
	char machine[REPORT_DATE_SIZE], text[REPORT_DATE_SIZE];
	struct tm tm;

	if (break_down(value / SECOND_NS, &tm) &&
	    strftime(machine, sizeof(machine), "%Y-%m-%dT%H:%MZ", &tm) &&
	    strftime(text, sizeof(text), "%Y-%m-%d %H:%M", &tm)) {
		json_add_text(added, "machine", machine);
		json_add_text(added, "text", text);
	}
	return added;
}

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

/*
 * Text of anybody's making as it stands in the page, in an element or a quoted
 * attribute: whatever it is, it stays text in its element and on its line, and shows what it has.
 * Markup is escaped; controls, marks of direction, characters without a shape and what is no
 * character are written as U+0000. Of more than max characters the rest is "…".
 */
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
