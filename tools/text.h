/* SPDX-License-Identifier: MIT */
/*
 * text: sizes and times as people read them, in units that fit. What a script
 * reads (--json) has the numbers as they are.
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

#endif
