/* SPDX-License-Identifier: MIT */
/* words: a rare word that is missed would be a stale hit, so each is put everywhere. */
#include <stdlib.h>
#include <string.h>

#include "layers/opencl/words.h"
#include "tests/support/unit.h"

static const struct {
	const char *word;
	unsigned int kind;
} rare[] = {
	{ "incbin", OCL_WORDS_INCBIN },	      { "dependency", OCL_WORDS_DEPENDENCY },
	{ "DATE__", OCL_WORDS_ENDING },	      { "TIME__", OCL_WORDS_ENDING },
	{ "TIMESTAMP__", OCL_WORDS_ENDING },  { "has_include", OCL_WORDS_ENDING },
	{ "has_embed", OCL_WORDS_ENDING },
};
#define RARE (sizeof(rare) / sizeof(rare[0]))

static unsigned int found_by_libc(const char *text, size_t len)
{
	unsigned int found = 0;

	for (size_t i = 0; i < RARE; i++) {
		if (memmem(text, len, rare[i].word, strlen(rare[i].word)))
			found |= rare[i].kind;
	}
	return found;
}

/* A block of its own size, so that a read past its end is seen by a sanitizer. */
static void check(size_t len, size_t word, size_t at, size_t word_len, const char *around)
{
	char *text = malloc(len ? len : 1);

	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	for (size_t i = 0; i < len; i++)
		text[i] = around[(unsigned int)rand() % strlen(around)];
	for (size_t i = 0; i < word_len && at + i < len; i++)
		text[at + i] = rare[word].word[i];
	CU_ASSERT_EQUAL(ocl_words_find_rare((struct cmn_view){ text, len }),
			found_by_libc(text, len));
	free(text);
}

static void finds_each_word_at_every_offset_and_cut(void)
{
	srand(3);
	for (size_t len = 0; len < 48; len++) {
		for (size_t word = 0; word < RARE; word++) {
			size_t whole = strlen(rare[word].word);

			for (size_t at = 0; at < len + 3; at++) {
				check(len, word, at, whole, " ");
				check(len, word, at, whole, "incbdepyDATE_hsumS \n");
				check(len, word, at, whole - 1, "incbdepyDATE_hsumS \n");
			}
		}
	}
}

static void judges_refused_identifiers(void)
{
	static const char *const names[] = { "__DATE__", "__TIME__", "__TIMESTAMP__", "__has_include" };
	enum ocl_event_kind kind;
	const char *reason;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		CU_ASSERT(ocl_words_judge(cmn_view_of(names[i]), &kind, &reason));
	CU_ASSERT(!ocl_words_judge(cmn_view_of("date"), &kind, &reason));
	CU_ASSERT(!ocl_words_judge(cmn_view_of("__DATE"), &kind, &reason) || reason == NULL);
}

int main(void)
{
	static const struct unit_test tests[] = {
		UNIT_TEST(finds_each_word_at_every_offset_and_cut),
		UNIT_TEST(judges_refused_identifiers),
	};

	return UNIT_MAIN("words", tests);
}
