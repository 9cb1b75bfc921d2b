/* SPDX-License-Identifier: MIT */
/*
 * directives: events and branches are appended only; the stack of open
 * conditionals says where the next one belongs.
 */
#include "layers/opencl/directives.h"

#include <stdlib.h>
#include <string.h>

/* Of events, and of branches, in one text: more are refused, since each takes memory. */
enum { MAX_OF_A_TEXT = 1000000 };

struct ocl_conditional {
	int parent;	/* branch that encloses the whole */
	int last;	/* its latest branch */
};

/* NULL: no memory, or the text has too many, and the last one refuses it. */
static struct ocl_event *add_event(struct ocl_directives *directives, enum ocl_event_kind kind)
{
	struct ocl_source_text *text = directives->text;
	struct ocl_event *event;

	if (text->event_count == MAX_OF_A_TEXT) {
		text->events[MAX_OF_A_TEXT - 1] = (struct ocl_event){
			.kind = OCL_EVENT_REFUSE, .branch = -1, .reason = "too-complex",
		};
		return NULL;
	}
	if (text->event_count == text->event_cap) {
		size_t cap = text->event_cap ? 2 * text->event_cap : 32;
		struct ocl_event *events = realloc(text->events, cap * sizeof(*events));

		if (!events) {
			directives->failed = true;
			return NULL;
		}
		text->events = events;
		text->event_cap = cap;
	}
	event = &text->events[text->event_count++];
	*event = (struct ocl_event){ .kind = kind, .branch = directives->branch };
	return event;
}

/* Words come in crowds: one event of a kind and branch in a row is enough. */
void ocl_directives_add_word(struct ocl_directives *directives, enum ocl_event_kind kind,
			     const char *reason)
{
	struct ocl_source_text *text = directives->text;
	struct ocl_event *event;

	if (text->event_count) {
		event = &text->events[text->event_count - 1];
		if (event->kind == kind && event->branch == directives->branch &&
		    event->reason == reason)
			return;
	}
	event = add_event(directives, kind);
	if (event)
		event->reason = reason;
}

static bool view_is(struct cmn_view view, const char *text)
{
	return cmn_view_equal(view, cmn_view_of(text));
}

static void open_branch(struct ocl_directives *directives, enum ocl_branch_kind kind, int parent,
			int previous, struct cmn_view condition)
{
	struct ocl_source_text *text = directives->text;

	if (text->branch_count == MAX_OF_A_TEXT) {
		directives->branch = -1;
		ocl_directives_add_word(directives, OCL_EVENT_REFUSE, "too-complex");
		return;
	}
	if (text->branch_count == text->branch_cap) {
		size_t cap = text->branch_cap ? 2 * text->branch_cap : 32;
		struct ocl_branch *branches = realloc(text->branches, cap * sizeof(*branches));

		if (!branches) {
			directives->failed = true;
			return;
		}
		text->branches = branches;
		text->branch_cap = cap;
	}
	text->branches[text->branch_count] =
		(struct ocl_branch){ kind, parent, previous, condition };
	directives->branch = (int)text->branch_count++;
	directives->open[directives->depth - 1].last = directives->branch;
}

static void open_conditional(struct ocl_directives *directives, enum ocl_branch_kind kind,
			     struct cmn_view condition)
{
	if (directives->depth == directives->open_cap) {
		size_t cap = directives->open_cap ? 2 * directives->open_cap : 16;
		struct ocl_conditional *open = realloc(directives->open, cap * sizeof(*open));

		if (!open) {
			directives->failed = true;
			return;
		}
		directives->open = open;
		directives->open_cap = cap;
	}
	directives->open[directives->depth++].parent = directives->branch;
	open_branch(directives, kind, directives->branch, -1, condition);
}

static void end_conditional(struct ocl_directives *directives, struct cmn_view word,
			    struct cmn_view text)
{
	if (view_is(word, "if"))
		open_conditional(directives, OCL_BRANCH_IF, text);
	else if (view_is(word, "ifdef"))
		open_conditional(directives, OCL_BRANCH_IFDEF, text);
	else if (view_is(word, "ifndef"))
		open_conditional(directives, OCL_BRANCH_IFNDEF, text);
	else if (directives->depth == 0)
		return;	/* an error for every driver */
	else if (view_is(word, "endif"))
		directives->branch = directives->open[--directives->depth].parent;
	else
		open_branch(directives, view_is(word, "elif") ? OCL_BRANCH_IF : OCL_BRANCH_ELSE,
			    directives->open[directives->depth - 1].parent,
			    directives->open[directives->depth - 1].last, text);
}

static bool contains(struct cmn_view view, const char *text)
{
	return view.len && memmem(view.data, view.len, text, strlen(text));
}

/* Why a directive cannot be cached, or NULL. */
static const char *reason_against(struct cmn_view word, struct cmn_view operand,
				  bool comment_over_lines)
{
	bool pragma = view_is(word, "pragma");

	if (view_is(word, "elifdef") || view_is(word, "elifndef"))
		return "elifdef";	/* unknown to older compilers */
	if (view_is(word, "include_next"))
		return "include-next";
	if (view_is(word, "embed"))
		return "embed";
	if (view_is(word, "__include_macros"))
		return "include-macros";
	/* Some compilers take these lines as they stand: for them the comment ends here. */
	if (comment_over_lines && (pragma || view_is(word, "error") || view_is(word, "warning")))
		return "odd-comment";
	if (pragma && (contains(operand, "dependency") || contains(operand, "include_alias") ||
		       contains(operand, "module")))
		return "pragma-dependency";
	return NULL;
}

void ocl_directives_begin(struct ocl_directives *directives, struct cmn_view word)
{
	/* A condition is evaluated in the enclosing branch, and an #elif in none of its own. */
	if (directives->depth && (view_is(word, "elif") || view_is(word, "else")))
		directives->branch = directives->open[directives->depth - 1].parent;
}

static void add_text(struct ocl_directives *directives, enum ocl_event_kind kind,
		     struct cmn_view text)
{
	struct ocl_event *event = add_event(directives, kind);

	if (event)
		event->text = text;
}

void ocl_directives_end(struct ocl_directives *directives, struct cmn_view word,
			struct cmn_view operand, bool comment_over_lines)
{
	const char *reason;

	if (view_is(word, "include") || view_is(word, "import")) {
		add_text(directives, OCL_EVENT_INCLUDE, operand);
	} else if (view_is(word, "define")) {
		add_text(directives, OCL_EVENT_DEFINE, operand);
	} else if (view_is(word, "undef")) {
		add_text(directives, OCL_EVENT_UNDEF, operand);
	} else if (view_is(word, "if") || view_is(word, "ifdef") || view_is(word, "ifndef") ||
		   view_is(word, "elif") || view_is(word, "else") || view_is(word, "endif")) {
		end_conditional(directives, word, operand);
	} else {
		reason = reason_against(word, operand, comment_over_lines);
		if (reason)
			ocl_directives_add_word(directives, OCL_EVENT_REFUSE, reason);
	}
}

void ocl_directives_release(struct ocl_directives *directives)
{
	free(directives->open);
	directives->open = NULL;
	directives->depth = directives->open_cap = 0;
}
