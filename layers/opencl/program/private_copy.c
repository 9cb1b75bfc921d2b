/* SPDX-License-Identifier: MIT */
/* private_copy: other letters where mkdtemp has put some. */
#include "layers/opencl/program/private_copy.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/hash.h"

enum {
	LETTERS = 6,	/* that mkdtemp makes up */
	HEADER = 256,	/* bytes in which the name stands; the rest is code */
};

static void fill_letters(unsigned char *letters)
{
	static const char alphabet[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	static atomic_uint count;
	const uint64_t seed[] = {
		(uint64_t)getpid(), cmn_clock_monotonic(), cmn_clock_realtime(),
		atomic_fetch_add_explicit(&count, 1, memory_order_relaxed),
	};
	struct cmn_hash hash = cmn_hash_of(seed, sizeof(seed));

	for (size_t i = 0; i < LETTERS; i++)
		letters[i] = (unsigned char)alphabet[hash.bytes[i] % (sizeof(alphabet) - 1)];
}

struct cmn_view ocl_private_copy(const struct drv_driver *driver, struct cmn_view image,
				unsigned char **ret_copy)
{
	const char *name = driver->private_directory;
	size_t len = strlen(name), within = image.len < HEADER ? image.len : HEADER;
	const unsigned char *bytes = image.data, *at;
	unsigned char *copy;

	*ret_copy = NULL;
	at = memmem(bytes, within, name, len);
	if (!at || (size_t)(at - bytes) + len + LETTERS > image.len)
		return image;
	copy = malloc(image.len);
	if (!copy)
		return image;
	memcpy(copy, bytes, image.len);
	fill_letters(copy + (at - bytes) + len);
	*ret_copy = copy;
	return (struct cmn_view){ copy, image.len };
}
