/* SPDX-License-Identifier: MIT */
/*
 * words: the few that matter, and a search for those that hardly any text has:
 * a reader that knows of their absence can step over most letters.
 */
#include "layers/opencl/words.h"

#include <string.h>

static const struct {
	const char *word;
	const char *reason;
} refused[] = {
	{ "__DATE__", "date" },
	{ "__TIME__", "time" },
	{ "__TIMESTAMP__", "timestamp" },
	{ "__has_include", "has-include" },	/* and __has_include_next */
	{ "__has_embed", "has-include" },
};
#define REFUSED_COUNT (sizeof(refused) / sizeof(refused[0]))

static const struct {
	const char *word;
	enum ocl_words_rare rare;
} rare_words[] = {
	{ "incbin", OCL_WORDS_INCBIN },	      { "dependency", OCL_WORDS_DEPENDENCY },
	{ "DATE__", OCL_WORDS_ENDING },	      { "TIME__", OCL_WORDS_ENDING },
	{ "TIMESTAMP__", OCL_WORDS_ENDING },  { "has_include", OCL_WORDS_ENDING },
	{ "has_embed", OCL_WORDS_ENDING },
};
#define RARE_COUNT (sizeof(rare_words) / sizeof(rare_words[0]))
#define ALL_RARE (OCL_WORDS_INCBIN | OCL_WORDS_DEPENDENCY | OCL_WORDS_ENDING)
/* The shortest rare word's length. */
#define WINDOW 6

static bool view_is(struct cmn_view view, const char *text)
{
	return cmn_view_equal(view, cmn_view_of(text));
}

static bool starts_with(struct cmn_view view, const char *text)
{
	size_t len = strlen(text);

	return view.len >= len && memcmp(view.data, text, len) == 0;
}

/* a ## b: either a is a beginning of a refused word, or a is underscores and b its end. */
static bool is_piece(struct cmn_view name)
{
	for (size_t i = 0; i < REFUSED_COUNT; i++) {
		const char *word = refused[i].word;
		size_t len = strlen(word);

		if (name.len >= 3 && name.len < len && memcmp(word, name.data, name.len) == 0)
			return true;
		if (view_is(name, word + 1) || starts_with(name, word + 2))
			return true;
	}
	return false;
}

bool ocl_words_judge(struct cmn_view name, enum ocl_event_kind *ret_kind, const char **ret_reason)
{
	const char *reason = NULL;

	for (size_t i = 0; i < REFUSED_COUNT && !reason; i++) {
		if (view_is(name, refused[i].word) ||
		    (refused[i].word[2] == 'h' && starts_with(name, refused[i].word)))
			reason = refused[i].reason;
	}
	if (reason)
		*ret_kind = OCL_EVENT_REFUSE;
	else if (view_is(name, "__FILE__") || view_is(name, "__BASE_FILE__"))
		*ret_kind = OCL_EVENT_DIRECTORY;
	else if (view_is(name, "_Pragma") || view_is(name, "__pragma"))
		*ret_kind = OCL_EVENT_PRAGMA;
	else if (is_piece(name))
		*ret_kind = OCL_EVENT_PIECE;
	else
		return false;
	*ret_reason = reason;
	return true;
}

static unsigned int rare_at(const char *at, size_t len)
{
	unsigned int found = 0;

	for (size_t i = 0; i < RARE_COUNT; i++) {
		if (*at == rare_words[i].word[0] &&
		    starts_with((struct cmn_view){ at, len }, rare_words[i].word))
			found |= rare_words[i].rare;
	}
	return found;
}

/* Three bytes' slot; those that share one only cost a look. */
#define GRAM 3
#define SLOTS 2048
static size_t slot_of(const char *at)
{
	const unsigned char *three = (const unsigned char *)at;

	return (three[0] ^ (size_t)three[1] << 3 ^ (size_t)three[2] << 6) % SLOTS;
}

/* Of any STRIDE bytes in a row, one begins three that are looked at, so that none is missed. */
#define STRIDE (WINDOW - GRAM + 1)
unsigned int ocl_words_find_rare(struct cmn_view text)
{
	const char *data = text.data;
	bool known[SLOTS] = { false };
	unsigned int found = 0;

	for (size_t i = 0; i < RARE_COUNT; i++) {
		for (size_t j = 0; j < STRIDE; j++)
			known[slot_of(rare_words[i].word + j)] = true;
	}
	for (size_t at = 0; at + GRAM <= text.len && found != ALL_RARE; at += STRIDE) {
		if (!known[slot_of(data + at)])
			continue;
		for (size_t back = 0; back < STRIDE && back <= at; back++)
			found |= rare_at(data + at - back, text.len - at + back);
	}
	return found;
}
