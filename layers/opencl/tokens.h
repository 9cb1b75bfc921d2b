/* SPDX-License-Identifier: MIT */
/*
 * tokens: a preprocessing directive's text cut into preprocessing tokens
 * (ISO C99 6.4), comments taken as blanks. Splices must be gone already.
 * Tokens borrow the text. Not thread-safe; a list belongs to one thread.
 */
#ifndef OPENCL_TOKENS_H
#define OPENCL_TOKENS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/bytes.h"
#include "common/status.h"

enum ocl_token_kind {
	OCL_TOKEN_IDENTIFIER,
	OCL_TOKEN_NUMBER,	/* a preprocessing number */
	OCL_TOKEN_STRING,	/* with its quotes; "…" only, a prefix is an identifier before it */
	OCL_TOKEN_CHARACTER,
	OCL_TOKEN_PUNCTUATION,
};

struct ocl_token {
	enum ocl_token_kind kind;
	bool space;		/* blanks or a comment before it */
	struct cmn_view text;
};

struct ocl_tokens {
	struct ocl_token *items;
	size_t count, cap;
};

/* Letters, digits, '_', '$' and every byte of a UTF-8 sequence. */
bool ocl_token_is_identifier_byte(unsigned char byte);
bool ocl_token_is_blank(unsigned char byte);	/* a NUL is one too, a newline also */
bool ocl_token_is(const struct ocl_token *token, const char *text);

void ocl_tokens_release(struct ocl_tokens *tokens);	/* leaves {0} */
CMN_CHECKED enum cmn_status ocl_tokens_append(struct ocl_tokens *tokens,
					      const struct ocl_token *token);
/* Appends the tokens of text. CMN_ERR_NOMEM. */
CMN_CHECKED enum cmn_status ocl_tokens_cut(struct cmn_view text, struct ocl_tokens *ret);

#endif
