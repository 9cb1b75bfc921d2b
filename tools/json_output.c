/* SPDX-License-Identifier: MIT */
/* json_output: json-c, made safe for text of anybody's making. */
#include "tools/json_output.h"

#include <stdio.h>
#include <string.h>

#include "common/json.h"
#include "tools/memory.h"
#include "tools/tool.h"

#define FORMAT (JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE)
#define STREAM_PIECE ((size_t)1 << 16)
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

int json_stream_add(struct json_stream *stream, struct json_object *element)
{
	cmn_buffer_append_text(&stream->text, stream->begun ? ",\n" : "[\n");
	stream->begun = true;
	json_append(&stream->text, element);
	return stream->text.len < STREAM_PIECE && !stream->text.failed ? TOOL_OK : tool_print(&stream->text);
}

int json_stream_end(struct json_stream *stream)
{
	cmn_buffer_append_text(&stream->text, stream->begun ? "\n]\n" : "[]\n");
	return tool_print(&stream->text);
}

struct cmn_view json_text(struct json_object *value)
{
	if (!json_object_is_type(value, json_type_string))
		return (struct cmn_view){ "", 0 };
	return (struct cmn_view){ json_object_get_string(value),
				  (size_t)json_object_get_string_len(value) };
}
