/* SPDX-License-Identifier: MIT */
/* removed: one line for people, or one object. */
#include "tools/entries/removed.h"

#include <inttypes.h>

#include "common/bytes.h"
#include "tools/json_output.h"
#include "tools/text.h"
#include "tools/tool.h"

static int print_json(const struct removed *removed)
{
	struct json_object *object = json_new_object();

	if (removed->dry_run)
		json_add_bool(object, "dry_run", true);
	json_add_number(object, "removed_entries", removed->gone.entries);
	json_add_number(object, "removed_bytes", removed->gone.bytes);
	if (removed->left) {
		json_add_number(object, "entries", removed->left->entries);
		json_add_number(object, "bytes", removed->left->bytes);
	}
	return json_print(object);
}

int removed_print(const struct removed *removed, bool json)
{
	struct cmn_buffer text = { 0 };
	char size[TEXT_SIZE];

	if (json)
		return print_json(removed);
	cmn_buffer_printf(&text, "%" PRIu64 " entries %s, %s", removed->gone.entries,
			  removed->dry_run ? "would be removed" : "removed",
			  text_bytes(removed->gone.bytes, size));
	if (removed->left)
		cmn_buffer_printf(&text, "; %" PRIu64 " left, %s", removed->left->entries,
				  text_bytes(removed->left->bytes, size));
	cmn_buffer_append_u8(&text, '\n');
	return tool_print(&text);
}
