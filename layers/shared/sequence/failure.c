/* SPDX-License-Identifier: MIT */
/* failure: finds the line that matters in a build log, in one line for people. Pure. */
#include "layers/shared/sequence/sequence.h"

#include <ctype.h>
#include <string.h>

#include "common/printable.h"

/* For one line; compilers quote long names. */
#define MAX_LINE 240
/* Where the compiler says that the error is, as "file:12:3"; more than this is something else. */
#define MAX_PLACE 80

static const char error[] = "error:";

/* The next line of *rest, without blanks around it, which *rest is moved behind. */
static struct cmn_view next_line(struct cmn_view *rest)
{
	const char *at = rest->data, *end = memchr(at, '\n', rest->len);
	size_t len = end ? (size_t)(end - at) : rest->len;

	rest->data = at + len + (end != NULL);
	rest->len -= len + (end != NULL);
	for (; len && isspace((unsigned char)*at); at++)
		len--;
	while (len && isspace((unsigned char)at[len - 1]))
		len--;
	return (struct cmn_view){ at, len };
}

/* Bytes for a terminator and behind are no text. */
static struct cmn_view text_of(struct cmn_view log)
{
	return (struct cmn_view){ log.data, log.len ? strnlen(log.data, log.len) : 0 };
}

static struct cmn_view find_line(struct cmn_view log)
{
	struct cmn_view rest = text_of(log), line, first = { 0 };

	while (rest.len) {
		line = next_line(&rest);
		if (memmem(line.data, line.len, error, strlen(error)))
			return line;
		if (!first.len)
			first = line;
	}
	return first;
}

static void append_clean(struct cmn_buffer *text, struct cmn_view view)
{
	cmn_printable_append(text, view, MAX_LINE, ' ');
}

char *drv_failure_text(const char *code, struct cmn_view log)
{
	struct cmn_view line = find_line(log), place = { line.data, 0 };
	struct cmn_buffer text = { 0 };
	const char *found = line.len ? memmem(line.data, line.len, error, strlen(error)) : NULL;

	cmn_buffer_append_text(&text, code);
	if (line.len)
		cmn_buffer_append_text(&text, ": ");
	/* What went wrong before where. */
	if (found) {
		place.len = (size_t)(found - (const char *)line.data);
		line = (struct cmn_view){ found, line.len - place.len };
	}
	append_clean(&text, line);
	while (place.len && strchr(": ", ((const char *)place.data)[place.len - 1]))
		place.len--;
	if (place.len && place.len <= MAX_PLACE) {
		cmn_buffer_append_text(&text, " (");
		append_clean(&text, place);
		cmn_buffer_append_u8(&text, ')');
	}
	return cmn_buffer_take_string(&text);
}
