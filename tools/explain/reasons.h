/* SPDX-License-Identifier: MIT */
/*
 * reasons: the layers' words for why a build was not cached, and the cache's
 * for why a result was not stored, in sentences. A rule of the suite
 * (tests/rules/reasons.py) holds that none of them is without.
 */
#ifndef TOOLS_EXPLAIN_REASONS_H
#define TOOLS_EXPLAIN_REASONS_H

/* What follows "not cached: "; NULL: it is no word of today's. */
const char *reason_of_bypass(const char *word);
/* What follows "not stored: ", where the word alone says it; NULL: it does not. */
const char *reason_of_loss(const char *word);

#endif
