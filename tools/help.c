/* SPDX-License-Identifier: MIT */
/* help: the table of verbs as text of at most 80 columns; the list of all fits a screen. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/bytes.h"
#include "tools/terminal.h"
#include "tools/tool.h"
#include "tools/verbs.h"

enum {
	COLUMNS = 80,
	OPTION_COLUMN = 21,	/* where the text of an option begins */
};

static void append_title(struct cmn_buffer *text, const char *title)
{
	cmn_buffer_printf(text, "%s%s%s", terminal_bold(STDOUT_FILENO), title,
			  terminal_plain(STDOUT_FILENO));
}

/* The lines of lines, each after that many blanks; the first of them where the cursor stands. */
static void append_lines(struct cmn_buffer *text, const char *lines, int indent)
{
	while (*lines) {
		size_t len = strcspn(lines, "\n");

		cmn_buffer_append(text, lines, len);
		cmn_buffer_append_u8(text, '\n');
		lines += len + (lines[len] == '\n');
		if (*lines)
			cmn_buffer_printf(text, "%*s", indent, "");
	}
}

/* One word of the usage, in a new line if it does not fit. */
static void append_word(struct cmn_buffer *text, const char *word, size_t indent, size_t *column)
{
	if (*column + 1 + strlen(word) > COLUMNS) {
		cmn_buffer_printf(text, "\n%*s", (int)indent, "");
		*column = indent;
	}
	cmn_buffer_printf(text, " %s", word);
	*column += 1 + strlen(word);
}

static void append_usage(struct cmn_buffer *text, const struct verb *verb)
{
	size_t indent = strlen("Usage: ") + strlen(verb->full_name), column = indent;
	char word[80];

	append_title(text, "Usage:");
	cmn_buffer_printf(text, " %s", verb->full_name);
	for (const struct verb_option *option = verb->options; option->name; option++) {
		(void)snprintf(word, sizeof(word), "[--%s%s%s]%s", option->name,
			       option->argument ? " " : "",
			       option->argument ? option->argument : "",
			       option->repeats ? "..." : "");	/* names are short */
		append_word(text, word, indent, &column);
	}
	if (verb->command == COMMAND_FIRST)
		append_word(text, "[--]", indent, &column);
	if (verb->actions) {
		(void)snprintf(word, sizeof(word), "%s", verb->actions);	/* they are short */
		for (char *blank = word; (blank = strchr(blank, ' '));)
			*blank = '|';	/* "[get|set]" */
		append_word(text, word, indent, &column);
	}
	if (verb->operand)
		append_word(text, verb->operand, indent, &column);
	cmn_buffer_append_text(text, "\n\n");
}

static void append_option(struct cmn_buffer *text, const char *name, const char *argument,
			  const char *lines)
{
	size_t start = text->len;

	cmn_buffer_printf(text, "  --%s%s%s", name, argument ? " " : "", argument ? argument : "");
	do {
		cmn_buffer_append_u8(text, ' ');
	} while (!text->failed && text->len - start < OPTION_COLUMN);
	append_lines(text, lines, OPTION_COLUMN);
}

static void append_verb(struct cmn_buffer *text, const struct verb *verb)
{
	append_usage(text, verb);
	append_lines(text, verb->details, 0);
	cmn_buffer_append_u8(text, '\n');
	for (const struct verb_option *option = verb->options; option->name; option++)
		append_option(text, option->name, option->argument, option->text);
	append_option(text, "help", NULL, "this text");
	cmn_buffer_append_u8(text, '\n');
	append_title(text, "Examples:");
	cmn_buffer_append_text(text, "\n  ");
	append_lines(text, verb->examples, 2);
}

static void append_all(struct cmn_buffer *text)
{
	const struct verb *verb;

	append_title(text, "Usage:");
	cmn_buffer_append_text(text, " ckcache VERB [OPTION...] [ARGUMENT...]\n");
	for (unsigned int i = 0; (verb = verb_at(i)); i++)
		cmn_buffer_printf(text, "  %-10s %s\n", verb->name, verb->summary);
	cmn_buffer_append_text(text,
		"\nckcache VERB --help shows a verb's options. See also man ckcache, --version.\n"
		"Exit codes: 0 success, 1 failure, 2 wrong usage; ckcache run: the command's.\n");
}

int help_print(const struct verb *verb)
{
	struct cmn_buffer text = { 0 };

	if (verb)
		append_verb(&text, verb);
	else
		append_all(&text);
	return tool_print(&text);
}
