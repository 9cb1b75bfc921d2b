/* SPDX-License-Identifier: MIT */
/*
 * json_reader: the members of one JSON object (RFC 8259) in turn, for what
 * this project writes itself: strings, whole numbers, and objects of these.
 */
#ifndef TOOLS_JSON_READER_H
#define TOOLS_JSON_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/bytes.h"

struct json_reader {
	const char *at, *end;
	bool failed;		/* it is no such object */
};

struct json_member {
	enum { JSON_STRING, JSON_NUMBER, JSON_OBJECT } kind;
	struct cmn_buffer name;
	struct cmn_buffer string;
	uint64_t number;
	struct json_reader object;	/* to be read like another; the one that it is in stands behind it already */
};
void json_member_release(struct json_member *member);

/* At the beginning of an object. */
struct json_reader json_reader_of(struct cmn_view text);
/* false: there are no more, or what follows is damaged. *ret is released by its next use. */
bool json_reader_next(struct json_reader *reader, struct json_member *ret);

#endif
