/* SPDX-License-Identifier: MIT */
/*
 * linker_cache: a walk over all entries. ld.so searches by halves, which on a
 * file that ldconfig wrote finds the same; on another one, a walk is safe.
 */
#include "layers/shared/driver/linker_cache.h"

#include <string.h>

#define OLD_MAGIC "ld.so-1.7.0"
#define OLD_HEADER_SIZE 16
#define OLD_ENTRY_SIZE 12
#define MAGIC "glibc-ld.so.cache1.1"
#define MAGIC_SIZE (sizeof(MAGIC) - 1)
#define HEADER_SIZE 48
#define ENTRY_SIZE 24
#define ALIGNMENT 8	/* of the new format behind the old one */

#define COUNT_AT 20
#define FLAGS_AT 28
#define FLAGS_ENDIAN 3	/* 0: not told, 2: little, 3: big, 1: invalid */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OWN_ENDIAN 2
#else
#define OWN_ENDIAN 3
#endif

#define KIND_MASK 0xff		/* of an entry's flags; the rest is the architecture */
#define KIND_ELF_LIBC6 3

/* Host byte order: ldconfig writes what this machine reads. */
static uint32_t u32_at(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static bool begins_with(struct cmn_view view, const char *text)
{
	return view.len >= strlen(text) && memcmp(view.data, text, strlen(text)) == 0;
}

/* Steps over the old format; what is no old format stays. */
static struct cmn_view skip_old(struct cmn_view file)
{
	uint64_t len;

	if (!begins_with(file, OLD_MAGIC) || file.len < OLD_HEADER_SIZE)
		return file;
	len = OLD_HEADER_SIZE +
	      (uint64_t)OLD_ENTRY_SIZE * u32_at((const uint8_t *)file.data + OLD_HEADER_SIZE - 4);
	len = (len + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	if (len > file.len)
		return (struct cmn_view){ 0 };
	return (struct cmn_view){ (const uint8_t *)file.data + len, file.len - (size_t)len };
}

enum cmn_status drv_linker_cache_open(struct cmn_view file, struct drv_linker_cache *ret_cache)
{
	struct cmn_view strings = skip_old(file);
	const uint8_t *bytes = strings.data;
	uint32_t count;
	uint8_t endian;

	if (strings.len < HEADER_SIZE || !begins_with(strings, MAGIC))
		return CMN_MISS;
	count = u32_at(bytes + COUNT_AT);
	endian = bytes[FLAGS_AT] & FLAGS_ENDIAN;
	if (count > (strings.len - HEADER_SIZE) / ENTRY_SIZE || (endian && endian != OWN_ENDIAN))
		return CMN_MISS;
	*ret_cache = (struct drv_linker_cache){ strings, bytes + HEADER_SIZE, count };
	return CMN_OK;
}

/* NULL: no terminated string lies there. */
static const char *string_at(const struct drv_linker_cache *cache, uint32_t offset)
{
	const char *text;

	if (offset >= cache->strings.len)
		return NULL;
	text = (const char *)cache->strings.data + offset;
	return memchr(text, '\0', cache->strings.len - offset) ? text : NULL;
}

/* Whether the name, with its terminator, lies there. */
static bool has_at(const struct drv_linker_cache *cache, uint32_t offset, const char *name,
		   size_t size)
{
	return offset < cache->strings.len && size <= cache->strings.len - offset &&
	       memcmp((const char *)cache->strings.data + offset, name, size) == 0;
}

enum cmn_status drv_linker_cache_next(const struct drv_linker_cache *cache, const char *name,
				      uint32_t *at, struct drv_linker_cache_entry *ret_entry)
{
	size_t size = strlen(name) + 1;

	while (*at < cache->count) {
		const uint8_t *entry = cache->entries + (size_t)ENTRY_SIZE * (*at)++;
		const char *path;
		uint64_t capabilities;

		/* flags, name, path, oldest kernel, then the processor's capabilities */
		if ((u32_at(entry) & KIND_MASK) != KIND_ELF_LIBC6 ||
		    !has_at(cache, u32_at(entry + 4), name, size))
			continue;
		path = string_at(cache, u32_at(entry + 8));
		if (!path || !path[0])
			continue;
		memcpy(&capabilities, entry + 16, sizeof(capabilities));
		ret_entry->path = path;
		ret_entry->depends_on_processor = capabilities != 0 ||
						  strstr(path, "/glibc-hwcaps/") != NULL;
		return CMN_OK;
	}
	return CMN_MISS;
}
