/* SPDX-License-Identifier: MIT */
/* named_il: a module of SPIR-V with the name of its source's file, as compilers put it in. */
#ifndef TESTS_SUPPORT_NAMED_IL_H
#define TESTS_SUPPORT_NAMED_IL_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* malloc'd. The module has an OpSource without a file, and functions. */
static inline uint32_t *named_il(const uint32_t *words, size_t size, const char *file, size_t *ret_size)
{
	enum { HEADER_WORDS = 5, BOUND = 3, OP_SOURCE = 3, OP_STRING = 7, OP_LINE = 8, OP_FUNCTION = 54 };
	size_t text = strlen(file) / 4 + 1, at = HEADER_WORDS, end = HEADER_WORDS;
	uint32_t *ret = calloc(2 * size / 4 + text + 8, 4), id = words[BOUND];

	if (!ret)
		abort();
	memcpy(ret, words, HEADER_WORDS * sizeof(*words));
	ret[BOUND]++;
	for (; at < size / 4; at += words[at] >> 16) {
		const uint32_t line[] = { 4 << 16 | OP_LINE, id, 1, 1 };
		size_t count = words[at] >> 16;

		if ((words[at] & 0xffff) == OP_SOURCE) {
			ret[end++] = (uint32_t)(text + 2) << 16 | OP_STRING;
			ret[end++] = id;
			memcpy(ret + end, file, strlen(file));
			end += text;
		} else if ((words[at] & 0xffff) == OP_FUNCTION) {
			memcpy(ret + end, line, sizeof(line));
			end += 4;
		}
		memcpy(ret + end, words + at, count * sizeof(*words));
		end += count;
		if ((words[at] & 0xffff) == OP_SOURCE) {
			ret[end - count] = 4 << 16 | OP_SOURCE;
			ret[end++] = id;
		}
	}
	*ret_size = end * sizeof(*ret);
	return ret;
}

#endif
