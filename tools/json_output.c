/* SPDX-License-Identifier: MIT */
/*
 * json_output: json-c, made safe for text of anybody's making. Templates are rendered from left to right, each
 * block by rendering what is in it.
 */
#include "tools/json_output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "tools/memory.h"
#include "tools/tool.h"

#define FORMAT (JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE)
#define REPLACEMENT "\xef\xbf\xbd"

static void add(struct json_object *parent, const char *name, struct json_object *value)
{
	if (name ? json_object_object_add(parent, name, value) : json_object_array_add(parent, value))
		memory_end();
}

struct json_object *json_new_object(void)
{
	return memory_of(json_object_new_object());
}

struct json_object *json_new_array(void)
{
	return memory_of(json_object_new_array());
}

struct json_object *json_add_object(struct json_object *parent, const char *name)
{
	struct json_object *value = json_new_object();

	add(parent, name, value);
	return value;
}

struct json_object *json_add_array(struct json_object *parent, const char *name)
{
	struct json_object *value = json_new_array();

	add(parent, name, value);
	return value;
}

void json_add_text(struct json_object *parent, const char *name, const char *text)
{
	if (text)
		json_add_view(parent, name, cmn_view_of(text));
	else
		json_add_null(parent, name);
}

void json_add_view(struct json_object *parent, const char *name, struct cmn_view text)
{
	struct cmn_buffer clean = { 0 };

	/* json-c writes strings as they are. */
	while (text.len) {
		size_t len = cmn_json_utf8_len(text);

		if (len)
			cmn_buffer_append(&clean, text.data, len);
		else
			cmn_buffer_append_text(&clean, REPLACEMENT);
		len += !len;
		text = (struct cmn_view){ (const char *)text.data + len, text.len - len };
	}
	/* Its lengths are int. */
	if (clean.failed || clean.len > INT32_MAX)
		memory_end();
	add(parent, name, memory_of(json_object_new_string_len(clean.len ? (const char *)clean.data : "",
							  (int)clean.len)));
	cmn_buffer_release(&clean);
}

void json_add_number(struct json_object *parent, const char *name, uint64_t number)
{
	add(parent, name, memory_of(json_object_new_uint64(number)));
}

void json_add_ms(struct json_object *parent, const char *name, uint64_t ns)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%.3f", (double)ns / 1e6);	/* it fits */
	add(parent, name, memory_of(json_object_new_double_s((double)ns / 1e6, text)));
}

void json_add_bool(struct json_object *parent, const char *name, bool value)
{
	add(parent, name, memory_of(json_object_new_boolean(value)));
}

void json_add_null(struct json_object *parent, const char *name)
{
	add(parent, name, NULL);
}

void json_append(struct cmn_buffer *text, struct json_object *root)
{
	cmn_buffer_append_text(text, memory_of((void *)json_object_to_json_string_ext(root, FORMAT)));
	(void)json_object_put(root);
}

int json_print(struct json_object *root)
{
	struct cmn_buffer text = { 0 };

	json_append(&text, root);
	cmn_buffer_append_u8(&text, '\n');
	return tool_print(&text);
}

struct cmn_view json_text(struct json_object *value)
{
	if (!json_object_is_type(value, json_type_string))
		return (struct cmn_view){ "", 0 };
	return (struct cmn_view){ json_object_get_string(value),
				  (size_t)json_object_get_string_len(value) };
}

/* ---- templates ---- */

#define MAX_NAME 32

/* The values that names are looked for in, from the inside to the outside. */
struct scope {
	struct json_object *values;
	const struct scope *around;
};

struct rendering {
	struct cmn_buffer *ret;
	const char *text;	/* all of the template */
	template_escape *escape;
};

struct tag {
	char kind;		/* '#', '^', '=', '>', '/', '&', '!', or '\0': a value */
	char name[MAX_NAME];
	size_t max;
	const char *start, *end;
};

static bool is_block(char kind)
{
	return kind && strchr("#^=", kind);
}

/* The next tag up to end; false: none. */
static bool next_tag(const struct rendering *rendering, const char *at, const char *end,
		     struct tag *ret)
{
	const char *close, *colon;
	size_t len;

	ret->start = memmem(at, (size_t)(end - at), "{{", 2);
	if (!ret->start)
		return false;
	at = ret->start + 2;
	close = strstr(at, "}}");
	if (!close || close >= end || close == at)
		abort();
	ret->kind = '\0';
	if (strchr("#^=>/&!", *at))
		ret->kind = *at++;
	colon = memchr(at, ':', (size_t)(close - at));
	len = (size_t)((colon ? colon : close) - at);
	if (ret->kind == '!')
		len = 0;
	else if (len >= MAX_NAME)
		abort();
	memcpy(ret->name, at, len);
	ret->name[len] = '\0';
	ret->max = colon ? strtoul(colon + 1, NULL, 10) : SIZE_MAX;
	ret->end = close + 2;
	if (ret->kind && strchr("#^=/!", ret->kind) && *ret->end == '\n' &&
	    (ret->start == rendering->text || ret->start[-1] == '\n'))
		ret->end++;
	return true;
}

/* The tag that ends the block. */
static struct tag find_end(const struct rendering *rendering, const struct tag *block,
			   const char *end)
{
	struct tag tag = { .end = block->end };

	do {
		if (!next_tag(rendering, tag.end, end, &tag))
			abort();
	} while (tag.kind != '/' || strcmp(tag.name, block->name) != 0);
	return tag;
}

static struct json_object *find_value(const struct scope *scope, const char *name)
{
	struct json_object *found;

	if (strcmp(name, ".") == 0)
		return scope->values;
	for (; scope; scope = scope->around) {
		if (json_object_is_type(scope->values, json_type_object) &&
		    json_object_object_get_ex(scope->values, name, &found))
			return found;
	}
	return NULL;
}

static bool is_something(struct json_object *value)
{
	switch (json_object_get_type(value)) {
	case json_type_null:
		return false;
	case json_type_array:
		return json_object_array_length(value) > 0;
	case json_type_object:
		return true;
	default:
		return json_object_get_boolean(value);
	}
}

static void render(const struct rendering *rendering, const char *at, const char *end,
		   const struct scope *scope);

static void render_block(const struct rendering *rendering, const struct tag *block,
			 const struct tag *block_end, const struct scope *scope)
{
	struct json_object *value = find_value(scope, block->name);
	bool array = json_object_is_type(value, json_type_array);
	size_t count = array ? json_object_array_length(value) : 1;

	if (block->kind == '=' || is_something(value) != (block->kind == '#'))
		return;
	for (size_t i = 0; i < (array && block->kind == '#' ? count : 1); i++) {
		const struct scope inner = {
			array && count ? json_object_array_get_idx(value, i) : value, scope,
		};

		render(rendering, block->end, block_end->start, &inner);
	}
}

static void render_part(const struct rendering *rendering, const char *name,
			const struct scope *scope)
{
	const char *end = rendering->text + strlen(rendering->text);
	struct tag tag = { .end = rendering->text };

	do {
		if (!next_tag(rendering, tag.end, end, &tag))
			abort();
	} while (tag.kind != '=' || strcmp(tag.name, name) != 0);
	render(rendering, tag.end, find_end(rendering, &tag, end).start, scope);
}

static void render_value(const struct rendering *rendering, const struct tag *tag,
			 struct json_object *value)
{
	struct cmn_view text = json_text(value);

	if (json_object_is_type(value, json_type_int))
		text = cmn_view_of(json_object_get_string(value));
	if (tag->kind == '&')
		cmn_buffer_append(rendering->ret, text.data, text.len);
	else
		rendering->escape(rendering->ret, text, tag->max);
}

static void render(const struct rendering *rendering, const char *at, const char *end,
		   const struct scope *scope)
{
	struct tag tag, block_end;

	while (next_tag(rendering, at, end, &tag)) {
		cmn_buffer_append(rendering->ret, at, (size_t)(tag.start - at));
		at = tag.end;
		if (is_block(tag.kind)) {
			block_end = find_end(rendering, &tag, end);
			render_block(rendering, &tag, &block_end, scope);
			at = block_end.end;
			if (tag.kind == '=' && *at == '\n')
				at++;	/* a part in one line */
		} else if (tag.kind == '>') {
			render_part(rendering, tag.name, scope);
		} else if (tag.kind != '!') {
			render_value(rendering, &tag, find_value(scope, tag.name));
		}
	}
	cmn_buffer_append(rendering->ret, at, (size_t)(end - at));
}

void template_render(struct cmn_buffer *ret, const char *text, struct json_object *values,
		     template_escape *escape)
{
	const struct rendering rendering = { ret, text, escape };
	const struct scope scope = { values, NULL };

	render(&rendering, text, text + strlen(text), &scope);
}
