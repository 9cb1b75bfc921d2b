/* SPDX-License-Identifier: MIT */
/*
 * linker_cache: which paths /etc/ld.so.cache has for a library's name. Reads
 * the format that glibc's ldconfig has written since 2.2, also where it stands
 * behind the older one (glibc, sysdeps/generic/dl-cache.h). Pure: bytes in,
 * names out; nothing in the bytes is trusted. Thread-safe.
 */
#ifndef SHARED_DRIVER_LINKER_CACHE_H
#define SHARED_DRIVER_LINKER_CACHE_H

#include <stdbool.h>

#include "common/bytes.h"
#include "common/status.h"

#define DRV_LINKER_CACHE_PATH "/etc/ld.so.cache"

/* Borrows the bytes that it was opened on. {0} is one without entries. */
struct drv_linker_cache {
	struct cmn_view strings;	/* the new format from its header on: offsets count from there */
	const uint8_t *entries;
	uint32_t count;
};

struct drv_linker_cache_entry {
	const char *path;
	/* Chosen by what the processor can do (glibc-hwcaps): ld.so may take it or not. */
	bool depends_on_processor;
};

/* CMN_MISS: not what glibc would use on this machine; *ret_cache is untouched. */
CMN_CHECKED enum cmn_status drv_linker_cache_open(struct cmn_view file,
						  struct drv_linker_cache *ret_cache);

/*
 * The next entry of that name for glibc 2 programs, of whatever architecture,
 * in the order in which ld.so tries them. *at: 0 at first. CMN_MISS: no more.
 */
CMN_CHECKED enum cmn_status drv_linker_cache_next(const struct drv_linker_cache *cache,
						  const char *name, uint32_t *at,
						  struct drv_linker_cache_entry *ret_entry);

#endif
