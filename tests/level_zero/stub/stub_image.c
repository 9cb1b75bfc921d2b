/* SPDX-License-Identifier: MIT */
/* stub_image: the symbols of a module: kernels, exports, variables, imports. */
#include "tests/level_zero/stub/stub.h"

void stub_image_add(struct stub_image *image, struct stub_symbol symbol, const char *name,
		    size_t name_len)
{
	struct stub_symbol *grown =
		realloc(image->symbols, (image->count + 1) * sizeof(*image->symbols));

	symbol.name = strndup(name, name_len);
	if (!grown || !symbol.name)
		abort();	/* a test driver has nothing better to do */
	image->symbols = grown;
	grown[image->count++] = symbol;
}

struct stub_symbol *stub_image_find(const struct stub_image *image, int kind, const char *name)
{
	for (size_t i = 0; i < image->count; i++) {
		struct stub_symbol *symbol = &image->symbols[i];

		if ((int)symbol->kind == kind && !strcmp(symbol->name, name))
			return symbol;
	}
	return NULL;
}

size_t stub_image_count(const struct stub_image *image, int kind)
{
	size_t count = 0;

	for (size_t i = 0; i < image->count; i++)
		count += (int)image->symbols[i].kind == kind;
	return count;
}

void stub_image_release(struct stub_image *image)
{
	for (size_t i = 0; i < image->count; i++)
		free(image->symbols[i].name);
	free(image->symbols);
	*image = (struct stub_image){ 0 };
}
