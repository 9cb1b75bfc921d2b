/* SPDX-License-Identifier: MIT */
/* tokens: the preprocessing tokens of one directive. */
#include "layers/opencl/tokens.h"

#include <stdlib.h>
#include <string.h>

bool ocl_token_is_identifier_byte(unsigned char byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
	       (byte >= '0' && byte <= '9') || byte == '_' || byte == '$' || byte >= 0x80;
}

bool ocl_token_is_blank(unsigned char byte)
{
	return byte == ' ' || (byte >= '\t' && byte <= '\r') || byte == '\0';
}

bool ocl_token_is(const struct ocl_token *token, const char *text)
{
	return cmn_view_equal(token->text, cmn_view_of(text));
}

void ocl_tokens_release(struct ocl_tokens *tokens)
{
	free(tokens->items);
	*tokens = (struct ocl_tokens){ 0 };
}

enum cmn_status ocl_tokens_append(struct ocl_tokens *tokens, const struct ocl_token *token)
{
	if (tokens->count == tokens->cap) {
		size_t cap = tokens->cap ? 2 * tokens->cap : 16;
		struct ocl_token *items = realloc(tokens->items, cap * sizeof(*items));

		if (!items)
			return CMN_ERR_NOMEM;
		tokens->items = items;
		tokens->cap = cap;
	}
	tokens->items[tokens->count++] = *token;
	return CMN_OK;
}

/* The end of blanks and comments from at on. */
static const char *skip_blanks(const char *at, const char *end)
{
	while (at < end) {
		if (ocl_token_is_blank((unsigned char)*at)) {
			at++;
		} else if (end - at >= 2 && at[0] == '/' && at[1] == '*') {
			const char *close = memmem(at + 2, (size_t)(end - at) - 2, "*/", 2);

			at = close ? close + 2 : end;
		} else if (end - at >= 2 && at[0] == '/' && at[1] == '/') {
			return end;
		} else {
			break;
		}
	}
	return at;
}

static const char *skip_quoted(const char *at, const char *end)
{
	char quote = *at++;

	while (at < end && *at != quote)
		at += *at == '\\' && end - at >= 2 ? 2 : 1;
	return at < end ? at + 1 : end;
}

/* A pp-number takes letters, dots, and signs after an exponent's letter. */
static const char *skip_number(const char *at, const char *end)
{
	for (at++; at < end; at++) {
		bool sign = (*at == '+' || *at == '-') && strchr("eEpP", at[-1]);

		if (!sign && *at != '.' && !ocl_token_is_identifier_byte((unsigned char)*at))
			break;
	}
	return at;
}

static size_t punctuation_len(const char *at, const char *end)
{
	static const char *const longer[] = { "%:%:", "...", "##", "%:", "&&", "||",
					      "==",   "!=",  "<=", ">=", "<<", ">>" };

	for (size_t i = 0; i < sizeof(longer) / sizeof(longer[0]); i++) {
		size_t len = strlen(longer[i]);

		if ((size_t)(end - at) >= len && memcmp(at, longer[i], len) == 0)
			return len;
	}
	return 1;
}

static struct ocl_token cut_one(const char *at, const char *end)
{
	unsigned char first = (unsigned char)*at;
	struct ocl_token token = { .kind = OCL_TOKEN_PUNCTUATION };
	const char *stop;

	if ((first >= '0' && first <= '9') ||
	    (first == '.' && end - at >= 2 && at[1] >= '0' && at[1] <= '9')) {
		token.kind = OCL_TOKEN_NUMBER;
		stop = skip_number(at, end);
	} else if (ocl_token_is_identifier_byte(first)) {
		token.kind = OCL_TOKEN_IDENTIFIER;
		for (stop = at; stop < end && ocl_token_is_identifier_byte((unsigned char)*stop);)
			stop++;
	} else if (first == '"' || first == '\'') {
		token.kind = first == '"' ? OCL_TOKEN_STRING : OCL_TOKEN_CHARACTER;
		stop = skip_quoted(at, end);
	} else {
		stop = at + punctuation_len(at, end);
	}
	token.text = (struct cmn_view){ at, (size_t)(stop - at) };
	/* Digraphs mean what they stand for. */
	if (ocl_token_is(&token, "%:"))
		token.text = cmn_view_of("#");
	else if (ocl_token_is(&token, "%:%:"))
		token.text = cmn_view_of("##");
	return token;
}

enum cmn_status ocl_tokens_cut(struct cmn_view text, struct ocl_tokens *ret)
{
	const char *at = text.data, *end;

	if (text.len == 0)
		return CMN_OK;
	for (end = at + text.len;;) {
		const char *start = skip_blanks(at, end);
		struct ocl_token token;
		size_t source_len;

		if (start == end)
			return CMN_OK;
		token = cut_one(start, end);
		token.space = start > at;
		source_len = token.text.len;
		if (*start == '%' && *(const char *)token.text.data == '#')
			source_len *= 2;
		if (ocl_tokens_append(ret, &token) != CMN_OK)
			return CMN_ERR_NOMEM;
		at = start + source_len;
	}
}
