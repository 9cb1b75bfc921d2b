/* SPDX-License-Identifier: MIT */
/* arguments: getopt_long, with a table that is made of the verb's row. */
#include "tools/arguments.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/memory.h"
#include "tools/suggest.h"
#include "tools/tool.h"

#define MAX_OPTIONS 16	/* of a verb, with help */

static const struct verb_option *find_option(const struct verb *verb, const char *name)
{
	for (const struct verb_option *option = verb->options; option->name; option++) {
		if (strcmp(option->name, name) == 0)
			return option;
	}
	abort();	/* the verb asks for what its row does not have: each test of it shows that */
}

/* false: complained about. */
static bool check_number(const struct verb_option *option, const char *text)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	/* strtoul takes blanks and signs. */
	if (!errno && !*end && text[0] >= '0' && text[0] <= '9' && value && value <= option->most)
		return true;
	tool_complain("--%s: \"%s\" is not a number from 1 to %lu", option->name, text,
		      option->most);
	return false;
}

static bool is_one_of(const char *words, const char *text)
{
	size_t len;

	words += *words == '[';
	do {
		len = strcspn(words, " ]");
		if (strlen(text) == len && strncmp(words, text, len) == 0)
			return true;
		words += len + 1;
	} while (words[-1] == ' ');
	return false;
}

/* false: complained about. */
static bool check_word(const struct verb_option *option, const char *text)
{
	if (is_one_of(option->words, text))
		return true;
	tool_complain("--%s: \"%s\" is none of: %s", option->name, text, option->words);
	return false;
}

/* The exit code, with a complaint unless it is TOOL_OK. */
static int take(struct arguments *arguments, const struct verb_option *option, const char *value)
{
	if ((option->kind == OPTION_NUMBER && !check_number(option, value)) ||
	    (option->kind == OPTION_WORD && !check_word(option, value)))
		return TOOL_USAGE;
	if (option->variable && !tool_set_path(option->variable, value))
		return arguments->verb->command == COMMAND_FIRST ? TOOL_CANNOT_RUN : TOOL_USAGE;
	arguments->options[arguments->option_count++] = (struct argument){ option, value };
	return TOOL_OK;
}

/* Options up to argc; operands are left from optind on. */
static bool parse_options(struct arguments *arguments, int argc, char **argv, int *ret_code)
{
	const struct verb *verb = arguments->verb;
	struct option known[MAX_OPTIONS] = { { "help", no_argument, NULL, 'h' } };
	char letters[2 * MAX_OPTIONS + 2] = "h";	/* zeros behind it */
	char *end = letters + 1;
	int found;

	if (verb->command == COMMAND_FIRST)
		end = stpcpy(letters, "+h");
	for (int i = 0; verb->options[i].name; i++) {
		known[i + 1] = (struct option){
			verb->options[i].name,
			verb->options[i].argument ? required_argument : no_argument, NULL, 256 + i,
		};
		if (!verb->options[i].letter)
			continue;
		*end++ = verb->options[i].letter;
		*end++ = ':';	/* each takes a value */
	}
	while ((found = getopt_long(argc, argv, letters, known, NULL)) != -1) {
		for (int i = 0; found < 256 && found != 'h' && verb->options[i].name; i++) {
			if (verb->options[i].letter == found)
				found = 256 + i;
		}
		if (found == 'h')
			*ret_code = help_print(verb);
		else if (found == '?')
			*ret_code = TOOL_USAGE;	/* getopt_long has said what is wrong */
		else
			*ret_code = take(arguments, &verb->options[found - 256], optarg);
		if (found == 'h' || *ret_code != TOOL_OK)
			return false;
	}
	return true;
}

/* given NULL: nothing. The exit code. */
static int complain_of_action(const struct verb *verb, const char *given)
{
	struct similar similar = { 0 };
	const char *words = verb->actions + (verb->actions[0] == '[');

	for (const char *at = words; given && *at; at += strspn(at, " ]")) {
		char word[32];
		size_t len = strcspn(at, " ]");

		(void)snprintf(word, sizeof(word), "%.*s", (int)len, at);	/* they are short */
		similar_offer(&similar, given, word);
		if (similar.name == word)
			similar.name = at;
		at += len;
	}
	if (similar.name)
		tool_complain("%s: \"%s\": did you mean %.*s?", verb->name, given,
			      (int)strcspn(similar.name, " ]"), similar.name);
	else
		tool_complain("%s: one of these comes first: %.*s (try %s --help)", verb->name,
			      (int)strcspn(words, "]"), words, verb->full_name);
	return TOOL_USAGE;
}

/* What is no option: a command, or operands. The exit code. */
static int take_operands(struct arguments *arguments, int argc, char **argv)
{
	const struct verb *verb = arguments->verb;
	int most = verb->operand ? 1 + (strstr(verb->operand, " [") != NULL) : 0;

	if (verb->actions && (verb->actions[0] != '[' || optind < argc)) {
		if (optind == argc || !is_one_of(verb->actions, argv[optind]))
			return complain_of_action(verb, argv[optind]);
		arguments->action = argv[optind++];
	}
	if (verb->operand && verb->operand[0] != '[' && optind == argc) {
		tool_complain("%s: %.*s is missing (try %s --help)", verb->name,
			      (int)strcspn(verb->operand, " "), verb->operand, verb->full_name);
		return TOOL_USAGE;
	}
	if (verb->command == COMMAND_FIRST) {
		arguments->command = argv + optind;
		return TOOL_OK;
	}
	if (argc - optind > most) {
		tool_complain("unexpected argument \"%s\" (try %s --help)", argv[optind + most],
			      verb->full_name);
		return TOOL_USAGE;
	}
	arguments->operand = optind < argc ? argv[optind] : NULL;
	arguments->second = optind + 1 < argc ? argv[optind + 1] : NULL;
	return TOOL_OK;
}

bool arguments_parse(const struct verb *verb, int argc, char **argv, struct arguments *ret,
		     int *ret_code)
{
	int own = argc;	/* arguments before a command's */

	*ret = (struct arguments){ .verb = verb, .options = memory_new((size_t)argc, sizeof(*ret->options)) };
	if (verb->command == COMMAND_AFTER_DASHES) {
		for (own = 1; own < argc && strcmp(argv[own], "--") != 0;)
			own++;
		if (own + 1 < argc)
			ret->command = argv + own + 1;
	}
	if (!parse_options(ret, own, argv, ret_code))
		return false;
	*ret_code = take_operands(ret, own, argv);
	return *ret_code == TOOL_OK;
}

const char *arguments_next(const struct arguments *arguments, const char *name, size_t *at)
{
	const struct verb_option *option = find_option(arguments->verb, name);

	while (*at < arguments->option_count) {
		const struct argument *one = &arguments->options[(*at)++];

		if (one->option == option)
			return one->value;
	}
	return NULL;
}

static const struct argument *find_last(const struct arguments *arguments, const char *name)
{
	const struct verb_option *option = find_option(arguments->verb, name);

	for (size_t i = arguments->option_count; i > 0; i--) {
		if (arguments->options[i - 1].option == option)
			return &arguments->options[i - 1];
	}
	return NULL;
}

bool arguments_flag(const struct arguments *arguments, const char *name)
{
	return find_last(arguments, name) != NULL;
}

const char *arguments_text(const struct arguments *arguments, const char *name)
{
	const struct argument *last = find_last(arguments, name);

	return last ? last->value : NULL;
}

unsigned long arguments_number(const struct arguments *arguments, const char *name,
			       unsigned long otherwise)
{
	const char *text = arguments_text(arguments, name);

	return text ? strtoul(text, NULL, 10) : otherwise;	/* it was checked */
}
