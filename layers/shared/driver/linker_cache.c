/* SPDX-License-Identifier: MIT */
/*
 * linker_cache: walks over all entries. ld.so does a binary search, which finds the same in a file
 * that ldconfig wrote.
 */
#include "layers/shared/driver/linker_cache.h"

#include <string.h>

#define MAGIC "glibc-ld.so.cache1.1"
#define MAGIC_SIZE (sizeof(MAGIC) - 1)

/* Byte order is the host's: ldconfig writes what this machine reads. */
struct header {
	char magic[MAGIC_SIZE];
	uint32_t count, strings_size;
	uint32_t unused[5];
};

struct entry {
	uint32_t flags;		/* the lowest byte is the kind, the rest the architecture */
	uint32_t name, path;	/* offsets from the header */
	uint32_t oldest_kernel;
	uint64_t capabilities;
};
#define KIND_MASK 0xff
#define KIND_ELF_LIBC6 3

/* NULL: no terminated string lies there. */
static const char *string_at(struct cmn_view cache, uint32_t offset)
{
	const char *text = (const char *)cache.data + offset;

	if (offset >= cache.len || !memchr(text, '\0', cache.len - offset))
		return NULL;
	return text;
}

enum cmn_status drv_linker_cache_next(struct cmn_view cache, const char *name, uint32_t *position,
				      struct drv_linker_cache_entry *ret_entry)
{
	const char *start = cache.len ? memmem(cache.data, cache.len, MAGIC, MAGIC_SIZE) : NULL;
	struct header header;

	if (!start)
		return CMN_MISS;
	/* The older format may come first; offsets count from the new header. */
	cache.len -= (size_t)(start - (const char *)cache.data);
	cache.data = start;
	if (cache.len < sizeof(header))
		return CMN_MISS;
	memcpy(&header, start, sizeof(header));
	while (*position < header.count &&
	       *position < (cache.len - sizeof(header)) / sizeof(struct entry)) {
		struct entry entry;
		const char *found, *path;

		memcpy(&entry, start + sizeof(header) + (size_t)(*position)++ * sizeof(entry),
		       sizeof(entry));
		found = string_at(cache, entry.name);
		path = string_at(cache, entry.path);
		if ((entry.flags & KIND_MASK) != KIND_ELF_LIBC6 || !found || !path ||
		    strcmp(found, name) != 0)
			continue;
		*ret_entry = (struct drv_linker_cache_entry){
			path, entry.capabilities != 0 || strstr(path, "/glibc-hwcaps/") };
		return CMN_OK;
	}
	return CMN_MISS;
}
