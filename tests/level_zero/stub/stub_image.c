/* SPDX-License-Identifier: MIT */
/* stub_image: the kernels of a module. */
#include "tests/level_zero/stub/stub.h"

void stub_image_add(struct stub_image *image, const char *name, size_t name_len)
{
	char **grown = realloc(image->kernels, (image->count + 1) * sizeof(*image->kernels));
	char *kernel = strndup(name, name_len);

	if (!grown || !kernel)
		abort();	/* a test driver has nothing better to do */
	image->kernels = grown;
	grown[image->count++] = kernel;
}

void stub_image_release(struct stub_image *image)
{
	for (size_t i = 0; i < image->count; i++)
		free(image->kernels[i]);
	free(image->kernels);
	*image = (struct stub_image){ 0 };
}
