/* SPDX-License-Identifier: MIT */
/* base64: bytes as text (RFC 4648, 4), each with one encoding. Pure; thread-safe. */
#ifndef COMMON_BASE64_H
#define COMMON_BASE64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"

/* Of the text of so many bytes, with the terminator. */
#define CMN_BASE64_SIZE(len) (((len) + 2) / 3 * 4 + 1)

void cmn_base64_encode(const uint8_t *bytes, size_t len, char *ret);
/* false: it is not the text of len bytes; *ret may be written to. */
bool cmn_base64_decode(struct cmn_view text, uint8_t *ret, size_t len);

#endif
