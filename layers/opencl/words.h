/* SPDX-License-Identifier: MIT */
/*
 * words: identifiers, and parts that ## could make one of, with which a build
 * depends on more than its text. Knows spellings only: where they stand is
 * source_text's affair. Thread-safe.
 */
#ifndef OPENCL_WORDS_H
#define OPENCL_WORDS_H

#include <stdbool.h>

#include "common/bytes.h"
#include "layers/opencl/source_text.h"

/*
 * What an identifier means; *ret_reason is static, NULL where the kind needs
 * none. False: it means nothing.
 */
bool ocl_words_judge(struct cmn_view name, enum ocl_event_kind *ret_kind, const char **ret_reason);

enum ocl_words_rare {
	OCL_WORDS_INCBIN = 1,		/* the assembler's directive */
	OCL_WORDS_DEPENDENCY = 2,	/* of a pragma */
	OCL_WORDS_ENDING = 4,		/* a refused identifier without its first two underscores */
};
/* Which of these occur in text, be it within a comment, a literal or a longer word. */
unsigned int ocl_words_find_rare(struct cmn_view text);

#endif
