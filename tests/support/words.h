/* SPDX-License-Identifier: MIT */
/*
 * words: what a test's program does by name: WORD(name) { ... } is what happens where an argument or a
 * script says so, with the parameter char *value: what follows it. The name may have '-' for '_'.
 */
#ifndef TESTS_SUPPORT_WORDS_H
#define TESTS_SUPPORT_WORDS_H

#include <stdbool.h>

struct word {
	const char *name;
	void (*run)(char *value);
	struct word *next;
};
#define WORD(name) \
	static void word_##name(char *value); \
	__attribute__((constructor)) static void add_##name(void) \
	{ \
		static struct word of_##name = { #name, word_##name, NULL }; \
		words_add(&of_##name); \
	} \
	static void word_##name(__attribute__((unused)) char *value)
void words_add(struct word *word);
/* false: there is none of that name. */
bool words_run(const char *name, char *value);
/* As "word" (NULL) or "word=value"; the text is cut apart. */
bool words_run_argument(char *argument);
bool words_is(const char *said, const char *name);

#endif
