/* SPDX-License-Identifier: MIT */
/*
 * pieces: lists of tokens as macro expansion shapes them: with hide sets,
 * appended to each other, made strings, pasted. All memory of an expansion is
 * one pool's, with a bound on its steps. Knows no macro. Belongs to one thread.
 */
#ifndef OPENCL_PIECES_H
#define OPENCL_PIECES_H

#include <stdbool.h>
#include <stddef.h>

#include "common/bytes.h"
#include "common/status.h"
#include "layers/opencl/tokens.h"

/* Macros that a token must not be expanded by; tails are shared. */
struct ocl_hide {
	struct cmn_view name;
	struct ocl_hide *next;
};

struct ocl_piece {
	struct ocl_token token;
	struct ocl_hide *hide;
	struct ocl_piece *next;
};

struct ocl_piece_list {
	struct ocl_piece *head;
	struct ocl_piece *last;
};

/*
 * {0} is a valid empty pool. Once status is not CMN_OK (CMN_MISS: too long or
 * given up; CMN_ERR_NOMEM) lists are cut short and must not be judged.
 */
struct ocl_pieces {
	struct ocl_piece_block *blocks;
	unsigned int steps;
	enum cmn_status status;
};

/* Frees all that came from the pool and starts its steps anew; status stays. */
void ocl_pieces_release(struct ocl_pieces *pool);
void ocl_pieces_give_up(struct ocl_pieces *pool);	/* CMN_MISS, unless it has failed already */
bool ocl_pieces_step(struct ocl_pieces *pool);		/* false: too many, or failed before */
void *ocl_pieces_alloc(struct ocl_pieces *pool, size_t size);	/* zeroed; NULL: status is set */

/* NULL: status is set. */
struct ocl_piece *ocl_pieces_new(struct ocl_pieces *pool, const struct ocl_token *token,
				 struct ocl_hide *hide);
struct ocl_piece *ocl_pieces_of(struct ocl_pieces *pool, const struct ocl_tokens *tokens);
/* Appends copies of list; space is the first one's. */
void ocl_pieces_append(struct ocl_pieces *pool, struct ocl_piece_list *to,
		       const struct ocl_piece *list, bool space);

bool ocl_pieces_is_hidden(const struct ocl_hide *set, struct cmn_view name);
struct ocl_hide *ocl_pieces_hide(struct ocl_pieces *pool, struct ocl_hide *set,
				 struct cmn_view name);
struct ocl_hide *ocl_pieces_hide_common(struct ocl_pieces *pool, const struct ocl_hide *a,
					const struct ocl_hide *b);
/* Puts set into every token of list; returns its last "next". */
struct ocl_piece **ocl_pieces_hide_all(struct ocl_pieces *pool, struct ocl_piece **list,
				       const struct ocl_hide *set);

/*
 * The # operator: one space where there were blanks, quotes and backslashes of
 * literals escaped. space: before the string.
 */
struct ocl_piece *ocl_pieces_stringize(struct ocl_pieces *pool, const struct ocl_piece *list,
				       bool space);
/* The ## operator on two tokens. CMN_MISS where they do not make one token. */
void ocl_pieces_paste(struct ocl_pieces *pool, struct ocl_piece *left,
		      const struct ocl_piece *right);

#endif
