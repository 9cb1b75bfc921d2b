/* SPDX-License-Identifier: MIT */
/*
 * fuzz_manifest: a manifest's encoding of any content. What decodes encodes
 * to bytes that decode to the same number of dependencies. No file is opened.
 */
#include <stdint.h>
#include <stdlib.h>

#include "cachecore/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cc_manifest *first = NULL, *second = NULL;
	struct cmn_buffer encoded = {0};

	if (cc_manifest_decode((struct cmn_view){ data, size }, &first) != CMN_OK)
		return 0;
	for (size_t i = 0; i < cc_manifest_count(first); i++) {
		if (cc_manifest_get(first, i).path[0] == '\0')
			abort();
	}
	cc_manifest_encode(first, &encoded);
	if (!encoded.failed &&
	    cc_manifest_decode(cmn_buffer_view(&encoded), &second) == CMN_OK &&
	    cc_manifest_count(second) != cc_manifest_count(first))
		abort();
	cmn_buffer_release(&encoded);
	cc_manifest_free(second);
	cc_manifest_free(first);
	return 0;
}
