/* SPDX-License-Identifier: MIT */
/*
 * fuzz_spirv: a module of any content. Where the input's first byte is odd, a
 * right header stands before it, so that the walk is reached.
 */
#include <stdint.h>
#include <stdlib.h>

#include "layers/level_zero/plugin/spirv.h"
#include "layers/shared/driver/spirv_files.h"

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

/* Names of files become zeros, and so is what has become so. */
static void check_key(struct cmn_view module)
{
	const struct drv_driver *driver = drv_driver_of("libpocl.so.2");
	struct cc_key key, again;
	struct cmn_view source;

	cc_key_init(&key);
	cc_key_init(&again);
	drv_spirv_add(&key, driver, NULL, module);
	source = cc_key_find(cc_key_view(&key), "source", 0);
	drv_spirv_add(&again, driver, NULL, source);
	if (cc_key_status(&key) == CMN_OK && cc_key_status(&again) == CMN_OK &&
	    (source.len != module.len || !cmn_view_equal(cc_key_view(&key), cc_key_view(&again))))
		abort();
	cc_key_release(&key);
	cc_key_release(&again);
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
	if (!module.failed)
		check_key(view);
	if (!module.failed && lz_spirv_constants_gather(view, &constants) == CMN_OK) {
		if (lz_spirv_check(view) != CMN_OK)
			abort();
		check(&constants);
	}
	lz_spirv_constants_release(&constants);
	cmn_buffer_release(&module);
	return 0;
}
