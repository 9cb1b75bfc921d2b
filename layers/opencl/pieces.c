/* SPDX-License-Identifier: MIT */
/*
 * pieces: nothing is freed before the pool, since lists share their tails and
 * tokens their hide sets.
 */
#include "layers/opencl/pieces.h"

#include <stdlib.h>
#include <string.h>

/* A header's name takes some dozen tokens. */
#define MAX_STEPS 4096

struct ocl_piece_block {
	struct ocl_piece_block *next;
	max_align_t data[];
};

void *ocl_pieces_alloc(struct ocl_pieces *pool, size_t size)
{
	struct ocl_piece_block *block = calloc(1, sizeof(*block) + size);

	if (!block) {
		pool->status = CMN_ERR_NOMEM;
		return NULL;
	}
	block->next = pool->blocks;
	pool->blocks = block;
	return block->data;
}

void ocl_pieces_release(struct ocl_pieces *pool)
{
	struct ocl_piece_block *block, *next;

	for (block = pool->blocks; block; block = next) {
		next = block->next;
		free(block);
	}
	pool->blocks = NULL;
	pool->steps = 0;
}

void ocl_pieces_give_up(struct ocl_pieces *pool)
{
	if (pool->status == CMN_OK)
		pool->status = CMN_MISS;
}

bool ocl_pieces_step(struct ocl_pieces *pool)
{
	if (pool->status == CMN_OK && ++pool->steps <= MAX_STEPS)
		return true;
	ocl_pieces_give_up(pool);
	return false;
}

struct ocl_piece *ocl_pieces_new(struct ocl_pieces *pool, const struct ocl_token *token,
				 struct ocl_hide *hide)
{
	struct ocl_piece *piece;

	if (!ocl_pieces_step(pool))
		return NULL;
	piece = ocl_pieces_alloc(pool, sizeof(*piece));
	if (piece)
		*piece = (struct ocl_piece){ *token, hide, NULL };
	return piece;
}

struct ocl_piece *ocl_pieces_of(struct ocl_pieces *pool, const struct ocl_tokens *tokens)
{
	struct ocl_piece *head = NULL, **tail = &head;

	for (size_t i = 0; i < tokens->count && pool->status == CMN_OK; i++) {
		*tail = ocl_pieces_new(pool, &tokens->items[i], NULL);
		if (*tail)
			tail = &(*tail)->next;
	}
	return head;
}

bool ocl_pieces_is_hidden(const struct ocl_hide *set, struct cmn_view name)
{
	for (; set; set = set->next) {
		if (cmn_view_equal(set->name, name))
			return true;
	}
	return false;
}

struct ocl_hide *ocl_pieces_hide(struct ocl_pieces *pool, struct ocl_hide *set,
				 struct cmn_view name)
{
	struct ocl_hide *hide;

	if (ocl_pieces_is_hidden(set, name))
		return set;
	hide = ocl_pieces_alloc(pool, sizeof(*hide));
	if (!hide)
		return set;
	*hide = (struct ocl_hide){ name, set };
	return hide;
}

struct ocl_hide *ocl_pieces_hide_common(struct ocl_pieces *pool, const struct ocl_hide *a,
					const struct ocl_hide *b)
{
	struct ocl_hide *set = NULL;

	for (; a; a = a->next) {
		if (ocl_pieces_is_hidden(b, a->name))
			set = ocl_pieces_hide(pool, set, a->name);
	}
	return set;
}

struct ocl_piece **ocl_pieces_hide_all(struct ocl_pieces *pool, struct ocl_piece **list,
				       const struct ocl_hide *set)
{
	for (; *list; list = &(*list)->next) {
		for (const struct ocl_hide *at = set; at; at = at->next)
			(*list)->hide = ocl_pieces_hide(pool, (*list)->hide, at->name);
	}
	return list;
}

void ocl_pieces_append(struct ocl_pieces *pool, struct ocl_piece_list *to,
		       const struct ocl_piece *list, bool space)
{
	for (const struct ocl_piece *piece = list; piece && pool->status == CMN_OK;
	     piece = piece->next) {
		struct ocl_piece *copy = ocl_pieces_new(pool, &piece->token, piece->hide);

		if (!copy)
			return;
		if (piece == list)
			copy->token.space = space;
		if (to->last)
			to->last->next = copy;
		else
			to->head = copy;
		to->last = copy;
	}
}

static struct cmn_view keep_text(struct ocl_pieces *pool, struct cmn_buffer *text)
{
	struct cmn_view view = { 0 };
	char *data = text->failed ? NULL : ocl_pieces_alloc(pool, text->len + 1);

	if (data) {
		memcpy(data, text->data, text->len);
		view = (struct cmn_view){ data, text->len };
	} else {
		pool->status = CMN_ERR_NOMEM;
	}
	cmn_buffer_release(text);
	return view;
}

struct ocl_piece *ocl_pieces_stringize(struct ocl_pieces *pool, const struct ocl_piece *list,
				       bool space)
{
	struct ocl_token token = { OCL_TOKEN_STRING, space, { 0 } };
	struct cmn_buffer text = { 0 };

	cmn_buffer_append_u8(&text, '"');
	for (const struct ocl_piece *piece = list; piece; piece = piece->next) {
		const char *data = piece->token.text.data;
		bool literal = piece->token.kind == OCL_TOKEN_STRING ||
			       piece->token.kind == OCL_TOKEN_CHARACTER;

		if (piece != list && piece->token.space)
			cmn_buffer_append_u8(&text, ' ');
		for (size_t i = 0; i < piece->token.text.len; i++) {
			if (literal && (data[i] == '"' || data[i] == '\\'))
				cmn_buffer_append_u8(&text, '\\');
			cmn_buffer_append_u8(&text, (uint8_t)data[i]);
		}
	}
	cmn_buffer_append_u8(&text, '"');
	token.text = keep_text(pool, &text);
	return ocl_pieces_new(pool, &token, NULL);
}

void ocl_pieces_paste(struct ocl_pieces *pool, struct ocl_piece *left,
		      const struct ocl_piece *right)
{
	struct cmn_buffer text = { 0 };
	struct ocl_tokens tokens = { 0 };

	cmn_buffer_append(&text, left->token.text.data, left->token.text.len);
	cmn_buffer_append(&text, right->token.text.data, right->token.text.len);
	left->token.text = keep_text(pool, &text);
	left->hide = ocl_pieces_hide_common(pool, left->hide, right->hide);
	if (pool->status != CMN_OK)
		return;
	if (ocl_tokens_cut(left->token.text, &tokens) != CMN_OK)
		pool->status = CMN_ERR_NOMEM;
	else if (tokens.count == 1)
		left->token.kind = tokens.items[0].kind;
	else
		ocl_pieces_give_up(pool);	/* compilers differ in what they make of it */
	ocl_tokens_release(&tokens);
}
