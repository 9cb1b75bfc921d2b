/* SPDX-License-Identifier: MIT */
/*
 * json: text as JSON strings (RFC 8259), for traces. The layers load no library
 * for JSON; the ckcache command uses json-c. Bytes that are not UTF-8 become
 * U+FFFD, so that the output is always valid.
 */
#ifndef COMMON_JSON_H
#define COMMON_JSON_H

#include <stdbool.h>

#include "common/bytes.h"

/* Appends text with its quotes. */
void cmn_json_append_string(struct cmn_buffer *buf, struct cmn_view text);
/* Bytes of the well-formed UTF-8 character at the start of text (Unicode, table 3-7); 0: none. */
size_t cmn_json_utf8_len(struct cmn_view text);
/* UTF-8 without control characters other than tab and line ends: fit for people. */
bool cmn_json_is_text(struct cmn_view text);

#endif
