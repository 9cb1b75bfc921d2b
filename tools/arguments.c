/* SPDX-License-Identifier: MIT */
/*
 * arguments: getopt_long, with a table that is made of the verb's row; that row as text of at most 80 columns;
 * the list of all fits a screen. What was meant: the distance of Damerau and Levenshtein (optimal string
 * alignment), in three rows; habits, one row an option, of which docs/COMPARISON.md has the same.
 */
#include "tools/arguments.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/bytes.h"
#include "tools/memory.h"
#include "tools/text.h"
#include "tools/tool.h"

#define MAX_LEN 40	/* of names and words; a longer one is like nothing */
#define MAX_DISTANCE 3

static size_t least(size_t a, size_t b, size_t c)
{
	size_t ab = a < b ? a : b;

	return ab < c ? ab : c;
}

static size_t distance_of(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t rows[3][MAX_LEN + 1] = { { 0 } };

	for (size_t j = 0; j <= b_len; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		const size_t *last = rows[(i - 1) % 3], *before = rows[(i + 1) % 3];
		size_t *row = rows[i % 3];

		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			int one = tolower((unsigned char)a[i - 1]), other = tolower((unsigned char)b[j - 1]);

			row[j] = least(last[j] + 1, row[j - 1] + 1, last[j - 1] + (one != other));
			if (i > 1 && j > 1 && tolower((unsigned char)a[i - 2]) == other &&
			    one == tolower((unsigned char)b[j - 2]) && before[j - 2] + 1 < row[j])
				row[j] = before[j - 2] + 1;
		}
	}
	return rows[a_len % 3][b_len];
}

void similar_offer(struct similar *best, const char *word, const char *name)
{
	size_t word_len = strlen(word), name_len = strlen(name), distance;
	size_t most = (word_len + 2) / 3 < MAX_DISTANCE ? (word_len + 2) / 3 : MAX_DISTANCE;

	if (!word_len || word_len > MAX_LEN || name_len > MAX_LEN)
		return;
	distance = distance_of(word, word_len, name, name_len);
	if (word_len > 1 && strncmp(word, name, word_len) == 0)
		distance = 1;
	if (distance <= most && distance < word_len && (!best->name || distance < best->distance))
		*best = (struct similar){ name, distance };
}

static const struct {
	const char *options;	/* with a blank between them */
	const char *meant;
} habits[] = {
	{ "-s --show-stats -sv", "did you mean ckcache stats?" },
	{ "-z --zero-stats", "did you mean ckcache stats --zero?" },
	{ "--print-stats --format --stats-format", "did you mean ckcache stats --json?" },
	{ "--show-adv-stats", "did you mean ckcache stats --verbose?" },
	{ "-v --verbose -vv -svv", "did you mean ckcache stats --verbose?" },
	{ "-C --clear", "did you mean ckcache clear?" },
	{ "-c --cleanup", "did you mean ckcache prune?" },
	{ "--evict-older-than", "did you mean ckcache prune --older-than 30d?" },
	{ "--evict-namespace", "did you mean ckcache clear --program NAME?" },
	{ "--trim-dir --trim-max-size --trim-method --trim-recompress", "did you mean ckcache prune --remote --max-size SIZE?" },
	{ "-M --max-size", "did you mean ckcache config set max_size SIZE?" },
	{ "-F --max-files", "there is no limit of the number of files; ckcache config set max_size SIZE limits the size" },
	{ "-p --show-config", "did you mean ckcache config?" },
	{ "-k --get-config", "did you mean ckcache config get KEY?" },
	{ "-o --set-config", "did you mean ckcache config set KEY VALUE?" },
	{ "-X --recompress", "did you mean ckcache recompress LEVEL?" },
	{ "-x --show-compression", "did you mean ckcache recompress --dry-run?" },
	{ "-d --dir", "verbs that use the cache have --dir, as in ckcache stats --dir DIR" },
	{ "--dry-run", "prune, clear and recompress have it, as in ckcache clear --dry-run" },
	{ "--config-path", "CKCACHE_... variables win over all files; see ckcache config" },
	{ "--inspect --extract-result", "did you mean ckcache show ENTRY?" },
	{ "--hash-file --checksum-file", "ckcache show ENTRY prints the hash of each field of a key" },
	{ "--show-log-stats --print-log-stats", "did you mean ckcache run --summary?" },
	{ "--print-version", "did you mean ckcache --version?" },
	{ "--start-server --stop-server --stop-storage-helpers", "no server has to be started or stopped" },
	{ "--dist-status", "did you mean ckcache stats? It shows the remote tier too" },
	{ "--dist-auth --package-toolchain", "compiles are not distributed: a driver compiles inside the program that asks" },
	{ "--threads", "replay and recipes have --jobs, as in ckcache replay --jobs N" },
};

static bool has(const char *options, const char *option, size_t len)
{
	for (const char *at = options; *at; at += strspn(at, " ")) {
		size_t one = strcspn(at, " ");

		if (one == len && strncmp(at, option, len) == 0)
			return true;
		at += one;
	}
	return false;
}

const char *habit_of(const char *option)
{
	size_t len = strcspn(option, "=");

	for (size_t i = 0; i < sizeof(habits) / sizeof(habits[0]); i++) {
		if (has(habits[i].options, option, len))
			return habits[i].meant;
	}
	return NULL;
}

#define MAX_OPTIONS 16	/* of a verb, with help */

static const struct verb_option *find_option(const struct verb *verb, const char *name)
{
	for (const struct verb_option *option = verb->options; option->name; option++) {
		if (strcmp(option->name, name) == 0)
			return option;
	}
	abort();	/* the verb asks for what its row does not have: each test of it shows that */
}

static void check_number(const struct verb_option *option, const char *text)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	/* strtoul takes blanks and signs. */
	if (errno || *end || text[0] < '0' || text[0] > '9' || !value || value > option->most)
		tool_refuse("--%s: \"%s\" is not a number from 1 to %lu", option->name, text, option->most);
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

static void take(struct arguments *arguments, const struct verb_option *option, const char *value)
{
	if (option->kind == OPTION_NUMBER)
		check_number(option, value);
	if (option->kind == OPTION_WORD && !is_one_of(option->words, value))
		tool_refuse("--%s: \"%s\" is none of: %s", option->name, value, option->words);
	if (option->variable && !tool_set_path(option->variable, value))
		tool_end(arguments->verb->command == COMMAND_FIRST ? TOOL_CANNOT_RUN : TOOL_USAGE);
	arguments->options[arguments->option_count++] = (struct argument){ option, value };
}

/* Options up to argc; operands are left from optind on. */
static void parse_options(struct arguments *arguments, int argc, char **argv)
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
			tool_end(help_print(verb));
		if (found == '?')
			tool_end(TOOL_USAGE);	/* getopt_long has said what is wrong */
		take(arguments, &verb->options[found - 256], optarg);
	}
}

/* given NULL: nothing. */
static _Noreturn void refuse_action(const struct verb *verb, const char *given)
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
		tool_refuse("%s: \"%s\": did you mean %.*s?", verb->name, given,
			    (int)strcspn(similar.name, " ]"), similar.name);
	tool_refuse("%s: one of these comes first: %.*s (try %s --help)", verb->name, (int)strcspn(words, "]"),
		    words, verb->full_name);
}

/* What is no option: a command, or operands. */
static void take_operands(struct arguments *arguments, int argc, char **argv)
{
	const struct verb *verb = arguments->verb;
	int most = verb->operand ? 1 + (strstr(verb->operand, " [") != NULL) : 0;

	if (verb->actions && (verb->actions[0] != '[' || optind < argc)) {
		if (optind == argc || !is_one_of(verb->actions, argv[optind]))
			refuse_action(verb, argv[optind]);
		arguments->action = argv[optind++];
	}
	if (verb->operand && verb->operand[0] != '[' && optind == argc)
		tool_refuse("%s: %.*s is missing (try %s --help)", verb->name,
			    (int)strcspn(verb->operand, " "), verb->operand, verb->full_name);
	if (verb->command == COMMAND_FIRST) {
		arguments->command = argv + optind;
		return;
	}
	if (argc - optind > most)
		tool_refuse("unexpected argument \"%s\" (try %s --help)", argv[optind + most], verb->full_name);
	arguments->operand = optind < argc ? argv[optind] : NULL;
	arguments->second = optind + 1 < argc ? argv[optind + 1] : NULL;
}

void arguments_parse(const struct verb *verb, int argc, char **argv, struct arguments *ret)
{
	int own = argc;	/* arguments before a command's */

	*ret = (struct arguments){ .verb = verb, .options = memory_new((size_t)argc, sizeof(*ret->options)) };
	if (verb->command == COMMAND_AFTER_DASHES) {
		for (own = 1; own < argc && strcmp(argv[own], "--") != 0;)
			own++;
		if (own + 1 < argc)
			ret->command = argv + own + 1;
	}
	parse_options(ret, own, argv);
	take_operands(ret, own, argv);
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
