/* SPDX-License-Identifier: MIT */
/* conditions: a recursive-descent evaluation that gives up rather than guesses. */
#include "layers/opencl/conditions.h"

#include <stdint.h>
#include <string.h>

/* Deeper expressions are not certain; it bounds the stack. */
#define MAX_DEPTH 64

struct value {
	bool known;
	int64_t number;
};

struct parser {
	const struct ocl_tokens *tokens;
	const struct ocl_macros *macros;
	size_t at;
	int depth;
	bool failed;	/* something that is not understood: the whole is not certain */
};

static struct value parse_or(struct parser *parser);

static bool take(struct parser *parser, const char *text)
{
	if (parser->at >= parser->tokens->count ||
	    !ocl_token_is(&parser->tokens->items[parser->at], text))
		return false;
	parser->at++;
	return true;
}

/* Digits with l or L only: an unsigned operand would change what comparisons mean. */
static struct value number_of(struct cmn_view text)
{
	const char *at = text.data, *end = at + text.len;
	unsigned int base = 10;
	int64_t number = 0;

	if (text.len > 2 && at[0] == '0' && (at[1] == 'x' || at[1] == 'X')) {
		base = 16;
		at += 2;
	} else if (text.len > 1 && at[0] == '0') {
		base = 8;
	}
	while (end > at && (end[-1] == 'l' || end[-1] == 'L'))
		end--;
	if (at == end)
		return (struct value){ 0 };
	for (; at < end; at++) {
		unsigned int digit = *at >= '0' && *at <= '9' ? (unsigned int)(*at - '0') :
				     *at >= 'a' && *at <= 'f' ? (unsigned int)(*at - 'a' + 10) :
				     *at >= 'A' && *at <= 'F' ? (unsigned int)(*at - 'A' + 10) :
								16;

		if (digit >= base || number > (INT64_MAX >> 4) - 16)
			return (struct value){ 0 };
		number = number * base + digit;
	}
	return (struct value){ true, number };
}

static struct value parse_defined(struct parser *parser)
{
	bool parenthesis = take(parser, "(");
	const struct ocl_definition *unused;
	struct value value = { 0 };
	enum ocl_knowledge knowledge;

	if (parser->at >= parser->tokens->count ||
	    parser->tokens->items[parser->at].kind != OCL_TOKEN_IDENTIFIER) {
		parser->failed = true;
		return value;
	}
	knowledge = ocl_macros_knowledge(parser->macros,
					 parser->tokens->items[parser->at++].text, &unused);
	if (parenthesis && !take(parser, ")"))
		parser->failed = true;
	value.known = knowledge != OCL_UNKNOWN;
	value.number = knowledge != OCL_UNDEFINED;
	return value;
}

/*
 * An unknown value is one operand only if it is one token: FOO && 0 is true
 * where FOO stands for "1 || 1". What compilers define themselves is a number.
 */
static bool is_one_operand(const struct ocl_macros *macros, struct cmn_view name)
{
	const struct ocl_macro *macro = ocl_macros_find(macros, name);
	const struct ocl_definition *at = macro ? ocl_macro_definitions(macro) : NULL;

	if (macro && ocl_macro_has_more(macro))
		return false;
	for (; at; at = at->next) {
		if (at->body.count != 1 || at->body.items[0].kind != OCL_TOKEN_NUMBER)
			return false;
	}
	return true;
}

static struct value parse_identifier(struct parser *parser, struct cmn_view name)
{
	const struct ocl_definition *definition;

	switch (ocl_macros_knowledge(parser->macros, name, &definition)) {
	case OCL_UNDEFINED:
		return (struct value){ true, 0 };
	case OCL_VALUE:
		/* Only a plain number; anything else could expand to something that binds elsewise. */
		if (!definition->function_like && definition->body.count == 1 &&
		    definition->body.items[0].kind == OCL_TOKEN_NUMBER)
			return number_of(definition->body.items[0].text);
		parser->failed = true;
		return (struct value){ 0 };
	case OCL_DEFINED:
	case OCL_UNKNOWN:
		if (!is_one_operand(parser->macros, name))
			parser->failed = true;
		break;
	}
	return (struct value){ 0 };
}

static struct value parse_primary(struct parser *parser)
{
	const struct ocl_token *token;
	struct value value = { 0 };

	if (parser->at >= parser->tokens->count || ++parser->depth > MAX_DEPTH) {
		parser->failed = true;
		return value;
	}
	if (take(parser, "!")) {
		value = parse_primary(parser);
		value.number = !value.number;
	} else if (take(parser, "(")) {
		value = parse_or(parser);
		if (!take(parser, ")"))
			parser->failed = true;
	} else if (take(parser, "defined")) {
		value = parse_defined(parser);
	} else {
		token = &parser->tokens->items[parser->at++];
		if (token->kind == OCL_TOKEN_NUMBER)
			value = number_of(token->text);
		else if (token->kind == OCL_TOKEN_IDENTIFIER)
			value = parse_identifier(parser, token->text);
		else
			parser->failed = true;
	}
	parser->depth--;
	return value;
}

static struct value parse_relation(struct parser *parser)
{
	static const char *const operators[] = { "<", ">", "<=", ">=" };
	struct value left = parse_primary(parser);

	for (unsigned int i = 0; i < 4 && !parser->failed;) {
		struct value right;

		if (!take(parser, operators[i])) {
			i++;
			continue;
		}
		right = parse_primary(parser);
		left.known = left.known && right.known;
		left.number = i == 0 ? left.number < right.number :
			      i == 1 ? left.number > right.number :
			      i == 2 ? left.number <= right.number :
				       left.number >= right.number;
		i = 0;
	}
	return left;
}

static struct value parse_equality(struct parser *parser)
{
	struct value left = parse_relation(parser);

	for (;;) {
		bool equal = take(parser, "==");
		struct value right;

		if (!equal && !take(parser, "!="))
			return left;
		right = parse_relation(parser);
		left.known = left.known && right.known;
		left.number = (left.number == right.number) == equal;
	}
}

static struct value parse_and(struct parser *parser)
{
	struct value left = parse_equality(parser);

	while (take(parser, "&&")) {
		struct value right = parse_equality(parser);
		bool no = (left.known && !left.number) || (right.known && !right.number);

		left.known = no || (left.known && right.known);
		left.number = !no;
	}
	return left;
}

static struct value parse_or(struct parser *parser)
{
	struct value left = parse_and(parser);

	while (take(parser, "||")) {
		struct value right = parse_and(parser);
		bool yes = (left.known && left.number) || (right.known && right.number);

		left.known = yes || (left.known && right.known);
		left.number = yes;
	}
	return left;
}

static enum ocl_truth evaluate_expression(const struct ocl_tokens *tokens,
					  const struct ocl_macros *macros)
{
	struct parser parser = { .tokens = tokens, .macros = macros };
	struct value value = parse_or(&parser);

	if (parser.failed || parser.at != tokens->count || !value.known)
		return OCL_MAYBE;
	return value.number ? OCL_TRUE : OCL_FALSE;
}

static enum ocl_truth evaluate_defined(const struct ocl_tokens *tokens,
				       const struct ocl_macros *macros)
{
	const struct ocl_definition *unused;

	if (!tokens->count || tokens->items[0].kind != OCL_TOKEN_IDENTIFIER)
		return OCL_MAYBE;
	switch (ocl_macros_knowledge(macros, tokens->items[0].text, &unused)) {
	case OCL_UNDEFINED:
		return OCL_FALSE;
	case OCL_DEFINED:
	case OCL_VALUE:
		return OCL_TRUE;
	case OCL_UNKNOWN:
		break;
	}
	return OCL_MAYBE;
}

enum ocl_truth ocl_conditions_evaluate(const struct ocl_branch *branch,
				       const struct ocl_macros *macros)
{
	static const enum ocl_truth opposite[] = { OCL_TRUE, OCL_FALSE, OCL_MAYBE };
	struct ocl_tokens tokens = { 0 };
	enum ocl_truth truth = OCL_MAYBE;

	if (branch->kind == OCL_BRANCH_ELSE)
		return OCL_TRUE;
	if (ocl_tokens_cut(branch->text, &tokens) == CMN_OK) {
		if (branch->kind == OCL_BRANCH_IF)
			truth = evaluate_expression(&tokens, macros);
		else
			truth = evaluate_defined(&tokens, macros);
		if (branch->kind == OCL_BRANCH_IFNDEF)
			truth = opposite[truth];
	}
	ocl_tokens_release(&tokens);
	return truth;
}

void ocl_conditions_open_branches(const struct ocl_source_text *text,
				  const struct ocl_macros *macros, unsigned char *ret)
{
	enum { OPEN = 1, TAKEN = 2 };	/* TAKEN: this or an earlier branch is certainly entered */

	for (size_t i = 0; i < text->branch_count; i++) {
		const struct ocl_branch *branch = &text->branches[i];
		bool taken = branch->previous >= 0 && (ret[branch->previous] & TAKEN);
		enum ocl_truth truth = taken ? OCL_FALSE : ocl_conditions_evaluate(branch, macros);
		bool open = truth != OCL_FALSE &&
			    (branch->parent < 0 || (ret[branch->parent] & OPEN));

		ret[i] = (unsigned char)((open ? OPEN : 0) |
					 (taken || truth == OCL_TRUE ? TAKEN : 0));
	}
	for (size_t i = 0; i < text->branch_count; i++)
		ret[i] &= OPEN;
}
