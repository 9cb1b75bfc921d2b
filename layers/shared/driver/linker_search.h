/* SPDX-License-Identifier: MIT */
/*
 * linker_search: where ld.so would look for a library that a loaded object
 * asks for, as the running process has it: run paths of the object and of
 * those that loaded it, LD_LIBRARY_PATH as it was at the start and as far as a
 * privileged program heeds it, and the built-in directories (glibc; ld.so(8),
 * dlinfo(3) RTLD_DI_SERINFO). Thread-safe; not to be called inside a
 * dl_iterate_phdr callback, which holds a lock that dlopen takes second.
 */
#ifndef SHARED_DRIVER_LINKER_SEARCH_H
#define SHARED_DRIVER_LINKER_SEARCH_H

#include <dlfcn.h>
#include <stdbool.h>

#include "common/status.h"

/* Directories in ld.so's order: the first `before` come before its cache, the rest after. */
struct drv_linker_list {
	Dl_serinfo *info;
	unsigned int count, before;
};

struct drv_linker_search {
	struct drv_linker_list asker;	/* what counts for a dlopen by the asker */
	bool asker_has_run_path;	/* DT_RUNPATH, which its dependencies do not inherit */
	/* Some loaded object has a DT_RPATH, which what it loads inherits. */
	bool inherits;
	/* `before` is LD_LIBRARY_PATH alone; empty where inherits makes that impossible to tell. */
	struct drv_linker_list variable;
};

/*
 * asker: the path of a loaded object. CMN_MISS: it is not loaded, or looks in
 * ways of its own (DF_1_NODEFLIB), or the built-in directories are none that
 * are known here. CMN_ERR_NOMEM. *ret_places is the caller's to release.
 */
CMN_CHECKED enum cmn_status drv_linker_search_gather(const char *asker,
						     struct drv_linker_search *ret_places);
void drv_linker_search_release(struct drv_linker_search *places);	/* leaves {0} */

#endif
