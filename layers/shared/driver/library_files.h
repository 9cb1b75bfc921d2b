/* SPDX-License-Identifier: MIT */
/*
 * library_files: the files that a later dlopen by a driver would load. A
 * compiler that is not loaded yet must be named in a key without loading it,
 * which takes 70 ms; so this looks where ld.so would look, in its order, and
 * reads the files. It never guesses: where the answer depends on what is not
 * known here (the processor's own variants in glibc-hwcaps, $LIB, inherited
 * run paths that cannot be told apart) it gives up. Linux, glibc; ld.so(8).
 */
#ifndef SHARED_DRIVER_LIBRARY_FILES_H
#define SHARED_DRIVER_LIBRARY_FILES_H

#include <stdbool.h>

#include "common/bytes.h"
#include "common/status.h"

/* Borrowed for the call. */
struct drv_library_file {
	const char *name;		/* last part of path, as it was asked for */
	const char *path;		/* as the loaded object's name would be */
	struct cmn_view build_id;	/* empty: none */
};

/* Whether the process has it already: then neither it nor what it needs is looked at. */
typedef bool (*drv_library_loaded_fn)(void *ctx, const char *soname);
/* Any status but CMN_OK ends the walk and is its result. */
typedef enum cmn_status (*drv_library_file_fn)(void *ctx, const struct drv_library_file *file);

/*
 * Visits the file of soname and of everything that it needs (DT_NEEDED,
 * transitively) and that is not loaded, each file once, in ld.so's order.
 * asker: the path of the loaded object that would call dlopen, as
 * dl_iterate_phdr names it. soname: as it would be given to dlopen; with a
 * slash it is a path.
 *
 * CMN_MISS: a file cannot be found, is damaged, or cannot be told for sure;
 * some files may have been visited. CMN_ERR_NOMEM. Thread-safe; not to be
 * called inside a dl_iterate_phdr callback. About 30 µs, and 10 µs for each file.
 */
CMN_CHECKED enum cmn_status drv_library_files(const char *asker, const char *soname,
					      drv_library_loaded_fn loaded,
					      drv_library_file_fn visit, void *ctx);

#endif
