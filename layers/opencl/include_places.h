/* SPDX-License-Identifier: MIT */
/*
 * include_places: every place where a driver may look for a header, each
 * looked at once, put down in a manifest as what is there, and the texts that
 * were found. Knows nothing of what the texts mean. Not thread-safe; belongs
 * to one scan.
 */
#ifndef OPENCL_INCLUDE_PLACES_H
#define OPENCL_INCLUDE_PLACES_H

#include <stdbool.h>
#include <stddef.h>

#include "cachecore/manifest.h"
#include "common/bytes.h"
#include "common/status.h"
#include "layers/opencl/build_options.h"
#include "layers/opencl/search_path.h"
#include "layers/opencl/source_text.h"

struct ocl_include_file {
	char *directory;	/* as spelled; NULL: the source, whose place is the driver's affair */
	char *real_directory;	/* where a symbolic link leads, else NULL */
	struct cmn_buffer bytes;
	struct ocl_source_text text;
};

struct ocl_include_places {
	const struct ocl_build_options *options;	/* borrowed, as memo is */
	struct cc_file_memo *memo;
	struct cc_manifest *manifest;	/* NULL once taken: the scan is over then */
	struct ocl_search_path search;
	bool search_known, has_directory;
	struct ocl_include_place *places;	/* hash tables */
	struct ocl_include_body *bodies;
	struct ocl_include_file **files;	/* each stays where it is when others come */
	size_t file_count, file_cap;
	const char *reason;	/* with CMN_MISS: a static word */
};

/* CMN_ERR_NOMEM: *ret is to be released all the same. */
CMN_CHECKED enum cmn_status ocl_include_places_init(struct ocl_include_places *ret,
						    const struct ocl_build_options *options,
						    struct cc_file_memo *memo);
void ocl_include_places_release(struct ocl_include_places *places);	/* leaves {0} */

/*
 * The functions below return CMN_OK; CMN_MISS: not cacheable, reason says why;
 * CMN_ERR_*: failure.
 */

/* Adds a text that stands in no file, which must live as long as places. */
CMN_CHECKED enum cmn_status ocl_include_places_add_text(struct ocl_include_places *places,
							struct cmn_view text);
/* The same with a text to keep: *text becomes {0} in any case. */
CMN_CHECKED enum cmn_status ocl_include_places_take_text(struct ocl_include_places *places,
							 struct cmn_buffer *text);
/*
 * Looks for name as includer's #include of it would, and adds the headers
 * that are new. includer is one of files.
 */
CMN_CHECKED enum cmn_status ocl_include_places_resolve(struct ocl_include_places *places,
						       const struct ocl_include_file *includer,
						       const char *name, bool quoted);
/* The build depends on the name of the working directory. */
CMN_CHECKED enum cmn_status
ocl_include_places_add_directory(struct ocl_include_places *places);

#endif
