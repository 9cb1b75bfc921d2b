/* SPDX-License-Identifier: MIT */
/*
 * arguments: the one table of verbs and their options (verbs.c), which drives the parsing of arguments, the
 * help and the shells' completions; and what a verb was given, parsed and checked by its row.
 * tests/tools/command_line.py checks ckcache(1) and docs/JSON.md against the help.
 */
#ifndef TOOLS_ARGUMENTS_H
#define TOOLS_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * verbs: the one table of verbs and their options. It drives the parsing of arguments (arguments.h),
 * the help and the shells' completions. tests/tools/command_line.py checks ckcache(1) and
 * docs/JSON.md against the help.
 */
enum verb_option_kind {
	OPTION_FLAG,		/* takes no value */
	OPTION_NUMBER,		/* from 1 to most */
	OPTION_WORD,		/* one of words */
	OPTION_TEXT,		/* anything */
	OPTION_FILE,
	OPTION_DIRECTORY,
};

struct verb_option {
	const char *name;	/* without its dashes */
	enum verb_option_kind kind;
	const char *argument;	/* as "DIR"; NULL: a flag's */
	const char *text;	/* lines after the first are set under it */
	unsigned long most;
	const char *words;	/* with a blank between them */
	const char *variable;	/* of the environment: gets the value, as an absolute path */
	bool repeats;
	char letter;		/* its short form, as in "-o"; 0: none */
};

enum verb_command {
	COMMAND_NONE,
	COMMAND_FIRST,		/* what is no option begins it */
	COMMAND_AFTER_DASHES,
};

struct arguments;
/* The verb itself: the exit code. Each file declares its own by this type, and defines it. */
typedef int verb_function(const struct arguments *arguments);

struct verb {
	const char *name;
	char *full_name;	/* argv[0] of the verb, for getopt's messages */
	verb_function *run;
	const struct verb_option *options;	/* ended by a zero one */
	const char *actions;	/* words with blanks between, one of which comes first, or, in brackets, may; NULL: none */
	/* In the usage, behind options: "FILE"; "[FILE]": or none; "[KEY [VALUE]]": or two; NULL: none. */
	const char *operand;
	enum verb_command command;
	const char *summary;	/* in the list of verbs: one line of at most 64 bytes */
	const char *details;	/* paragraphs of lines of at most 78 bytes */
	const char *examples;	/* lines */
};

/* The i-th verb, in the order of the help; NULL: no more. */
const struct verb *verb_at(unsigned int i);
const struct verb *verb_find(const char *name);	/* NULL: there is none */

/*
 * Hidden verbs, with their argv; the exit code. The build runs the first, with the name of a shell.
 * Shells run the second, "entry-words BEGINNING [WORD...]", where an entry is to be named: it prints
 * paths, kernels and programs that begin so, one a line. Of the words behind, only --dir counts. Its
 * time is bounded: then some are not offered.
 */
int completion_print(int argc, char **argv);
int entry_words_print(int argc, char **argv);

/* The exit code. verb NULL: the list of all. */
int help_print(const struct verb *verb);

struct arguments {
	const struct verb *verb;
	struct argument {
		const struct verb_option *option;
		const char *value;	/* NULL: a flag */
	} *options;		/* in the order given */
	size_t option_count;
	const char *action;	/* one of the verb's actions; NULL: it has none */
	const char *operand;	/* NULL: none */
	const char *second;	/* the one behind it; NULL: none */
	char **command;		/* argv of it, at least one word; NULL: none */
};

/*
 * Sets the variables of options that have one. Where help was asked for, or something is wrong, which is
 * complained about, the command ends. Until the command ends.
 */
void arguments_parse(const struct verb *verb, int argc, char **argv, struct arguments *ret);

/*
 * Each takes the name of an option of the verb's row, without its dashes; of several the last
 * counts.
 */
bool arguments_flag(const struct arguments *arguments, const char *name);
/* NULL: not given. */
const char *arguments_text(const struct arguments *arguments, const char *name);
unsigned long arguments_number(const struct arguments *arguments, const char *name,
			       unsigned long otherwise);
/* Of an option that repeats: the value at *at or behind it, which moves on; NULL: no more. */
const char *arguments_next(const struct arguments *arguments, const char *name, size_t *at);

/* suggest: what somebody may have meant. Pure. */
/*
 * The best of the names that are offered one after another, each with the same word; {0} at first.
 * Letters that are wrong, missing, too many or exchanged count one each; more than a third of the
 * word, and never more than three, is another word. The beginning of a name is near to it.
 */
struct similar {
	const char *name;	/* NULL: none is near */
	size_t distance;
};
void similar_offer(struct similar *best, const char *word, const char *name);

/*
 * What to type instead of an option, which may have "=VALUE", by the habits of users of ccache and sccache:
 * "did you mean ...?"; NULL: no habit. It is only said: one that meant something else (ccache -C) must not
 * empty a cache.
 */
const char *habit_of(const char *option);

#endif
