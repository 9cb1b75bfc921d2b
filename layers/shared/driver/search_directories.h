/* SPDX-License-Identifier: MIT */
/*
 * search_directories: which paths /etc/ld.so.cache has for a library's name; and every other directory in
 * which ld.so may look for a library that a driver loads with dlopen, or for what that library needs.
 * Linux, glibc; ld.so(8), dlinfo(3) RTLD_DI_SERINFO. A list belongs to one thread at a time.
 */
#ifndef SHARED_DRIVER_SEARCH_DIRECTORIES_H
#define SHARED_DRIVER_SEARCH_DIRECTORIES_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/bytes.h"
#include "common/status.h"

struct drv_search_directory {
	char *path;		/* ends without a slash, unless it is the root */
	dev_t device;		/* with inode: no directory is listed twice */
	ino_t inode;
};

/*
 * First the directories that ld.so searches before its cache, in its order; then its built-in ones,
 * which it searches after the cache; then, from `ordered` on, those that it searches only for some
 * names or on some processors. {0} is a valid empty list.
 */
struct drv_search_directories {
	struct drv_search_directory *items;
	size_t count, before_cache, ordered;
	bool driver_has_run_path;	/* DT_RUNPATH, which does not apply to what the library needs */
	bool incomplete;		/* what the library needs may be looked for elsewhere, too */
};

/*
 * The directories for the driver, by the path of its loaded object. CMN_MISS: it is not loaded,
 * searches in unusual ways (DF_1_NODEFLIB), or the built-in directories are unknown. CMN_ERR_NOMEM.
 * Must not be called inside a dl_iterate_phdr callback, which holds a lock that dlopen takes second.
 * On failure, too, *list is the caller's to release.
 */
CMN_CHECKED enum cmn_status drv_search_directories_gather(const char *driver,
							  struct drv_search_directories *list);
/* Adds a file's DT_RUNPATH or DT_RPATH. CMN_MISS: it has a token other than $ORIGIN. CMN_ERR_NOMEM. */
CMN_CHECKED enum cmn_status drv_search_directories_add_run_path(struct drv_search_directories *list,
								const char *run_path,
								const char *file);
void drv_search_directories_release(struct drv_search_directories *list);	/* leaves {0} */

#define DRV_LINKER_CACHE_PATH "/etc/ld.so.cache"

struct drv_linker_cache_entry {
	const char *path;		/* points into the bytes */
	bool depends_on_processor;	/* ld.so takes it only on some processors */
};

/*
 * The next entry of that name in the bytes of that file, of which nothing is trusted; in the format that glibc's
 * ldconfig has written since 2.2, also where it follows the older one (glibc, sysdeps/generic/dl-cache.h),
 * for glibc 2 programs of any architecture, in the order in which ld.so
 * tries them. *position: 0 at first. CMN_MISS: there are no more, or the bytes are not such a cache.
 */
CMN_CHECKED enum cmn_status drv_linker_cache_next(struct cmn_view cache, const char *name,
						  uint32_t *position,
						  struct drv_linker_cache_entry *ret_entry);

#endif
