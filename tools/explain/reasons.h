/* SPDX-License-Identifier: MIT */
/*
 * reasons: a sentence for each word with which the layers say why a build was not
 * cached, and the cache why a result was not stored. tests/rules/reasons.py checks
 * that none is missing.
 */
#ifndef TOOLS_EXPLAIN_REASONS_H
#define TOOLS_EXPLAIN_REASONS_H

/* What follows "not cached: "; NULL: it is no word of today's. */
const char *reason_of_bypass(const char *word);
/* What follows "not stored: ", where the word alone says it; NULL: it does not. */
const char *reason_of_loss(const char *word);

#endif
