/* SPDX-License-Identifier: MIT */
/*
 * include_paths: the directories that build options name for headers. Where they lie does not change a
 * result, but what they lead to; so a key has "<1>", "<2>" … in their place, and the entry's manifest
 * says which directories these were, what was found there, and whether the result may name them.
 * OpenCL 3.0, clBuildProgram, "Preprocessor options"; -isystem and the like are clang's. Thread-safe.
 */
#ifndef CACHECORE_INCLUDE_PATHS_H
#define CACHECORE_INCLUDE_PATHS_H

#include <stdint.h>

#include "common/bytes.h"

/* Options with more keep all of them. */
#define CC_INCLUDE_PATHS 8

struct cc_include_paths {
	const char *options;	/* borrowed */
	uint32_t count;
	struct { uint32_t at, len; } in[CC_INCLUDE_PATHS];	/* where each one stands first in options */
};

static inline struct cmn_view cc_include_path(const struct cc_include_paths *paths, uint32_t i)
{
	return (struct cmn_view){ paths->options + paths->in[i].at, paths->in[i].len };
}

/* Whether the path is that of the directory, or of something in it, as it is spelled. */
bool cc_include_path_leads_to(struct cmn_view directory, struct cmn_view path);

/*
 * Which directories the options (NULL: none) name: absolute ones, spelled in the simplest way, whose names stand
 * nowhere else. One below another is spelled by that. If there are any, the options as a key has them are
 * appended to ret. *ret_paths borrows options. ret->failed: out of memory.
 */
void cc_include_paths_take(const char *options, struct cmn_buffer *ret, struct cc_include_paths *ret_paths);

#endif
