/* SPDX-License-Identifier: MIT */
/*
 * library_files: the files that a later dlopen by a driver would load. A key must name a compiler
 * before it is loaded, and loading it takes 70 ms; so this looks in every directory where ld.so may
 * look. Where all files of a name are the same library, it does not matter which of them ld.so
 * takes. Where they differ, the first counts if ld.so's order is certain: no run path of another
 * library and no variant for a processor is involved. Otherwise the name is left out.
 */
#ifndef SHARED_DRIVER_LIBRARY_FILES_H
#define SHARED_DRIVER_LIBRARY_FILES_H

#include <stdbool.h>

#include "common/bytes.h"
#include "common/status.h"

/* Borrowed for the call. */
struct drv_library_file {
	const char *name;		/* last part of path */
	const char *path;		/* as the loaded object's name would be */
	struct cmn_view build_id;	/* empty: none */
};

/* Whether the process has it already: then neither it nor what it needs is looked for. */
typedef bool (*drv_library_loaded_fn)(void *ctx, const char *soname);
/* Any status but CMN_OK ends the walk and is its result. */
typedef enum cmn_status (*drv_library_file_fn)(void *ctx, const struct drv_library_file *file);

/*
 * Visits the files of up to `count` sonames (up to the first NULL) and of everything that they need
 * (DT_NEEDED, transitively) and that is not loaded, each file once. A soname is as it would be given
 * to dlopen: with a slash it is a path. driver: the path of the loaded object that would call
 * dlopen, as dl_iterate_phdr names it.
 *
 * CMN_MISS: something was left out: it was not found, is damaged, or ld.so's choice is uncertain.
 * CMN_ERR_NOMEM. Thread-safe; must not be called inside a dl_iterate_phdr callback. About 40 µs, and
 * 15 µs for each file.
 */
CMN_CHECKED enum cmn_status drv_library_files(const char *driver, const char *const *sonames,
					      size_t count, drv_library_loaded_fn loaded,
					      drv_library_file_fn visit, void *ctx);

/*
 * The same for a program, by its path, and all that it needs, whatever is loaded here. Its libraries are
 * certain only where all files of a name are the same. library_path: LD_LIBRARY_PATH, or NULL.
 */
CMN_CHECKED enum cmn_status drv_library_files_of_program(const char *program, const char *library_path,
							 drv_library_file_fn visit, void *ctx);

#endif
