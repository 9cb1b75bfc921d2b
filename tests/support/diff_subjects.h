/* SPDX-License-Identifier: MIT */
/*
 * diff_subjects: the part of a differential program (one that asks and misuses
 * everything of an API, one line "subject.case: answer" each) that knows
 * nothing of the API: how lines are printed, and the processes that subjects
 * and dangerous cases run in. Each suite's differential.h defines struct diff,
 * and its sources the session.
 */
#ifndef TESTS_SUPPORT_DIFF_SUBJECTS_H
#define TESTS_SUPPORT_DIFF_SUBJECTS_H

#include "tests/support/posix.h"

/* What every suite's struct diff begins with. */
struct diff_running {
	const char *subject;		/* the one that runs */
	unsigned int patience_s;	/* seconds that a subject may take, and each case that it survives */
};

struct diff;

struct diff_subject {
	const char *name;
	void (*run)(struct diff *diff);
	bool own_session;	/* it opens the session itself */
};

/* Each suite's own: what the API wants before and after all else. */
void diff_start_session(struct diff *diff);
void diff_end_session(struct diff *diff);

/* One line; the format is what follows the colon. */
void diff_say(const struct diff *diff, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The same in parts: printf between them, without a newline. */
void diff_open(const struct diff *diff, const char *name);
void diff_close(void);
/*
 * Escaped, in brackets. varying says how long the part is that text begins with
 * and that differs from run to run, 0: none; word stands in its place.
 */
void diff_print_masked(const char *text, size_t size,
		       size_t (*varying)(const char *text, size_t size), const char *word);

/*
 * Runs act in a child of its own, since the driver may not survive it; what it
 * prints is the line's, and so is how it ended, if not well.
 */
void diff_survive(struct diff *diff, const char *name, void (*act)(struct diff *diff, void *data),
		  void *data);
/*
 * SURVIVE(diff, "case") ... does so with the statement that follows, in a session of its own
 * (diff_start_session), which it may spoil; it must not leave that by break or return.
 */
#define SURVIVE(diff, name) for (; diff_begins_case(diff, name); diff_end_process())
bool diff_begins_case(struct diff *diff, const char *name);
/* For an act with a session of its own: the process ends as applications do, and the layer with it. */
void diff_end_process(void) __attribute__((noreturn));
/* Ends the subject well, at once and with what it has printed: it cannot be set up with this driver. */
void diff_leave(void) __attribute__((noreturn));

/* Before the first line: what came before a crash is to be seen. false: it would not be. */
bool diff_print_by_lines(void);
/*
 * Runs, each in a process of its own, or only lists the subjects up to a NULL
 * name that names (to a NULL) has; none there: all.
 */
void diff_run_subjects(struct diff *diff, const struct diff_subject *subjects, bool list,
		       char **names);

#endif
