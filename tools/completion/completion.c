/* SPDX-License-Identifier: MIT */
/* completion: the table of verbs as values for the templates beside this file. */
#include "tools/arguments.h"

#include <string.h>

#include "tools/json_output.h"
#include "tools/tool.h"

extern const char completion_bash[], completion_zsh[], completion_fish[];

/* For a text between single quotes; brackets and colons have a meaning in zsh's specifications. */
static void escape(struct cmn_buffer *ret, struct cmn_view text, size_t max)
{
	const char *at = text.data;

	for (size_t i = 0; i < text.len && i < max; i++) {
		if (at[i] == '\'')
			cmn_buffer_append_text(ret, "'\\'");
		else if (strchr("[]:\\", at[i]))
			cmn_buffer_append_u8(ret, '\\');
		cmn_buffer_append_u8(ret, at[i] == '\n' ? ' ' : (uint8_t)at[i]);
	}
}

/* The same for fish, to which nothing else has a meaning there. */
static void escape_for_fish(struct cmn_buffer *ret, struct cmn_view text, size_t max)
{
	const char *at = text.data;

	for (size_t i = 0; i < text.len && i < max; i++) {
		if (at[i] == '\'' || at[i] == '\\')
			cmn_buffer_append_u8(ret, '\\');
		cmn_buffer_append_u8(ret, at[i] == '\n' ? ' ' : (uint8_t)at[i]);
	}
}

static const struct shell {
	const char *name, *script;
	template_escape *escape;
} shells[] = {
	{ "bash", completion_bash, escape },
	{ "zsh", completion_zsh, escape },
	{ "fish", completion_fish, escape_for_fish },
};

static const struct shell *find_shell(const char *name)
{
	for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++) {
		if (strcmp(shells[i].name, name) == 0)
			return &shells[i];
	}
	return NULL;
}

static void add_option(struct json_object *array, const struct verb *verb,
		       const struct verb_option *option)
{
	struct json_object *object = json_add_object(array, NULL);
	const char letter[] = { option->letter, 0 };

	json_add_text(object, "verb", verb->name);
	json_add_text(object, "letter", option->letter ? letter : NULL);
	json_add_text(object, "name", option->name);
	json_add_text(object, "argument", option->argument);
	json_add_text(object, "text", option->text);
	json_add_text(object, "words", option->words);
	json_add_bool(object, "repeats", option->repeats);
	json_add_bool(object, "anything",
		      option->kind == OPTION_NUMBER || option->kind == OPTION_TEXT);
	json_add_bool(object, "file", option->kind == OPTION_FILE);
	json_add_bool(object, "directory", option->kind == OPTION_DIRECTORY);
}

/* Without the brackets of what may be left out. */
static void add_words(struct json_object *object, const char *name, const char *words)
{
	if (words && words[0] == '[')
		json_add_view(object, name, (struct cmn_view){ words + 1, strcspn(words + 1, "]") });
	else
		json_add_text(object, name, words);
}

static void add_verb(struct json_object *array, const struct verb *verb)
{
	static const char *const operands[] = { "FILE", "PROGRAM", "ENTRY" };
	struct json_object *object = json_add_object(array, NULL), *options;

	json_add_text(object, "name", verb->name);
	json_add_text(object, "summary", verb->summary);
	add_words(object, "actions", verb->actions);
	json_add_bool(object, "command_first", verb->command == COMMAND_FIRST);
	json_add_bool(object, "command_after_dashes", verb->command == COMMAND_AFTER_DASHES);
	for (size_t i = 0; i < sizeof(operands) / sizeof(operands[0]); i++)
		json_add_bool(object, operands[i], verb->operand &&
			      strstr(verb->operand, operands[i]));
	options = json_add_array(object, "options");
	for (const struct verb_option *option = verb->options; option->name; option++)
		add_option(options, verb, option);
}

int completion_print(int argc, char **argv)
{
	const struct shell *shell = argc == 2 ? find_shell(argv[1]) : NULL;
	struct json_object *root, *array;
	struct cmn_buffer text = { 0 };
	const struct verb *verb;

	if (!shell)
		return TOOL_USAGE;
	root = json_new_object();
	array = json_add_array(root, "verbs");
	for (unsigned int i = 0; (verb = verb_at(i)); i++)
		add_verb(array, verb);
	template_render(&text, shell->script, root, shell->escape);
	(void)json_object_put(root);
	return tool_print(&text);
}
