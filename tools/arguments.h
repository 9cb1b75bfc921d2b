/* SPDX-License-Identifier: MIT */
/* arguments: what a verb was given, parsed and checked by its row in verbs.c. */
#ifndef TOOLS_ARGUMENTS_H
#define TOOLS_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "tools/verbs.h"

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
 * Sets the variables of options that have one. false: the verb is not to be run, since help was
 * asked for, or something was complained about; *ret_code is the exit code then. Until the command ends.
 */
bool arguments_parse(const struct verb *verb, int argc, char **argv, struct arguments *ret,
		     int *ret_code);

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

#endif
