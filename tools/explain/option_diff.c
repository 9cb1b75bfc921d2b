/* SPDX-License-Identifier: MIT */
/* option_diff: options cut at blanks outside of quotes, and matched with each other. */
#include "tools/explain/option_diff.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* More are not shown: nobody reads them. */
#define MAX_WORDS 512
#define MAX_SHOWN 6

struct words {
	struct cmn_view all[MAX_WORDS];
	bool matched[MAX_WORDS];
	size_t count;
};

static void cut(struct cmn_view text, struct words *words)
{
	const char *at = text.data, *end = at + text.len;

	while (at < end && words->count < MAX_WORDS) {
		const char *start;
		bool quoted = false;

		while (at < end && isspace((unsigned char)*at))
			at++;
		start = at;
		for (; at < end && (quoted || !isspace((unsigned char)*at)); at++)
			quoted ^= *at == '"';
		if (at > start)
			words->all[words->count++] = (struct cmn_view){ start, (size_t)(at - start) };
	}
}

static void match_equal(struct words *was, struct words *is)
{
	for (size_t i = 0; i < is->count; i++) {
		for (size_t j = 0; j < was->count && !is->matched[i]; j++) {
			if (!was->matched[j] && cmn_view_equal(was->all[j], is->all[i]))
				was->matched[j] = is->matched[i] = true;
		}
	}
}

/* How much of a word names the option whose value the rest is; 0: it has no value. */
static size_t head_len(struct cmn_view word)
{
	const char *equals = memchr(word.data, '=', word.len);

	return equals ? (size_t)(equals - (const char *)word.data) + 1 : 0;
}

/* The one of the others that gives the same option another value; -1: none. */
static long find_counterpart(struct cmn_view word, const struct words *others)
{
	size_t len = head_len(word);

	for (size_t i = 0; len && i < others->count; i++) {
		if (!others->matched[i] && head_len(others->all[i]) == len &&
		    memcmp(others->all[i].data, word.data, len) == 0)
			return (long)i;
	}
	return -1;
}

static void append_word(struct cmn_buffer *text, struct cmn_view word, size_t *shown)
{
	cmn_buffer_append_text(text, *shown ? ", " : "option ");
	cmn_buffer_append(text, word.data, word.len);
	++*shown;
}

void option_diff_append(struct cmn_buffer *text, struct cmn_view was_text, struct cmn_view is_text)
{
	struct words *was = calloc(2, sizeof(*was)), *is;
	size_t shown = 0;

	if (!was) {
		text->failed = true;
		return;
	}
	is = was + 1;
	cut(was_text, was);
	cut(is_text, is);
	match_equal(was, is);
	for (size_t i = 0; i < is->count && shown < MAX_SHOWN; i++) {
		long old = is->matched[i] ? -1 : find_counterpart(is->all[i], was);

		if (is->matched[i])
			continue;
		append_word(text, old < 0 ? is->all[i] : was->all[old], &shown);
		cmn_buffer_append_text(text, old < 0 ? " added" : " -> ");
		if (old < 0)
			continue;
		was->matched[old] = true;
		cmn_buffer_append(text, is->all[i].data, is->all[i].len);
	}
	for (size_t i = 0; i < was->count && shown < MAX_SHOWN; i++) {
		if (was->matched[i])
			continue;
		append_word(text, was->all[i], &shown);
		cmn_buffer_append_text(text, " dropped");
	}
	if (!shown)
		cmn_buffer_append_text(text, "the options differ only in order or blanks");
	free(was);
}
