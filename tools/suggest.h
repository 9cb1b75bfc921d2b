/* SPDX-License-Identifier: MIT */
/* suggest: what somebody may have meant. Pure. */
#ifndef TOOLS_SUGGEST_H
#define TOOLS_SUGGEST_H

#include <stddef.h>

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
