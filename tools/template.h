/* SPDX-License-Identifier: MIT */
/*
 * template: text with places for values, which a tree of json.h has. The templates are files of
 * their own, embedded at build time.
 *
 *   {{name}}             the value, a text or a number, escaped
 *   {{name:80}}          at most 80 characters of it
 *   {{&name}}            the value as it is: for texts of this project
 *   {{.}}                the element itself
 *   {{#name}}...{{/name}}  for each element of an array; for an object, or a value that is
 *                        neither null, false, 0 nor empty, once. Names within are looked for in
 *                        the element first, then in what is around it.
 *   {{^name}}...{{/name}}  once where the same with # would be nothing
 *   {{=name}}...{{/name}}  a part to be inserted; is nothing where it stands
 *   {{>name}}            that part, with the values of this place
 *   {{! a comment }}
 *
 * A block does not contain one of its own name. The end of a line that has nothing but one of
 * the block's tags goes with it, and so does one behind a part.
 */
#ifndef TOOLS_TEMPLATE_H
#define TOOLS_TEMPLATE_H

#include "common/bytes.h"
#include "tools/json.h"

/* Appends text, of which max characters, as it has to be written where the template puts values. */
typedef void template_escape(struct cmn_buffer *ret, struct cmn_view text, size_t max);

/*
 * ret->failed: out of memory. A template that is no good ends the process: any test of it comes
 * by there.
 */
void template_render(struct cmn_buffer *ret, const char *text, struct json_object *values,
		     template_escape *escape);

#endif
