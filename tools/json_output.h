/* SPDX-License-Identifier: MIT */

/*
 * json_output: what --json prints, as a tree of json-c, and traces read with it; and templates, which take their
 * values from such a tree. The one header that includes json-c, whose functions read a tree; these build one.
 * Out of memory ends the command.
 */
#ifndef TOOLS_JSON_OUTPUT_H
#define TOOLS_JSON_OUTPUT_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/bytes.h"

/* A tree's root; json_print takes it, or json_object_put frees it. */
struct json_object *json_new_object(void);
struct json_object *json_new_array(void);
/*
 * Each adds to an object a member of that name, and to an array (name NULL) an element. Text may
 * be any bytes: those that are not UTF-8 become U+FFFD. text NULL: null. ms: with three decimals.
 */
struct json_object *json_add_object(struct json_object *parent, const char *name);
struct json_object *json_add_array(struct json_object *parent, const char *name);
void json_add_text(struct json_object *parent, const char *name, const char *text);
void json_add_view(struct json_object *parent, const char *name, struct cmn_view text);
void json_add_number(struct json_object *parent, const char *name, uint64_t number);
void json_add_ms(struct json_object *parent, const char *name, uint64_t ns);
void json_add_bool(struct json_object *parent, const char *name, bool value);
void json_add_null(struct json_object *parent, const char *name);

/* Appends the tree as text without a line end, and frees it. */
void json_append(struct cmn_buffer *text, struct json_object *root);
/* Prints the tree, and frees it; the exit code, as tool_print. */
int json_print(struct json_object *root);

/* A string's text, a view into it; empty: it is something else, or NULL. */
struct cmn_view json_text(struct json_object *value);

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

/* Appends text, of which max characters, as it has to be written where the template puts values. */
typedef void template_escape(struct cmn_buffer *ret, struct cmn_view text, size_t max);

/* A template that is no good ends the process: any test of it comes by there. */
void template_render(struct cmn_buffer *ret, const char *text, struct json_object *values,
		     template_escape *escape);

#endif
