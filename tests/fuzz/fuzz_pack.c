/* SPDX-License-Identifier: MIT */
/*
 * fuzz_pack: a pack of any content; and the same with its length and hash put
 * right, so that what is behind them is reached. What decodes is made again
 * from its parts to the same bytes.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Not in a library of their own. */
#include "tools/memory.c"
#include "tools/recipes/pack.c"
#include "tools/recipes/portable.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* They read any text. */
static void try_options(const struct pack *pack, const struct pack_recipe *recipe)
{
	for (uint32_t i = 0; i < recipe->field_count; i++) {
		struct cmn_view text = pack_field(pack, recipe, i).value;

		(void)portable_options(text);
		for (uint32_t j = 0; j < recipe->header_count && j < 8; j++)
			(void)portable_includes(text, pack_header(pack, recipe, j).path);
	}
}

static void try_file(const uint8_t *data, size_t size)
{
	const struct cmn_view file = { data, size };
	struct pack_maker *maker = pack_maker_new();
	struct cmn_buffer again = { 0 };
	struct pack_recipe recipe;
	struct cmn_reader reader;
	enum cmn_status status;
	struct pack pack;

	if (pack_decode(file, &pack) == CMN_OK) {
		reader = pack_recipes(&pack);
		while (pack_next_recipe(&reader, &recipe))
			try_options(&pack, &recipe);
		if (!maker || pack_maker_add_pack(maker, &pack) != CMN_OK)
			abort();
		status = pack_maker_encode(maker, &again);
		if (status != CMN_OK || again.len != size || memcmp(again.data, data, size) != 0)
			abort();
		cmn_buffer_release(&again);
		pack_release(&pack);
	}
	pack_maker_free(maker);
	(void)portable_options(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cmn_buffer file = { 0 };

	try_file(data, size);
	cmn_buffer_append_text(&file, PACK_MAGIC);
	cmn_buffer_append_u32(&file, PACK_VERSION);
	cmn_buffer_append_u32(&file, 0);
	cmn_buffer_append_u64(&file, 0);
	cmn_buffer_append(&file, "0123456789abcdef", CMN_HASH_SIZE);
	cmn_buffer_append(&file, data, size);
	seal(&file);
	if (!file.failed)
		try_file(file.data, file.len);
	cmn_buffer_release(&file);
	return 0;
}
