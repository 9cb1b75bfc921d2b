/* SPDX-License-Identifier: MIT */
/*
 * dependencies: from what a build looked for to what its result depends on: its manifest, or the
 * reason why there is none.
 */
#ifndef SHARED_OBSERVER_DEPENDENCIES_H
#define SHARED_OBSERVER_DEPENDENCIES_H

#include <stdbool.h>

#include "cachecore/manifest.h"
#include "common/bytes.h"
#include "common/status.h"

struct drv_observation;

/* What the application gave to be compiled. Borrowed. */
struct drv_observer_text {
	bool reads;		/* it asks for files to be read: something must have been seen */
	bool directory;		/* the result has the working directory's name */
	bool unproven;		/* an option is not known: the build is to have written nothing that a hit would not */
	bool failed;		/* there is no result, which may be for want of a file that could not be written */
	const char *options;	/* may be NULL */
	struct cmn_view source;	/* text, or a module that may come from the driver's own cache */
	const struct cc_manifest *before;	/* of the build's steps before this one; may be NULL */
};

bool drv_observer_text_names(const struct drv_observer_text *text, const char *path);

/* Notes which files the driver keeps for itself. Asks the file system: to be called without a lock. */
void drv_dependencies_judge(struct drv_observation *observation);

/*
 * The manifest of a build that is over, judged and sorted. compiled: a compiler was seen to look for
 * something. Results are as for drv_observer_end.
 */
CMN_CHECKED enum cmn_status drv_dependencies_gather(const struct drv_observation *observation,
						    const struct drv_observer_text *text,
						    bool compiled,
						    struct cc_file_memo *memo,
						    struct cc_manifest **ret,
						    const char **ret_reason);

#endif
