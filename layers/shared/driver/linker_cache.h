/* SPDX-License-Identifier: MIT */
/*
 * linker_cache: which paths /etc/ld.so.cache has for a library's name. Reads the format that glibc's
 * ldconfig has written since 2.2, also where it follows the older one (glibc,
 * sysdeps/generic/dl-cache.h). Works on bytes, opens nothing, and trusts nothing in the bytes.
 * Thread-safe.
 */
#ifndef SHARED_DRIVER_LINKER_CACHE_H
#define SHARED_DRIVER_LINKER_CACHE_H

#include <stdbool.h>

#include "common/bytes.h"
#include "common/status.h"

#define DRV_LINKER_CACHE_PATH "/etc/ld.so.cache"

struct drv_linker_cache_entry {
	const char *path;		/* points into the bytes */
	bool depends_on_processor;	/* ld.so takes it only on some processors */
};

/*
 * The next entry of that name for glibc 2 programs of any architecture, in the order in which ld.so
 * tries them. *position: 0 at first. CMN_MISS: there are no more, or the bytes are not such a cache.
 */
CMN_CHECKED enum cmn_status drv_linker_cache_next(struct cmn_view cache, const char *name,
						  uint32_t *position,
						  struct drv_linker_cache_entry *ret_entry);

#endif
