/* SPDX-License-Identifier: MIT */
/*
 * directives: what a text's reader comes upon, put down as events, and the
 * tree of its conditionals. Knows the directives by name; which bytes are
 * one, source_text knows. Belongs to one thread.
 */
#ifndef OPENCL_DIRECTIVES_H
#define OPENCL_DIRECTIVES_H

#include <stdbool.h>
#include <stddef.h>

#include "common/bytes.h"
#include "layers/opencl/source_text.h"

struct ocl_conditional;

struct ocl_directives {
	struct ocl_source_text *text;	/* gets the events and branches */
	int branch;	/* in which the next event stands; -1 at first */
	bool failed;	/* out of memory, for good */
	struct ocl_conditional *open;	/* those without their #endif yet */
	size_t depth, open_cap;
};

void ocl_directives_release(struct ocl_directives *directives);	/* not the text */

/* An event without a text. reason: static, may be NULL. */
void ocl_directives_add_word(struct ocl_directives *directives, enum ocl_event_kind kind,
			     const char *reason);
/* The name after '#' has been read; events within the line come before its end. */
void ocl_directives_begin(struct ocl_directives *directives, struct cmn_view word);
/* The line has ended. operand: what follows word; comment_over_lines: a comment ran on. */
void ocl_directives_end(struct ocl_directives *directives, struct cmn_view word,
			struct cmn_view operand, bool comment_over_lines);

#endif
