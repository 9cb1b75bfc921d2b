/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer entry of the include scan: the input is options, a NUL, and a
 * source that can include itself through the headers below the working
 * directory. Asserts only what must hold for every input: no crash, a reason
 * with every refusal, a manifest that holds while nothing changes.
 *
 *   clang -fsanitize=fuzzer,address,undefined -D_GNU_SOURCE -I. \
 *         tests/fuzz/fuzz_include_scan.c SOURCES -lxxhash
 */
#include "layers/opencl/include_scan.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = memchr(data, '\0', size);
	struct cc_manifest *manifest = NULL;
	const char *reason = NULL;
	struct cmn_view source;
	enum cmn_status status;
	char *options;

	if (!end)
		return 0;
	options = strdup((const char *)data);
	if (!options)
		return 0;
	source = (struct cmn_view){ end + 1, size - (size_t)(end + 1 - data) };
	status = ocl_include_scan(&(struct ocl_include_request){ .source = source,
								 .options = options,
								 .quotes_group = size % 2 },
				  NULL, &manifest, &reason);
	free(options);
	if (status == CMN_MISS && !reason)
		abort();
	if (status != CMN_OK && (status != CMN_MISS || manifest))
		abort();
	if (cc_manifest_verify(manifest, NULL) != CMN_OK)
		abort();
	cc_manifest_free(manifest);
	return 0;
}
