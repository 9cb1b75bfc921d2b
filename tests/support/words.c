/* SPDX-License-Identifier: MIT */
/* words: the list, by which names are found. */
#include "tests/support/words.h"

#include <string.h>

static struct word *words;

void words_add(struct word *word)
{
	word->next = words;
	words = word;
}

bool words_is(const char *said, const char *name)
{
	while (*said && (*said == *name || (*said == '-' && *name == '_'))) {
		said++;
		name++;
	}
	return !*said && !*name;
}

bool words_run(const char *name, char *value)
{
	const struct word *word = words;

	while (word && !words_is(name, word->name))
		word = word->next;
	if (word)
		word->run(value);
	return word != NULL;
}

bool words_run_argument(char *argument)
{
	char *value = strchr(argument, '=');

	if (value)
		*value++ = '\0';
	return words_run(argument, value);
}
