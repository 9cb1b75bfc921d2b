/* SPDX-License-Identifier: MIT */
/* config_line: comments, blanks, sections and settings. */
#include "cachecore/config_line.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

/* Cuts blanks at both ends, in place. */
static char *trim(char *text)
{
	size_t len;

	while (isspace((unsigned char)*text))
		text++;
	len = strlen(text);
	while (len && isspace((unsigned char)text[len - 1]))
		text[--len] = '\0';
	return text;
}

/* A comment starts with '#' at the line's start or after a blank: paths may contain one. */
static void cut_comment(char *line)
{
	for (char *at = line; *at; at++) {
		if (*at == '#' && (at == line || isspace((unsigned char)at[-1]))) {
			*at = '\0';
			return;
		}
	}
}

/* The program of "[program NAME]"; NULL: it is something else. A name with a slash would never be one. */
static char *section_program(char *text)
{
	static const char word[] = "program";
	size_t len = strlen(text);
	char *name;

	if (text[len - 1] != ']' || strncmp(text + 1, word, sizeof(word) - 1) != 0 ||
	    !isspace((unsigned char)text[sizeof(word)]))
		return NULL;
	text[len - 1] = '\0';
	name = trim(text + sizeof(word));
	if (*name && !strchr(name, '/'))
		return name;
	text[len - 1] = ']';	/* for the message, as far as it still is what it was */
	return NULL;
}

void cc_config_line_split(char *line, struct cc_config_line *ret)
{
	char *equals, *name;

	cut_comment(line);
	name = trim(line);
	*ret = (struct cc_config_line){ .kind = CC_CONFIG_LINE_EMPTY, .name = name };
	if (!*name)
		return;
	if (*name == '[') {
		char *program = section_program(name);

		ret->kind = program ? CC_CONFIG_LINE_SECTION : CC_CONFIG_LINE_BAD_SECTION;
		ret->name = program ? program : name;
		return;
	}
	equals = strchr(name, '=');
	ret->kind = equals ? CC_CONFIG_LINE_SETTING : CC_CONFIG_LINE_BAD;
	if (!equals)
		return;
	*equals = '\0';
	ret->name = trim(name);
	ret->value = trim(equals + 1);
}
