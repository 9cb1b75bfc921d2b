/* SPDX-License-Identifier: MIT */
/* recipes_list: the packs of this machine, one line each. */
#include <limits.h>

#include "tools/recipes/recipes_verb.h"
#include "tools/text.h"
#include "tools/tool.h"

struct list {
	struct json_object *json;	/* NULL: text */
	struct cmn_buffer text;
};

struct json_object *recipes_add_pack(struct json_object *list, const struct packs_file *file)
{
	struct json_object *item = json_add_object(list, NULL);

	json_add_view(item, "name", file->name);
	json_add_text(item, "file", file->path);
	json_add_number(item, "bytes", file->bytes);
	json_add_number(item, "recipes", file->pack->recipe_count);
	return item;
}

static void add_json(struct json_object *list, const struct packs_file *file)
{
	struct json_object *item = recipes_add_pack(list, file), *origins;
	struct cmn_reader reader = pack_origins(file->pack);
	struct pack_origin origin;

	origins = json_add_array(item, "programs");
	while (pack_next_origin(&reader, &origin)) {
		struct json_object *one = json_add_object(origins, NULL);

		json_add_view(one, "name", origin.name);
		json_add_view(one, "licence", origin.licence);
	}
}

/* Name, recipes, size, what the programs and the first lines of their licences are. */
static void add_text(struct cmn_buffer *text, const struct packs_file *file)
{
	struct cmn_reader reader = pack_origins(file->pack);
	struct cmn_buffer programs = { 0 };
	struct pack_origin origin;
	char size[TEXT_SIZE];

	while (pack_next_origin(&reader, &origin)) {
		if (programs.len)
			cmn_buffer_append_text(&programs, ", ");
		text_append_clean(&programs, origin.name, 60);
		cmn_buffer_append_text(&programs, " (");
		if (origin.licence.len)
			text_append_clean(&programs, text_first_line(origin.licence), 40);
		else
			cmn_buffer_append_text(&programs, "licence not stated");
		cmn_buffer_append_u8(&programs, ')');
	}
	text_append_clean(text, file->name, 200);
	cmn_buffer_printf(text, "  %u recipes, %s, ", (unsigned int)file->pack->recipe_count,
			  text_bytes(file->bytes, size));
	cmn_buffer_append(text, programs.data, programs.len);
	cmn_buffer_append_text(text, "\n    ");
	text_append_clean(text, cmn_view_of(file->path), PATH_MAX);
	cmn_buffer_append_u8(text, '\n');
	cmn_buffer_release(&programs);
}

static bool visit(void *ctx, const struct packs_file *file)
{
	struct list *list = ctx;

	if (list->json)
		add_json(list->json, file);
	else
		add_text(&list->text, file);
	return true;
}

int recipes_list(bool json)
{
	struct list list = { .json = json ? json_new_array() : NULL };
	bool complained = !packs_walk(visit, &list);
	int code;

	if (!json && !list.text.len)
		cmn_buffer_append_text(&list.text, "no packs\n");
	code = json ? json_print(list.json) : tool_print(&list.text);
	return complained ? TOOL_FAILED : code;
}
