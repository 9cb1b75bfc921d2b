/* SPDX-License-Identifier: MIT */
/* config_edit: finds the place in the text, then puts the new one together around it. */
#include "tools/config/config_edit.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cachecore/config_line.h"
#include "tools/memory.h"

/* Offsets in the text. */
struct place {
	size_t line, end;	/* of the setting's last line, without its "\n"; SIZE_MAX: there is none */
	size_t value, value_end;	/* of its value */
	size_t behind;		/* where a new line goes; SIZE_MAX: the section is not there */
	bool inside;		/* of the part that is edited */
};

static void look_at_line(const struct config_edit *edit, const char *copy,
			 const struct cc_config_line *line, size_t start, size_t next,
			 struct place *place)
{
	if (line->kind == CC_CONFIG_LINE_SECTION || line->kind == CC_CONFIG_LINE_BAD_SECTION) {
		/* For all, and nothing was there yet: before the first section. */
		if (!edit->program && place->behind == SIZE_MAX)
			place->behind = 0;
		place->inside = edit->program && line->kind == CC_CONFIG_LINE_SECTION &&
				strcmp(line->name, edit->program) == 0;
		if (place->inside)
			place->behind = next;
	}
	if (!place->inside || line->kind != CC_CONFIG_LINE_SETTING)
		return;
	place->behind = next;
	if (strcasecmp(line->name, edit->name) != 0)
		return;
	place->line = start;
	place->value = start + (size_t)(line->value - copy);
	place->value_end = place->value + strlen(line->value);
}

static void find_place(struct cmn_view text, const struct config_edit *edit, struct place *ret)
{
	const char *data = text.data;
	size_t next;

	*ret = (struct place){ .line = SIZE_MAX, .behind = SIZE_MAX, .inside = !edit->program };
	for (size_t start = 0; start < text.len; start = next) {
		const char *stop = memchr(data + start, '\n', text.len - start);
		size_t end = stop ? (size_t)(stop - data) : text.len, last = ret->line;
		char *copy = memory_copy_view((struct cmn_view){ data + start, end - start });
		struct cc_config_line line;

		next = stop ? end + 1 : end;
		cc_config_line_split(copy, &line);
		look_at_line(edit, copy, &line, start, next, ret);
		free(copy);
		if (ret->line != last)
			ret->end = end;
	}
	if (!edit->program && ret->behind == SIZE_MAX)
		ret->behind = text.len;
}

static void append_part(struct cmn_view text, size_t from, size_t to, struct cmn_buffer *ret)
{
	if (to > from)
		cmn_buffer_append(ret, (const char *)text.data + from, to - from);
}

/* Its line with another value: what is before and behind that stays, a comment too. */
static void append_changed(struct cmn_view text, const struct place *place, const char *value,
			   struct cmn_buffer *ret)
{
	append_part(text, 0, place->value, ret);
	/* No value was there: its place is right behind "=". */
	cmn_buffer_printf(ret, "%s%s", place->value == place->value_end ? " " : "", value);
	append_part(text, place->value_end, text.len, ret);
}

static void append_new(struct cmn_view text, const struct config_edit *edit, size_t behind,
		       struct cmn_buffer *ret)
{
	size_t at = behind < text.len ? behind : text.len;

	append_part(text, 0, at, ret);
	if (at && ((const char *)text.data)[at - 1] != '\n')
		cmn_buffer_append_u8(ret, '\n');
	if (behind == SIZE_MAX)
		cmn_buffer_printf(ret, "%s[program %s]\n", at ? "\n" : "", edit->program);
	cmn_buffer_printf(ret, "%s = %s\n", edit->name, edit->value);
	append_part(text, at, text.len, ret);
}

/* Without any line of the setting. */
static void remove_all(struct cmn_view text, const struct config_edit *edit, struct place *place,
		       struct cmn_buffer *ret)
{
	struct cmn_buffer less = { 0 };

	cmn_buffer_append(ret, text.data, text.len);
	while (!ret->failed && place->line != SIZE_MAX) {
		append_part(cmn_buffer_view(ret), 0, place->line, &less);
		append_part(cmn_buffer_view(ret), place->end + 1, ret->len, &less);
		cmn_buffer_release(ret);
		*ret = less;
		less = (struct cmn_buffer){ 0 };
		find_place(cmn_buffer_view(ret), edit, place);
	}
}

bool config_edit(struct cmn_view text, const struct config_edit *edit, struct cmn_buffer *ret)
{
	struct place place;

	find_place(text, edit, &place);
	if (!edit->value && place.line == SIZE_MAX)
		return false;
	if (!edit->value)
		remove_all(text, edit, &place, ret);
	else if (place.line != SIZE_MAX)
		append_changed(text, &place, edit->value, ret);
	else
		append_new(text, edit, place.behind, ret);
	if (ret->failed)
		memory_end();
	return true;
}

/* Whether a line is read as that, and as nothing more. Takes the line. */
static bool reads_as(char *line, enum cc_config_line_kind kind, const char *name, const char *value)
{
	struct cc_config_line split;
	bool same = false;

	if (!strchr(line, '\n')) {
		cc_config_line_split(line, &split);
		same = split.kind == kind && strcmp(split.name, name) == 0 &&
		       (!value || strcmp(split.value, value) == 0);
	}
	free(line);
	return same;
}

bool config_edit_fits(const char *name, const char *value)
{
	return reads_as(memory_printf("%s = %s", name, value), CC_CONFIG_LINE_SETTING, name, value);
}

bool config_edit_names_program(const char *name)
{
	return reads_as(memory_printf("[program %s]", name), CC_CONFIG_LINE_SECTION, name, NULL);
}
