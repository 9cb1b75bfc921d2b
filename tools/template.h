/* SPDX-License-Identifier: MIT */
/*
 * template: fills the values of a json_output.h tree into a template. The templates are separate files,
 * embedded at build time.
 *
 *   {{name}}             the value, a text or a number, escaped
 *   {{name:80}}          at most 80 characters of it
 *   {{&name}}            the value as it is: for texts of this project
 *   {{.}}                the element itself
 *   {{#name}}...{{/name}}  once for each element of an array; once for an object, or for a value
 *                        that is not null, false, 0 or empty. Names inside are looked up in the
 *                        element first, then in what surrounds it.
 *   {{^name}}...{{/name}}  once if the same block with # would give nothing
 *   {{=name}}...{{/name}}  defines a part to be inserted elsewhere; gives nothing itself
 *   {{>name}}            inserts that part, with the values of this place
 *   {{! a comment }}
 *
 * A block does not contain a block of its own name. If a line has nothing but a tag of a block, its
 * end is removed with the tag; so is a line end behind a part.
 */
#ifndef TOOLS_TEMPLATE_H
#define TOOLS_TEMPLATE_H

#include "common/bytes.h"
#include "tools/json_output.h"

/* Appends text, of which max characters, as it has to be written where the template puts values. */
typedef void template_escape(struct cmn_buffer *ret, struct cmn_view text, size_t max);

/* A template that is no good ends the process: any test of it comes by there. */
void template_render(struct cmn_buffer *ret, const char *text, struct json_object *values,
		     template_escape *escape);

#endif
