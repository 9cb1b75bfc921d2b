/* SPDX-License-Identifier: MIT */
/*
 * fuzz_spirv: a module of any content. Where the input's first byte is odd, a
 * right header stands before it, so that the walk is reached.
 */
#include <stdint.h>
#include <stdlib.h>

#include "layers/level_zero/plugin/spirv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct lz_spirv_constants *constants)
{
	for (uint32_t id = 0; id < 4; id++) {
		size_t one = 0;
		enum cmn_status status = lz_spirv_constants_size(constants, id, &one);

		if (status == CMN_OK && one != 1 && one != 2 && one != 4 && one != 8)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t header[] = { 0x07230203, 0x00010400, 0, 1000, 0 };
	struct lz_spirv_constants constants = { 0 };
	struct cmn_buffer module = { 0 };
	struct cmn_view view;

	if (size == 0)
		return 0;
	if ((data[0] & 1) != 0)
		cmn_buffer_append(&module, header, sizeof(header));
	cmn_buffer_append(&module, data + 1, size - 1);
	view = cmn_buffer_view(&module);
	if (!module.failed && lz_spirv_constants_gather(view, &constants) == CMN_OK) {
		if (lz_spirv_check(view) != CMN_OK)
			abort();
		check(&constants);
	}
	lz_spirv_constants_release(&constants);
	cmn_buffer_release(&module);
	return 0;
}
