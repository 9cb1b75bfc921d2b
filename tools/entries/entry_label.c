/* SPDX-License-Identifier: MIT */
/* entry_label: looks at all fields of a key's image. */
#include "tools/entries/entry_label.h"

#include "cachecore/kernel_names.h"
#include "cachecore/key.h"
#include "common/hash.h"
#include "common/json.h"
#include "tools/text.h"

/* Of one name or line: more is shown nowhere. */
#define MAX_NAME 240

static void append_cut(struct cmn_buffer *text, struct cmn_view name)
{
	cmn_buffer_append(text, name.data, name.len < MAX_NAME ? name.len : MAX_NAME);
}

/* How many there were, at most one more than may be appended. */
static unsigned int append_kernels(struct cmn_buffer *text, struct cmn_view source, const char *first,
				   unsigned int count, unsigned int most)
{
	struct cc_kernel_names names = cc_kernel_names_of(source);
	struct cmn_view name = cc_kernel_names_next(&names);

	/* Of one alone there is no more to say. */
	for (; name.len && count < most + (most > 1); count++) {
		cmn_buffer_append_text(text, count ? ", " : first);
		if (count == most)
			cmn_buffer_append_text(text, "…");
		else
			append_cut(text, name);
		name = cc_kernel_names_next(&names);
	}
	return count;
}

static void append_hash(struct cmn_buffer *text, struct cmn_view source)
{
	struct cmn_hash hash = cmn_hash_of(source.data, source.len);
	char hex[CMN_HASH_HEX_SIZE];

	cmn_hash_hex(&hash, hex);
	cmn_buffer_printf(text, "%.8s (%zu bytes)", hex, source.len);
}

void entry_label_append(struct cmn_buffer *text, struct cmn_view key, const char *first,
			unsigned int kernels)
{
	struct cmn_view source = cc_key_find(key, "source", 0);
	unsigned int count = 0, inputs = 0;
	struct cc_key_field field;
	struct cmn_reader reader;

	if (cc_key_read(key, &reader) != CMN_OK)
		return;
	while (count < kernels + (kernels > 1) && cc_key_next(&reader, &field) == CMN_OK) {
		if (field.part == CC_PART_IMAGE)
			count = append_kernels(text, field.value, first, count, kernels);
		inputs += cmn_view_equal(field.name, cmn_view_of("input"));
	}
	if (count)
		return;
	if (!source.len && inputs)
		cmn_buffer_printf(text, "link of %u program%s", inputs, inputs == 1 ? "" : "s");
	else if (source.len && cmn_json_is_text(source) && text_first_line(source).len)
		append_cut(text, text_first_line(source));
	else if (source.len)
		append_hash(text, source);
}
