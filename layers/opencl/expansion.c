/* SPDX-License-Identifier: MIT */
/*
 * expansion: Prosser's algorithm (hide sets), run once per combination of
 * alternatives. The alternatives of each macro are chosen when it is first
 * met and kept for the run, since one line sees one definition of each.
 */
#include "layers/opencl/expansion.h"

#include <string.h>

#include "layers/opencl/pieces.h"

/* More combinations than these are no one's intention. */
#define MAX_RUNS 64
/* A header's name takes a few. */
#define MAX_NESTING 48
#define MAX_CHOICES 64

struct choice {
	const struct ocl_macro *macro;
	unsigned int count;	/* alternatives */
	unsigned int current;
};

struct run {
	const struct ocl_macros *macros;
	struct ocl_pieces pool;	/* all memory of the run */
	struct choice choices[MAX_CHOICES];	/* outlive a run: they lead from one to the next */
	unsigned int choice_count;
	int nesting;
	bool vanished;	/* a macro expanded to nothing */
};

static struct ocl_piece *expand(struct run *run, struct ocl_piece *in);

/* Which of count alternatives this run takes for the macro. */
static unsigned int choose(struct run *run, const struct ocl_macro *macro, unsigned int count)
{
	for (unsigned int i = 0; i < run->choice_count; i++) {
		if (run->choices[i].macro == macro)
			return run->choices[i].current;
	}
	if (run->choice_count == MAX_CHOICES) {
		ocl_pieces_give_up(&run->pool);
		return 0;
	}
	run->choices[run->choice_count++] = (struct choice){ macro, count, 0 };
	return 0;
}

/* The next combination; false: that was the last. */
static bool next_combination(struct run *run)
{
	while (run->choice_count) {
		struct choice *last = &run->choices[run->choice_count - 1];

		if (++last->current < last->count)
			return true;
		run->choice_count--;
	}
	return false;
}

/* The definition of name in this run, NULL: none. */
static const struct ocl_definition *definition_of(struct run *run, struct cmn_view name)
{
	const struct ocl_macro *macro = ocl_macros_find(run->macros, name);
	const struct ocl_definition *definition;
	unsigned int count = 0, chosen;
	bool open = !macro || ocl_macro_may_be_undefined(macro);

	if ((open && ocl_macros_is_predefinable(name)) || (macro && ocl_macro_has_more(macro)))
		ocl_pieces_give_up(&run->pool);
	if (!macro || run->pool.status != CMN_OK)
		return NULL;
	for (definition = ocl_macro_definitions(macro); definition; definition = definition->next)
		count++;
	chosen = choose(run, macro, count + open);
	definition = ocl_macro_definitions(macro);
	while (definition && chosen--)
		definition = definition->next;
	return definition;	/* one past the last: not defined */
}

/*
 * The arguments after the parenthesis at *at; *at ends on the closing one.
 * The list has a piece per argument, its "next" chain cut into ret.
 */
static bool read_arguments(struct ocl_pieces *pool, struct ocl_piece **at, struct ocl_piece **ret,
			   size_t parameter_count, bool variadic, size_t *ret_count)
{
	struct ocl_piece **tail;
	size_t count = 0;
	int depth = 0;

	tail = &ret[0];
	for (struct ocl_piece *piece = (*at)->next; piece && pool->status == CMN_OK;
	     piece = piece->next) {
		bool last_variadic = variadic && count + 1 == parameter_count;

		if (depth == 0 && ocl_token_is(&piece->token, ")")) {
			*at = piece;
			*ret_count = count + 1;
			return true;
		}
		if (depth == 0 && ocl_token_is(&piece->token, ",") && !last_variadic) {
			if (++count >= parameter_count)
				return false;
			tail = &ret[count];
			continue;
		}
		depth += ocl_token_is(&piece->token, "(") - ocl_token_is(&piece->token, ")");
		*tail = ocl_pieces_new(pool, &piece->token, piece->hide);
		if (*tail)
			tail = &(*tail)->next;
	}
	return false;
}

static int parameter_index(const struct ocl_definition *definition, const struct ocl_token *token)
{
	if (token->kind != OCL_TOKEN_IDENTIFIER)
		return -1;
	for (size_t i = 0; i < definition->parameters.count; i++) {
		if (cmn_view_equal(definition->parameters.items[i].text, token->text))
			return (int)i;
	}
	return -1;
}

/* After ##: the first token of list is pasted to what is there, the rest appended. */
static void append_pasted(struct ocl_pieces *pool, struct ocl_piece_list *to,
			  const struct ocl_piece *list)
{
	if (!list)
		return;	/* a placemarker */
	if (!to->last) {
		ocl_pieces_append(pool, to, list, false);
		return;
	}
	ocl_pieces_paste(pool, to->last, list);
	if (list->next)
		ocl_pieces_append(pool, to, list->next, list->next->token.space);
}

/* The body with arguments in place of parameters. */
static struct ocl_piece *substitute(struct run *run, const struct ocl_definition *definition,
				    struct ocl_piece **arguments)
{
	struct ocl_pieces *pool = &run->pool;
	struct ocl_piece_list to = { NULL, NULL };
	const struct ocl_tokens *body = &definition->body;

	for (size_t i = 0; i < body->count && pool->status == CMN_OK; i++) {
		const struct ocl_token *token = &body->items[i];
		const struct ocl_token *next = i + 1 < body->count ? token + 1 : NULL;
		struct ocl_piece single = { *token, NULL, NULL };
		bool after_paste = false, before_paste;
		const struct ocl_piece *list = &single;
		int index;

		if (i && ocl_token_is(token, "##") && next) {
			/* GNU's comma before variadic arguments has rules of its own. */
			if (definition->variadic)
				ocl_pieces_give_up(pool);
			after_paste = true;
			token = &body->items[++i];
			next = i + 1 < body->count ? token + 1 : NULL;
			single.token = *token;
		}
		index = definition->function_like && ocl_token_is(token, "#") && next ?
				parameter_index(definition, next) : -1;
		before_paste = next && ocl_token_is(next, "##");
		if (index >= 0) {
			list = ocl_pieces_stringize(pool, arguments[index], token->space);
			i++;
		} else if (arguments && (index = parameter_index(definition, token)) >= 0) {
			list = arguments[index];
			/* An empty operand before ## would let the paste reach further back. */
			if (!list && before_paste)
				ocl_pieces_give_up(pool);
			if (!after_paste && !before_paste)
				list = expand(run, arguments[index]);
		}
		if (pool->status != CMN_OK)
			break;
		if (after_paste)
			append_pasted(pool, &to, list);
		else
			ocl_pieces_append(pool, &to, list, token->space);
	}
	return to.head;
}

/* Replaces the macro at *at, if it is one here, by its expansion; false: it stays. */
static bool replace(struct run *run, struct ocl_piece **at)
{
	struct ocl_pieces *pool = &run->pool;
	struct ocl_piece *name = *at, *close = name, **end, *rest;
	const struct ocl_definition *definition;
	struct ocl_piece **arguments = NULL;
	struct ocl_hide *hide = name->hide;
	size_t count = 0, want;

	if (name->token.kind != OCL_TOKEN_IDENTIFIER ||
	    ocl_pieces_is_hidden(name->hide, name->token.text))
		return false;
	definition = definition_of(run, name->token.text);
	if (!definition)
		return false;
	if (definition->function_like) {
		want = definition->parameters.count;
		if (!name->next || !ocl_token_is(&name->next->token, "("))
			return false;
		arguments = ocl_pieces_alloc(pool, (want + 1) * sizeof(*arguments));
		close = name->next;
		if (!arguments ||
		    !read_arguments(pool, &close, arguments, want ? want : 1,
				    definition->variadic, &count) ||
		    (count != want && !(want == 0 && !arguments[0]))) {
			/* An error, or GNU's missing variadic arguments. */
			ocl_pieces_give_up(pool);
			return false;
		}
		hide = ocl_pieces_hide_common(pool, hide, close->hide);
	}
	hide = ocl_pieces_hide(pool, hide, name->token.text);
	rest = close->next;
	*at = substitute(run, definition, arguments);
	if (*at)
		(*at)->token.space = name->token.space;
	else
		run->vanished = true;
	end = ocl_pieces_hide_all(pool, at, hide);
	*end = rest;
	return true;
}

/* Expands a list of its own copies, which stays the caller's to use again. */
static struct ocl_piece *expand(struct run *run, struct ocl_piece *in)
{
	struct ocl_piece_list copy = { 0 };

	if (++run->nesting > MAX_NESTING)
		ocl_pieces_give_up(&run->pool);
	if (run->pool.status == CMN_OK)
		ocl_pieces_append(&run->pool, &copy, in, in && in->token.space);
	for (struct ocl_piece **at = &copy.head; *at && run->pool.status == CMN_OK;) {
		if (ocl_pieces_step(&run->pool) && !replace(run, at))
			at = &(*at)->next;
	}
	run->nesting--;
	return copy.head;
}

/* "name", or what stands between < and > with one space where there were blanks. */
static bool header_name(const struct ocl_piece *list, struct cmn_buffer *ret)
{
	if (list && list->token.kind == OCL_TOKEN_STRING) {
		cmn_buffer_append(ret, list->token.text.data, list->token.text.len);
		return ret->len > 2 && ret->data[ret->len - 1] == '"';
	}
	if (!list || !ocl_token_is(&list->token, "<"))
		return false;
	for (const struct ocl_piece *piece = list; piece; piece = piece->next) {
		const char *data = piece->token.text.data;

		if (piece != list && piece->token.space)
			cmn_buffer_append_u8(ret, ' ');
		cmn_buffer_append(ret, data, piece->token.text.len);
		/* clang stops at a token '>'; ">>" or ">=" is not one. */
		if (ocl_token_is(&piece->token, ">"))
			return true;
	}
	return false;
}

enum cmn_status ocl_expansion_each_header(const struct ocl_macros *macros, struct cmn_view operand,
					  enum cmn_status (*found)(void *ctx, struct cmn_view name),
					  void *ctx)
{
	struct run run = { .macros = macros };
	struct ocl_tokens tokens = { 0 };
	unsigned int runs = 0;

	run.pool.status = ocl_tokens_cut(operand, &tokens);
	do {
		struct cmn_buffer name = { 0 };
		struct ocl_piece *list;

		run.vanished = false;
		if (++runs > MAX_RUNS)
			ocl_pieces_give_up(&run.pool);
		list = expand(&run, ocl_pieces_of(&run.pool, &tokens));
		if (run.pool.status == CMN_OK && header_name(list, &name)) {
			/* Whether blanks around what vanished count is a compiler's own affair. */
			if (name.failed)
				run.pool.status = CMN_ERR_NOMEM;
			else if (run.vanished && memchr(name.data, ' ', name.len))
				ocl_pieces_give_up(&run.pool);
			else
				run.pool.status = found(ctx, cmn_buffer_view(&name));
		}
		cmn_buffer_release(&name);
		ocl_pieces_release(&run.pool);
	} while (run.pool.status == CMN_OK && next_combination(&run));
	ocl_tokens_release(&tokens);
	return run.pool.status;
}
