/* SPDX-License-Identifier: MIT */
/* macros: definitions by name, and what is certain about a name. */
#include "layers/opencl/macros.h"

#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

/* Of one macro; nothing is computed from one that has more. */
enum { MAX_DEFINITIONS = 64 };

struct ocl_macro {
	struct cmn_view name;
	struct ocl_definition *definitions;
	bool from_options;	/* at least one definition */
	bool in_text;		/* defined by the source or a header, or unsurely by the options */
	bool undefined;		/* by an #undef or -U */
	bool has_more;		/* definitions than are kept */
	UT_hash_handle hh;
};

struct ocl_macros {
	struct ocl_macro *by_name;
	bool cplusplus;
};

struct ocl_macros *ocl_macros_new(bool cplusplus)
{
	struct ocl_macros *macros = calloc(1, sizeof(*macros));

	if (macros)
		macros->cplusplus = cplusplus;
	return macros;
}

static void definition_free(struct ocl_definition *definition)
{
	ocl_tokens_release(&definition->parameters);
	ocl_tokens_release(&definition->body);
	free(definition);
}

void ocl_macros_free(struct ocl_macros *macros)
{
	struct ocl_macro *macro, *next_macro;

	if (!macros)
		return;
	HASH_ITER(hh, macros->by_name, macro, next_macro) {
		struct ocl_definition *definition = macro->definitions, *next;

		HASH_DEL(macros->by_name, macro); /* NOLINT(clang-analyzer-unix.Malloc): the analyzer loses track of uthash */
		for (; definition; definition = next) {
			next = definition->next;
			definition_free(definition);
		}
		free(macro);
	}
	free(macros);
}

static struct ocl_macro *find(const struct ocl_macros *macros, struct cmn_view name)
{
	struct ocl_macro *macro;

	HASH_FIND(hh, macros->by_name, name.data, name.len, macro);
	return macro;
}

static struct ocl_macro *find_or_add(struct ocl_macros *macros, struct cmn_view name)
{
	struct ocl_macro *macro = find(macros, name);

	if (macro)
		return macro;
	macro = calloc(1, sizeof(*macro));
	if (!macro)
		return NULL;
	macro->name = name;
	HASH_ADD_KEYPTR(hh, macros->by_name, macro->name.data, macro->name.len, macro);
	if (!macro->hh.tbl) {
		free(macro);
		return NULL;
	}
	return macro;
}

static bool tokens_equal(const struct ocl_tokens *a, const struct ocl_tokens *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		if (a->items[i].space != b->items[i].space ||
		    !cmn_view_equal(a->items[i].text, b->items[i].text))
			return false;
	}
	return true;
}

static bool definition_equal(const struct ocl_definition *a, const struct ocl_definition *b)
{
	return a->function_like == b->function_like && a->variadic == b->variadic &&
	       tokens_equal(&a->parameters, &b->parameters) && tokens_equal(&a->body, &b->body);
}

/* Parameters from tokens[*at] on, after the parenthesis; *at ends after the closing one. */
static enum cmn_status read_parameters(const struct ocl_tokens *tokens, size_t *at,
				       struct ocl_definition *definition)
{
	for (; *at < tokens->count; ++*at) {
		struct ocl_token token = tokens->items[*at];

		if (ocl_token_is(&token, ")")) {
			++*at;
			return CMN_OK;
		}
		if (ocl_token_is(&token, ","))
			continue;
		if (ocl_token_is(&token, "...")) {
			const struct ocl_token *before = &tokens->items[*at - 1];

			definition->variadic = true;
			if (before->kind == OCL_TOKEN_IDENTIFIER)
				continue;	/* GNU's "name..." */
			token.text = cmn_view_of("__VA_ARGS__");
		} else if (token.kind != OCL_TOKEN_IDENTIFIER) {
			return CMN_ERR_INVALID;
		}
		token.space = false;
		if (ocl_tokens_append(&definition->parameters, &token) != CMN_OK)
			return CMN_ERR_NOMEM;
	}
	return CMN_ERR_INVALID;
}

static enum cmn_status read_definition(const struct ocl_tokens *tokens,
				       struct ocl_definition *definition)
{
	size_t at = 1;

	if (tokens->count > 1 && !tokens->items[1].space && ocl_token_is(&tokens->items[1], "(")) {
		enum cmn_status status;

		at = 2;
		definition->function_like = true;
		status = read_parameters(tokens, &at, definition);
		if (status != CMN_OK)
			return status;
	}
	for (size_t first = at; at < tokens->count; at++) {
		struct ocl_token token = tokens->items[at];

		if (at == first)
			token.space = false;
		if (ocl_tokens_append(&definition->body, &token) != CMN_OK)
			return CMN_ERR_NOMEM;
	}
	return CMN_OK;
}

static enum cmn_status add_definition(struct ocl_macros *macros, const struct ocl_tokens *tokens,
				      bool from_options)
{
	struct ocl_definition *definition = calloc(1, sizeof(*definition)), *other;
	struct ocl_macro *macro;
	enum cmn_status status;
	unsigned int count = 0;

	if (!definition)
		return CMN_ERR_NOMEM;
	status = read_definition(tokens, definition);
	if (status != CMN_OK)
		goto out;
	macro = find_or_add(macros, tokens->items[0].text);
	if (!macro) {
		status = CMN_ERR_NOMEM;
		goto out;
	}
	macro->from_options |= from_options;
	macro->in_text |= !from_options;
	for (other = macro->definitions; other; other = other->next, count++) {
		if (definition_equal(other, definition))
			goto out;
	}
	if (count == MAX_DEFINITIONS) {
		macro->has_more = true;
		goto out;
	}
	definition->next = macro->definitions;
	macro->definitions = definition;
	return CMN_OK;
out:
	definition_free(definition);
	return status;
}

enum cmn_status ocl_macros_define(struct ocl_macros *macros, struct cmn_view text,
				  bool from_options)
{
	struct ocl_tokens tokens = { 0 };
	enum cmn_status status = ocl_tokens_cut(text, &tokens);

	if (status == CMN_OK)
		status = tokens.count && tokens.items[0].kind == OCL_TOKEN_IDENTIFIER ?
				 add_definition(macros, &tokens, from_options) :
				 CMN_ERR_INVALID;
	ocl_tokens_release(&tokens);
	return status;
}

enum cmn_status ocl_macros_undefine(struct ocl_macros *macros, struct cmn_view text)
{
	struct ocl_tokens tokens = { 0 };
	enum cmn_status status = ocl_tokens_cut(text, &tokens);

	if (status == CMN_OK && (!tokens.count || tokens.items[0].kind != OCL_TOKEN_IDENTIFIER))
		status = CMN_ERR_INVALID;
	if (status == CMN_OK) {
		struct ocl_macro *macro = find_or_add(macros, tokens.items[0].text);

		if (macro)
			macro->undefined = true;
		else
			status = CMN_ERR_NOMEM;
	}
	ocl_tokens_release(&tokens);
	return status;
}

const struct ocl_macro *ocl_macros_find(const struct ocl_macros *macros, struct cmn_view name)
{
	const struct ocl_macro *macro = find(macros, name);

	return macro && macro->definitions ? macro : NULL;
}

const struct ocl_definition *ocl_macro_definitions(const struct ocl_macro *macro)
{
	return macro->definitions;
}

bool ocl_macro_has_more(const struct ocl_macro *macro)
{
	return macro->has_more;
}

bool ocl_macro_may_be_undefined(const struct ocl_macro *macro)
{
	return !macro->from_options || macro->undefined;
}

static bool is_one_of(struct cmn_view name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (cmn_view_equal(name, cmn_view_of(names[i])))
			return true;
	}
	return false;
}

enum ocl_knowledge ocl_macros_knowledge(const struct ocl_macros *macros, struct cmn_view name,
					const struct ocl_definition **ret_definition)
{
	/* The specification requires both of every OpenCL C compiler (section 6.10). */
	static const char *const always[] = { "__OPENCL_VERSION__", "__OPENCL_C_VERSION__" };
	/* Other languages' and systems' own; only a macro of the same name could make them true. */
	static const char *const never[] = { "__cplusplus", "_WIN32", "_MSC_VER", "__CUDACC__",
					     "__HIPCC__", "__METAL_VERSION__" };
	const struct ocl_macro *macro = find(macros, name);

	if (macro) {
		if (macro->in_text || macro->undefined || !macro->from_options)
			return OCL_UNKNOWN;
		if (macro->definitions->next)
			return OCL_DEFINED;
		*ret_definition = macro->definitions;
		return OCL_VALUE;
	}
	if (macros->cplusplus)
		return OCL_UNKNOWN;
	if (is_one_of(name, always, sizeof(always) / sizeof(always[0])))
		return OCL_DEFINED;
	if (is_one_of(name, never, sizeof(never) / sizeof(never[0])))
		return OCL_UNDEFINED;
	return OCL_UNKNOWN;
}

bool ocl_macros_is_predefinable(struct cmn_view name)
{
	/*
	 * Covers `clang -cl-std=CL3.0 -Xclang -finclude-default-header -dM -E`,
	 * of clang 14, and what hosts add. A prefix that is too short only costs
	 * a bypass.
	 */
	static const char *const prefixes[] = {
		"_",	 "cl_",	  "cles_",    "CL_",   "CLK_",	 "M_",	   "as_",      "ATOMIC_",
		"CHAR_", "DBL_",  "FLT_",     "FP_",   "HALF_",	 "HUGE_",  "INT_",     "LONG_",
		"MAX_",	 "SCHAR_", "SHRT_",   "UCHAR_", "UINT_", "ULONG_", "USHRT_",
	};
	static const char *const names[] = { "INFINITY", "MAXFLOAT", "NAN",  "NULL",
					     "kernel_exec", "linux", "unix", "i386" };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		size_t len = strlen(prefixes[i]);

		if (name.len >= len && memcmp(name.data, prefixes[i], len) == 0)
			return true;
	}
	return is_one_of(name, names, sizeof(names) / sizeof(names[0]));
}
