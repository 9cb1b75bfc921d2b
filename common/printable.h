/* SPDX-License-Identifier: MIT */
/*
 * printable: text of anybody's making, such as names of kernels and messages of compilers, as people may
 * see it. No byte of it is a command for a terminal, and none hides or reorders others: control
 * characters (C0, DEL, C1), marks of direction, separators of lines, characters without a shape
 * (Unicode 15), and bytes that are no UTF-8. Pure.
 */
#ifndef COMMON_PRINTABLE_H
#define COMMON_PRINTABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/bytes.h"

/* A character of a text. */
struct cmn_character {
	uint32_t number;	/* of Unicode; of a byte that is no UTF-8: U+FFFD */
	size_t len;		/* bytes; 0: the text is at its end */
	bool shown;		/* it may be printed as it is */
};
struct cmn_character cmn_printable_next(struct cmn_view text);

/* Appends at most max bytes of the text; instead of each character that is not shown that one. */
void cmn_printable_append(struct cmn_buffer *buf, struct cmn_view text, size_t max, char instead);
/* The same in place: the text becomes no longer. */
void cmn_printable_clean(char *text, char instead);

#endif
