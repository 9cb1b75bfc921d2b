/* SPDX-License-Identifier: MIT */
/*
 * source_text: one source or header, read once from end to end: its
 * directives, the tree of its conditionals, and words that can make a build
 * depend on more than its text. Nothing is judged or expanded here.
 *
 * Lexed as clang does, which every OpenCL front end is built on: splices also
 * with blanks before the newline, a carriage return alone ends a line, string
 * and character literals end at the newline, NUL is a blank.
 */
#ifndef OPENCL_SOURCE_TEXT_H
#define OPENCL_SOURCE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/bytes.h"
#include "common/status.h"

enum ocl_event_kind {
	OCL_EVENT_INCLUDE,	/* #include, #import; text: what follows the word */
	OCL_EVENT_DEFINE,	/* text: name, parameters, body */
	OCL_EVENT_UNDEF,	/* text: name */
	OCL_EVENT_REFUSE,	/* cannot be cached; reason says why */
	OCL_EVENT_DIRECTORY,	/* __FILE__, __BASE_FILE__ */
	OCL_EVENT_PASTE,	/* ## */
	OCL_EVENT_PIECE,	/* an identifier that ## could complete to a refused one */
	OCL_EVENT_PRAGMA,	/* _Pragma */
	OCL_EVENT_DEPENDENCY,	/* the word "dependency", anywhere */
};

struct ocl_event {
	enum ocl_event_kind kind;
	int branch;		/* index, or -1: unconditional */
	bool live;		/* for the scan: known to count */
	const char *reason;	/* static */
	struct cmn_view text;	/* into the text, comments included */
};

enum ocl_branch_kind {
	OCL_BRANCH_IF,		/* also #elif */
	OCL_BRANCH_IFDEF,
	OCL_BRANCH_IFNDEF,
	OCL_BRANCH_ELSE,
};

/* One branch of a conditional; parents and earlier branches have smaller indices. */
struct ocl_branch {
	enum ocl_branch_kind kind;
	int parent;		/* enclosing branch, or -1 */
	int previous;		/* earlier branch of the same conditional, or -1 */
	struct cmn_view text;	/* condition */
};

struct ocl_source_text {
	struct cmn_buffer storage;	/* owned bytes; empty: borrowed */
	struct ocl_event *events;
	size_t event_count, event_cap;
	struct ocl_branch *branches;
	size_t branch_count, branch_cap;
};

/*
 * Reads bytes, which must live as long as *ret. cplusplus: C++ for OpenCL,
 * whose raw strings and digit separators are refused. CMN_ERR_NOMEM: *ret is
 * to be released all the same.
 */
CMN_CHECKED enum cmn_status ocl_source_text_init(struct ocl_source_text *ret,
						 struct cmn_view bytes, bool cplusplus);
void ocl_source_text_release(struct ocl_source_text *text);

#endif
