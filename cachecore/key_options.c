/* SPDX-License-Identifier: MIT */
/* key_options: field by field. */
#include "cachecore/key_options.h"

#include <stdlib.h>
#include <string.h>

#define OPTIONS "options"

void cc_key_add_options(const char *options, struct cc_key *ret)
{
	struct cmn_buffer text = { 0 };

	if (options && (strstr(options, "-I") || strstr(options, "-i")))
		cc_include_paths_take(options, &text, &ret->include_paths);
	if (!ret->include_paths.count) {
		cc_key_add_text(ret, CC_PART_OPTIONS, OPTIONS, options ? options : "");
	} else {
		cc_key_add(ret, CC_PART_OPTIONS, OPTIONS, text.data, text.len);
		cc_key_add_u64(ret, CC_PART_OPTIONS, "include.paths", ret->include_paths.count);
	}
	ret->encoded.failed |= text.failed;
	cmn_buffer_release(&text);
}

void cc_key_add_local(struct cc_key *ret)
{
	size_t len = ret->encoded.len;

	for (uint32_t i = 0; i < ret->include_paths.count; i++)
		cmn_buffer_append_sized(&ret->encoded, cc_include_path(&ret->include_paths, i).data, ret->include_paths.in[i].len);
	if (ret->encoded.failed)
		return;
	ret->local_len = ret->encoded.len - len;
	ret->encoded.len = len;
}

/* The numbers stand for these; no other text of such options has a '<'. */
static void expand(struct cmn_view options, const struct cmn_view *paths, uint32_t count, struct cmn_buffer *ret)
{
	const char *at = options.data, *end = at + options.len, *mark;

	while (count && at < end && (mark = memchr(at, '<', (size_t)(end - at)))) {
		uint32_t number = end - mark > 2 && mark[2] == '>' ? (uint32_t)(unsigned char)mark[1] - '1' : count;

		if (number >= count)
			break;
		cmn_buffer_append(ret, at, (size_t)(mark - at));
		cmn_buffer_append(ret, paths[number].data, paths[number].len);
		at = mark + 3;
	}
	cmn_buffer_append(ret, at, (size_t)(end - at));
}

void cc_key_put_options_back(struct cmn_view key, const struct cc_manifest *manifest, struct cc_key *ret)
{
	struct cmn_view paths[CC_INCLUDE_PATHS];
	uint32_t count = cc_manifest_include_paths(manifest, paths);
	struct cmn_buffer text = { 0 };
	struct cc_key_field field;
	struct cmn_reader reader;

	cc_key_init(ret);
	if (cc_key_read(key, &reader) != CMN_OK)
		return;
	while (!ret->encoded.failed && cc_key_next(&reader, &field) == CMN_OK) {
		if (cmn_view_equal(field.name, cmn_view_of("include.paths")))
			continue;
		text.len = 0;
		if (cmn_view_equal(field.name, cmn_view_of(OPTIONS))) {
			expand(field.value, paths, count, &text);
			field.value = cmn_buffer_view(&text);
		}
		cc_key_add_field(ret, &field);
		ret->encoded.failed |= text.failed;
	}
	cmn_buffer_release(&text);
}

void cc_key_take_options(struct cmn_view key, struct cc_key *ret, char **ret_options)
{
	struct cmn_view options = cc_key_find(key, OPTIONS, 0);
	struct cc_key_field field;
	struct cmn_reader reader;

	cc_key_init(ret);
	*ret_options = strndup(options.len ? options.data : "", options.len);
	ret->encoded.failed |= !*ret_options;
	if (cc_key_read(key, &reader) != CMN_OK)
		return;
	while (!ret->encoded.failed && cc_key_next(&reader, &field) == CMN_OK) {
		/* Level Zero's have none. */
		if (cmn_view_equal(field.name, cmn_view_of(OPTIONS)) && !cc_key_find(key, "api", 0).data)
			cc_key_add_options(*ret_options, ret);
		else
			cc_key_add_field(ret, &field);
	}
}
