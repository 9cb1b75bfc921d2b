/* SPDX-License-Identifier: MIT */
/*
 * terminal: what a terminal gets beside the text: colours, and one line on
 * stderr that says how far a long verb is. A file, a pipe and a dumb terminal
 * (TERM unset or "dumb") get neither; NO_COLOR (no-color.org), if it is not
 * empty, turns colours off.
 */
#ifndef TOOLS_TERMINAL_H
#define TOOLS_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>

bool terminal_is(int fd);
/* How wide it is, also where it is a dumb one; 0: it is none. */
unsigned int terminal_columns(int fd);
/* A sequence for text on fd, or "". terminal_plain ends any. */
const char *terminal_sequence(int fd, const char *sequence);
#define terminal_bold(fd) terminal_sequence(fd, "\033[1m")
#define terminal_good(fd) terminal_sequence(fd, "\033[32m")	/* green */
#define terminal_warning(fd) terminal_sequence(fd, "\033[33m")	/* yellow */
#define terminal_bad(fd) terminal_sequence(fd, "\033[31m")	/* red */
#define terminal_plain(fd) terminal_sequence(fd, "\033[0m")

/*
 * The progress of one thing at a time, drawn ten times a second at most and
 * gone at the end. total 0: not known, done is shown as a count; done may pass
 * total, which may be an estimate.
 */
void terminal_progress(const char *what, uint64_t done, uint64_t total);
/* A count of what is often over at once: nothing is drawn for the first ones. */
void terminal_progress_count(const char *what, uint64_t done);
/* Takes the line away: before anything else is written there, and at the end. */
void terminal_progress_hide(void);

#endif
