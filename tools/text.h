/* SPDX-License-Identifier: MIT */

/*
 * text: sizes and times as people read them, in units that fit (what a script reads, --json, has the numbers
 * as they are); and what a terminal gets beside the text: colours, and one line on stderr that says how far a
 * long verb is. A file, a pipe and a dumb terminal (TERM unset or "dumb") get neither; NO_COLOR
 * (no-color.org), if it is not empty, turns colours off.
 */
#ifndef TOOLS_TEXT_H
#define TOOLS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"

#define TEXT_SIZE 32	/* holds what any of these writes */

/* Each returns ret. "512 B", "1.5 KiB"; "0.12 ms", "3.40 s", "12 min 5 s", "3 h 2 min". */
const char *text_bytes(uint64_t bytes, char ret[TEXT_SIZE]);
const char *text_time(uint64_t ns, char ret[TEXT_SIZE]);
const char *text_share(uint64_t part, uint64_t whole, char ret[TEXT_SIZE]);	/* "12.5 %"; of nothing "-" */

/* "2026-11-20 17:05", or with its seconds ":21", of this place; 0: "-". */
const char *text_date(uint64_t ns, bool seconds, char ret[TEXT_SIZE]);

/*
 * The first line that is neither blank, a directive of the preprocessor nor a comment, without the
 * blanks before it; where there is none, the first one that is not blank.
 */
struct cmn_view text_first_line(struct cmn_view text);

/* Appends a text in one line: blanks for what is not to be printed (printable.h), "..." for what is over max bytes. */
void text_append_clean(struct cmn_buffer *buf, struct cmn_view text, size_t max);
/*
 * An entry as `ckcache list` shows it: eight digits of each hash of
 * "hash/hash/hash/hash/n.src", and the number.
 */
void text_append_short_path(struct cmn_buffer *buf, const char *path);
/*
 * Appends UTF-8 as one cell of a table: that many characters, cut or padded
 * with blanks. What is not to be printed becomes a blank.
 */
void text_append_cell(struct cmn_buffer *buf, const char *text, size_t columns);
/*
 * Breaks what buf has from start on, one line without its end, between words, so that no line is wider
 * than columns (0: it stays); the following lines begin with indent blanks. Sequences for colours take
 * no room. A word that is too long stays whole.
 */
void text_wrap(struct cmn_buffer *buf, size_t start, size_t indent, size_t columns);

/*
 * terminal: what a terminal gets beside the text: colours, and one line on
 * stderr that says how far a long verb is. A file, a pipe and a dumb terminal
 * (TERM unset or "dumb") get neither; NO_COLOR (no-color.org), if it is not
 * empty, turns colours off.
 */
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
