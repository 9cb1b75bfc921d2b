/* SPDX-License-Identifier: MIT */
/* field_words: what the fields of a key mean, for people. */
#ifndef TOOLS_ENTRIES_FIELD_WORDS_H
#define TOOLS_ENTRIES_FIELD_WORDS_H

#include "common/bytes.h"

/* A few words; NULL: a field that this version does not know. */
const char *field_words(struct cmn_view name);

#endif
