/* SPDX-License-Identifier: MIT */
/* image_place: pocl's header has the name in 41 bytes, the rest of which are zeros (3.1 to 7.1). */
#include "layers/opencl/program/image_place.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/env.h"
#include "common/hash.h"
#include "layers/shared/driver/environment.h"

enum {
	LETTERS = 6,	/* that mkdtemp makes up */
	HEADER = 256,	/* bytes in which the name stands; the rest is code */
};

static bool says_on(const char *value)
{
	return !value || *value == '1';
}

bool ocl_image_place_stays(const struct drv_driver *driver)
{
	char *now = NULL;
	/* A driver reads it when its first device is asked for, which may be later. */
	bool stays = says_on(drv_environment_at_begin(driver->own_cache)) &&
		     cmn_env_get(driver->own_cache, &now) == CMN_OK && says_on(now);

	free(now);
	return stays;
}

/* Where the name stands in the image; NULL: it has none. kept: it is one of the driver's cache. */
static const unsigned char *find_name(const struct drv_driver *driver, struct cmn_view image, bool *ret_kept)
{
	const char *temporary = driver->private_directory;
	size_t within = image.len < HEADER ? image.len : HEADER, len = strlen(temporary);
	const unsigned char *bytes = image.data;

	for (size_t at = 0; at + DRV_CACHED_AS_SIZE <= within; at++) {
		*ret_kept = !bytes[at + DRV_CACHED_AS_SIZE - 1] && drv_is_cached_as((const char *)bytes + at);
		if (*ret_kept || memcmp(bytes + at, temporary, len) == 0)
			return bytes + at;
	}
	return NULL;
}

static void fill_temporary(const char *prefix, unsigned char *name)
{
	static const char alphabet[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	static atomic_uint count;
	const uint64_t seed[] = {
		(uint64_t)getpid(), cmn_clock_monotonic(), cmn_clock_realtime(),
		atomic_fetch_add_explicit(&count, 1, memory_order_relaxed),
	};
	struct cmn_hash hash = cmn_hash_of(seed, sizeof(seed));
	size_t len = strlen(prefix);

	memset(name, 0, DRV_CACHED_AS_SIZE);
	memcpy(name, prefix, len);
	for (size_t i = 0; i < LETTERS; i++)
		name[len + i] = (unsigned char)alphabet[hash.bytes[i] % (sizeof(alphabet) - 1)];
}

/* As pocl writes its hashes: each half of a byte is a letter, and a slash stands in place of the third. */
static void fill_by_content(struct cmn_view image, unsigned char *name)
{
	struct cmn_hash hashes[2] = { cmn_hash_of(image.data, image.len) };
	const uint8_t *bytes = hashes[0].bytes;

	hashes[1] = cmn_hash_of(&hashes[0], sizeof(hashes[0]));
	for (size_t i = 0; i < DRV_CACHED_AS_SIZE - 1; i++)
		name[i] = (unsigned char)('A' + (bytes[i / 2] >> (i % 2 * 4) & 15));
	name[2] = '/';
	name[DRV_CACHED_AS_SIZE - 1] = 0;
}

struct cmn_view ocl_image_place(const struct drv_driver *driver, bool stays, struct cmn_view image,
				unsigned char **ret_copy)
{
	bool kept;
	const unsigned char *name = find_name(driver, image, &kept);
	unsigned char *copy;

	*ret_copy = NULL;
	if (!name || (stays && kept))
		return image;
	copy = malloc(image.len);
	if (!copy)
		return image;
	memcpy(copy, image.data, image.len);
	if (stays)
		fill_by_content(image, copy + (name - (const unsigned char *)image.data));
	else
		fill_temporary(driver->private_directory, copy + (name - (const unsigned char *)image.data));
	*ret_copy = copy;
	return (struct cmn_view){ copy, image.len };
}

void ocl_image_set_place(const struct drv_driver *driver, unsigned char *image, size_t len, const char *name)
{
	bool kept;
	const unsigned char *found = driver->private_directory && drv_is_cached_as(name) ?
		find_name(driver, (struct cmn_view){ image, len }, &kept) : NULL;

	if (found)
		memcpy(image + (found - image), name, DRV_CACHED_AS_SIZE);
}
