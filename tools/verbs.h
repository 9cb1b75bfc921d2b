/* SPDX-License-Identifier: MIT */
/*
 * verbs: the one table of what the command understands. Help is made from it;
 * the completions, ckcache(1) and docs/JSON.md are checked against what help
 * says (tests/rules/command_line.py), and each verb's option table against its row.
 */
#ifndef TOOLS_VERBS_H
#define TOOLS_VERBS_H

#include <stdbool.h>

struct verb_option {
	const char *name;	/* without its dashes */
	const char *argument;	/* as "DIR"; NULL: it takes none */
	const char *text;	/* lines after the first are set under it */
	bool repeats;
};

struct verb {
	const char *name;
	char *full_name;	/* argv[0] of the verb, for getopt's messages */
	int (*run)(int argc, char **argv);
	const struct verb_option *options;	/* ended by a zero one */
	const char *arguments;	/* after the options, as "FILE"; NULL: none */
	bool takes_command;	/* what follows the first argument is a command's */
	const char *summary;	/* in the list of verbs: one line of at most 64 bytes */
	const char *details;	/* paragraphs of lines of at most 78 bytes */
	const char *examples;	/* lines; NULL: none */
};

/* The i-th verb, in the order of the help; NULL: no more. */
const struct verb *verb_at(unsigned int i);
const struct verb *verb_find(const char *name);	/* NULL: there is none */

/* The exit code. verb NULL: the list of all. */
int verb_print_help(const struct verb *verb);
/* Whether --help or -h is among the arguments (without argv[0]) that are the verb's own. */
bool verb_wants_help(const struct verb *verb, int argc, char **argv);

#endif
