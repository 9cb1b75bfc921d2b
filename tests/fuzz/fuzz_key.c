/* SPDX-License-Identifier: MIT */
/*
 * fuzz_key: a key's encoding of any content, as it comes from a .src file.
 * Walking it stays within its bytes; a walk to the end, added up again, gives
 * the same encoding.
 */
#include <stdint.h>
#include <stdlib.h>

#include "cachecore/key.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void rebuild(struct cmn_view encoded)
{
	struct cmn_reader reader;
	struct cc_key_field field;
	struct cc_key key;
	enum cmn_status status;

	if (cc_key_read(encoded, &reader) != CMN_OK)
		return;
	cc_key_init(&key);
	while ((status = cc_key_next(&reader, &field)) == CMN_OK) {
		if (!field.name.len)
			goto out;	/* no name cannot be added again */
		cc_key_add_field(&key, &field);
	}
	if (status == CMN_MISS && cc_key_status(&key) == CMN_OK &&
	    !cmn_view_equal(cc_key_view(&key), encoded))
		abort();
out:
	cc_key_release(&key);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cmn_hash hashes[CC_PART_COUNT];
	struct cmn_view encoded = { data, size };

	cc_key_part_hashes(encoded, hashes);
	rebuild(encoded);
	return 0;
}
