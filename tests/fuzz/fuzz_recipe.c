/* SPDX-License-Identifier: MIT */
/*
 * fuzz_recipe: a recipe's file of any content. What decodes encodes to the
 * same bytes; its variables and places lie in it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cachecore/disk/writer/recipe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cmn_buffer encoded = { 0 };
	struct cc_recipe recipe;
	size_t at = 0, total = 0;
	uint32_t place;

	if (cc_recipe_decode((struct cmn_view){ data, size }, &recipe) != CMN_OK)
		return 0;
	for (const char *variable; (variable = cc_recipe_variable(&recipe, &at));)
		total += strlen(variable) + 1;
	if (total > recipe.environment.len)
		abort();
	for (size_t i = 0; cc_recipe_place(&recipe, i, &place); i++) {
		if (i >= size)
			abort();
	}
	if (cc_recipe_encode(&recipe, &encoded) == CMN_OK &&
	    (encoded.len != size || memcmp(encoded.data, data, size) != 0))
		abort();
	cmn_buffer_release(&encoded);
	return 0;
}
